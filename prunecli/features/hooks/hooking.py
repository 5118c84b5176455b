"""The hooks of a runtime: their sources, their approvals, and running them.

Nothing is read before the first prompt, unless settings with hooks exist at startup. The hooks of a project, and
those that the user wrote for another program, run only in a trusted directory and after the user approved their exact
definition. As in Claude Code, settings are read only at startup, by /reload and by /trust.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prunecli.config.claude_plugins import ROOT_VARIABLE, usable
from prunecli.features.hooks.names import MODES, tool_name
from prunecli.features.hooks.replies import Ran, Reply, reply_of
from prunecli.features.hooks.runs import chosen, run_hook
from prunecli.features.hooks.settings import Hook, parse
from prunecli.features.hooks.sources import Source, read_source
from prunecli.model.messages import ToolUse
from prunecli.model.notes import notice
from prunecli.model.signals import HooksRunning, Notice
from prunecli.plugins.app import resolved
from prunecli.runtime.background import Background
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.runtime.web_access import web_of
from prunecli.safety.approvals import Approvals
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.safety.scripts import VARIABLES
from prunecli.util.errors import PromptBlocked
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened, visible

if TYPE_CHECKING:
    from prunecli.features.hooks.moments import Moments
    from prunecli.session.session import Session

MOMENTS = "prunecli.features.hooks.moments:Moments"
POST = "prunecli.features.hooks.requests:post_hook"
REREAD = "prunecli.features.hooks.command:reread"

PROJECT_FILES = (".prunecli/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
USER_FILE = ".claude/settings.json"
IDLE_SECONDS = 60.0
"""Seconds without work after which the program counts as waiting for the user."""
END_SECONDS = 5.0
"""Maximum seconds that a hook may delay the end of the program."""

UNAPPROVED = "The hooks in {} do not run until you approve them: start prunecli here and type /hooks approve."


@frozen
class LastRun:
    """The last run of a hook: milliseconds, exit code (None if it was stopped), and one line about it."""

    duration_ms: int
    exit_code: int | None
    line: str = ""


class Hooking(Part):
    """The hooks of one runtime.

    In a task of type `agent`, sources and approvals are those of the session that started it.
    """

    def __init__(self, host: Host, parent: "Hooking | None" = None) -> None:
        super().__init__(host, parent)
        self.runtime = host
        self.agent = host.agent
        self.last: dict[tuple[str, str], LastRun] = {}
        self.stop: str | None = None
        self.idle_seconds = IDLE_SECONDS
        self._head = parent
        self._sources: tuple[Source, ...] | None = None
        self._approved: set[str] = set()
        self._refused: set[str] = set()
        self._begun, self._ended, self._log = "", "", ""
        self._ends = Background(self.say)
        self._idle: asyncio.TimerHandle | None = None
        self._tasks = Background(self.say)

    # Where they come from ------------------------------------------------------------------------------------

    @property
    def exist(self) -> bool:
        """Whether any source may contain hooks. Opens no files."""
        setup, config = self.runtime.setup, self.runtime.config
        names = [folder / name for folder in down_to(setup.cwd) for name in PROJECT_FILES]
        own = (setup.places.home / USER_FILE, setup.places.claude_plugins)
        return config.section("hooks").any or any(map(os.path.lexists, (*names, *own)))

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, read at the first use; () in an untrusted directory."""
        if self._head:
            return self._head.sources
        if self._sources is None:
            self._sources = tuple(self._read()) if self.runtime.gatekeeper.trusted and self.exist else ()
            self._approved = {source.label for source in self._sources if self._has_approval(source)}
        return self._sources

    def configured(self) -> None:
        """Forget the settings, so that the next use reads them again."""
        self._sources = None
        self._refused.clear()

    def _read(self) -> list[Source]:

        setup, found = self.runtime.setup, list[Source | None]()
        own = parse(self.runtime.config.section("hooks").table())
        if own.hooks:
            found.append(Source("config.toml", setup.cwd, setup.cwd, own.hooks))
        user = setup.places.home / USER_FILE
        found.append(read_source(user, setup.places.shown(user), setup.cwd, setup.places.home))
        for folder in down_to(setup.cwd):
            for path in (folder / name for name in PROJECT_FILES):
                if path != user and not leads_outside(path, setup.cwd):
                    found.append(read_source(path, os.path.relpath(path, setup.cwd), folder, folder))
        for plugin in usable(setup.places, self.runtime.config.plugins.disabled):
            for path in plugin.hook_files():
                if read := read_source(path, f"plugin {plugin.name}", setup.cwd, plugin.root):
                    found.append(replace(read, definition=None, plugin=str(plugin.root)))
        return [one for one in found if one and (one.hooks or one.problems)]

    @property
    def _approvals(self) -> Approvals:
        return Approvals(self.runtime.setup.places.approvals_file)

    def _has_approval(self, source: Source) -> bool:
        wanted = source.definition
        return wanted is None or self._approvals.has(source.owner, "hook", source.label, wanted)

    def runs(self, source: Source) -> bool:
        """Return whether the hooks of a source and their scripts are approved, so that they may run."""
        if self._head:
            return self._head.runs(source)
        if source.label in self._approved and (changed := source.changed()):
            self._approved.discard(source.label)
            named = one_line(", ".join(changed))
            why = f"{named}, which their commands name, changed"
            self.say(f"The hooks in {source.label} are off: {why}. /hooks approve to run them again")
        return source.label in self._approved

    @property
    def pending(self) -> Source | None:
        waiting = (source for source in self.sources if source.hooks and not self.runs(source))
        return next((one for one in waiting if one.label not in self._refused), None)

    def approve(self, source: Source) -> None:
        """Let the hooks of a source run. Raises ConfigError if the approval can't be stored."""
        self._approved.add(source.label)
        if source.definition is not None:
            self._approvals.approve(source.owner, "hook", source.label, source.definition)

    def refuse(self, source: Source) -> None:
        """Stop asking about a source until it changes."""
        self._refused.add(source.label)

    def revoke(self) -> list[str]:
        """Remove all approvals that apply here; return the names of their sources. Raises ConfigError."""
        gone = [
            one.label for one in self.sources if one.definition is not None and one.label in self._approved
        ]
        for source in self.sources:
            if source.label in gone:
                self._approvals.revoke(source.owner, "hook", source.label)
        self._approved.difference_update(gone)
        return gone

    def notices(self, *, headless: bool) -> list[str]:
        """Return the notices about hook settings: omitted ones, and in a headless run those that do not run without
        approval."""
        found = [one_line(problem) for source in self.sources for problem in source.problems]
        waiting = [
            source.label for source in self.sources if headless and source.hooks and not self.runs(source)
        ]
        return [*found, *(UNAPPROVED.format(one_line(label)) for label in waiting)]

    def reread(self) -> Sequence[Any]:
        """Tell of unusable settings, and ask about hooks that need approval."""
        if not self.exist:
            return ()
        effects: Sequence[Any] = resolved(REREAD)(self)
        return effects

    # Running -------------------------------------------------------------------------------------------------

    def has(self, event: str) -> bool:
        return any(
            hook.event == event and self.runs(source) for source in self.sources for hook in source.hooks
        )

    async def fire(self, event: str, *names: str, **fields: Any) -> list[Reply]:
        """Run the hooks of an event side by side and return their replies. Matchers filter by `names`.

        Failures and messages are shown to the user here.
        """
        if not self.sources:
            return []

        found: dict[tuple[str, str], tuple[Hook, Source]] = {}  # the user's come first
        for one in filter(self.runs, self.sources):
            for hook in chosen(one.hooks, event, *names):
                found.setdefault((one.plugin or str(one.folder), hook.command), (hook, one))
        if not found:
            return []
        session, setup = self.runtime.session, self.runtime.setup

        given: Mapping[str, Any] = {
            "session_id": session.id,
            "transcript_path": str(session.path or ""),
            "cwd": str(setup.cwd),
            "permission_mode": MODES[self.runtime.gatekeeper.mode],
            "hook_event_name": event,
            **fields,
        }
        waited = [one for one in found.values() if not one[0].background]
        for hook, source in found.values():
            if hook.background:
                self._tasks.start(self._later(hook, source, given))
        if not waited:
            return []
        session.tell(HooksRunning(event))
        try:
            return list(await asyncio.gather(*(self._one(hook, source, given) for hook, source in waited)))
        finally:
            session.tell(HooksRunning(""))

    async def _one(self, hook: Hook, source: Source, given: Mapping[str, Any]) -> Reply:
        env = {**self.runtime.setup.approved_env, **dict.fromkeys(VARIABLES, str(source.folder))}
        if source.plugin:
            env[ROOT_VARIABLE] = source.plugin
        if hook.url:
            web = web_of(self.runtime.config, self.runtime.setup.environ)
            ran: Ran = await resolved(POST)(hook, given, env=env, web=web)
        else:
            ran = await run_hook(hook, given, cwd=self.runtime.setup.cwd, env=env)
        reply = reply_of(hook, ran)
        self._heard(hook, ran, reply)
        return reply

    def _heard(self, hook: Hook, ran: Ran, reply: Reply) -> None:
        line = shortened(one_line(reply.failure or reply.reason or reply.message or reply.context), 200)
        (self._head or self).last[hook.event, hook.command] = LastRun(ran.duration_ms, ran.exit_code, line)
        if reply.failure:
            self.say(f"{hook.event} hook {one_line(hook.name)} failed: {line}")
        if reply.message:
            self.say(f"hook {one_line(hook.name)}: {visible(reply.message)}")
        if reply.stop is not None and self.stop is None:
            self.stop = one_line(reply.stop) or f"a hook stopped the run: {one_line(hook.name)}"

    async def _later(self, hook: Hook, source: Source, given: Mapping[str, Any]) -> None:
        self.tell_model([await self._one(hook, source, given)])

    def say(self, text: str) -> None:
        """Tell the user; a task tells it in the session that started the task."""
        who = self.runtime.who
        said = Notice(f"{who}: {text}" if who else text, "warning")
        (self._head or self).runtime.session.tell(said)

    def tell_model(self, replies: Sequence[Reply]) -> None:
        """Deliver added context as notices before the next request."""
        for reply in replies:
            if reply.context:
                self.runtime.mailbox.notices.append(notice(f"hook {one_line(reply.name)}", reply.context))

    # Moments of the runtime ----------------------------------------------------------------------------------

    def hooks(self) -> "Moments | None":
        """Return what acts on a run; None without hooks."""
        if not self.sources:
            return None
        made: type[Moments] = resolved(MOMENTS)
        return made(self)

    def opened(self, *, headless: bool) -> None:
        """Tell of unusable settings, and ask about hooks that need approval."""
        if self.runtime.gatekeeper.trusted and self.exist:
            self.runtime.notices += self.notices(headless=headless)
            if self.pending:
                self.runtime.opening.append("/hooks approve")

    async def begins(self) -> None:
        """Run SessionStart, at the first prompt of a session in this program."""
        self.busy()
        session = self.runtime.session
        if session.id == self._begun != self._ended or self._head or not self.sources:
            return
        source = "resume" if any(item.kind == "assistant" for item in session.context.items) else ""
        source = source or ("clear" if self._begun else "startup")
        self._begun, self._ended, self._log = session.id, "", str(session.path or "")
        self.tell_model(await self.fire("SessionStart", source, source=source, model=self.runtime.model_name))

    async def prompted(self, words: str) -> None:
        """Run UserPromptSubmit. Raises PromptBlocked."""
        await self.begins()
        if self._head:
            return
        self.stop = None
        replies = await self.fire("UserPromptSubmit", prompt=words)
        if why := blocked(replies) or self.stop:
            self.stop = None
            raise PromptBlocked(f"blocked by a hook: {why}", "change the prompt, or see /hooks")
        self.tell_model(replies)

    def waits(self, kind: str, message: str, title: str, call: ToolUse | None = None) -> None:
        """Run the Notification hooks in the background because the program waits for the user."""
        if self.has("Notification"):
            if call is not None:
                message = f"prunecli needs your permission to use {tool_name(call.name, call.input)}"
            self._notify(kind, one_line(message), title)

    def _notify(self, kind: str, message: str, title: str) -> None:
        fields = {"message": message, "title": title, "notification_type": kind}
        self._tasks.start(self._told("Notification", kind, fields))

    async def _told(self, event: str, name: str, fields: Mapping[str, str]) -> None:
        await self.fire(event, name, **fields)

    def busy(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def rests(self) -> None:
        """Note that a run ended. If none begins for `idle_seconds`, Notification hooks run."""
        self.busy()
        if not self._head and self.has("Notification"):
            message = "prunecli is waiting for your input"
            wait = asyncio.get_running_loop().call_later
            self._idle = wait(self.idle_seconds, self._notify, "idle_prompt", message, "Waiting for you")

    def switched(self, session: "Session") -> None:
        """Run SessionEnd of the previous session in the background, if the session was used."""
        if self._begun in ("", self._ended, session.id) or not self.has("SessionEnd"):
            return
        self._ended, reason = self._begun, "resume" if session.records else "clear"
        named = {"session_id": self._begun, "transcript_path": self._log, "reason": reason}
        work = _in_time(self._told("SessionEnd", reason, named))
        try:
            self._ends.start(work)
        except RuntimeError:  # a command of the plain interface runs in no loop
            asyncio.run(work)

    async def close(self) -> None:
        """Run SessionEnd if the session was used, and end all remaining work."""
        self.busy()
        await self._ends.finish()
        await self._tasks.close()
        if self._begun != self._ended and not self._head and self.has("SessionEnd"):
            await _in_time(self._told("SessionEnd", "other", {"reason": "other"}))


async def _in_time(work: Coroutine[Any, Any, object]) -> None:
    """Wait for hooks at the end of a session, up to a time limit."""
    try:
        await asyncio.wait_for(work, END_SECONDS)
    except TimeoutError:
        pass


def blocked(replies: Sequence[Reply]) -> str:
    denials = [reply for reply in replies if reply.decision == "deny"]
    return "; ".join(f"{one_line(denial.name)}: {visible(denial.reason)}" for denial in denials)
