"""What plugins have of a runtime: their functions for moments, notices and the status bar, each guarded.

A function that raises is named in one line and called again next time; one that takes too long is off from then on.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Literal

from prunecli.agent.hooks import Hooks, Ruling
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Text, ToolUse, plain_text
from prunecli.model.notes import GO_ON, newest_notice, notice, typed
from prunecli.model.signals import Notice
from prunecli.plugins.app import Brought
from prunecli.plugins.foreign import ForeignFailed, TookTooLong, begun, bounded, described
from prunecli.plugins.values import Ask, Call, Cut, Glance, Refuse, Result
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part
from prunecli.runtime.vetoes import MAX_STOPS, all_vetoed, some_vetoed, stops
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import PromptBlocked
from prunecli.util.sanitize import one_line, shortened, visible

MOMENT_SECONDS = 10.0
CLOSE_SECONDS = 2.0
QUICK_SECONDS = 0.1
"""Seconds that the status bar and the next request wait for a function."""
MOST_STATUS = 40
"""Characters of a status segment to show."""
IN_RUNS = ("prompt", "before_call", "after_call", "before_prune", "before_compaction", "stop")


def glance(host: Host, owner: str) -> Glance:
    """Return what a plugin sees of the session now."""
    session, schema = host.session, host.config.schema
    figures = host.policy.ledger(session.context)
    return Glance(
        host.setup.cwd,
        session.id,
        session.name,
        host.model_name,
        host.gatekeeper.mode,
        figures.context_tokens,
        figures.window,
        host.bill.cost,
        {name: host.config.section(name) for name, one in schema.brought.items() if one.owner == owner},
    )


class PluginPart(Part):
    """The functions of all plugins in one runtime. In a task, only those around calls, prunes and compactions run."""

    def __init__(self, host: Host, parent: "PluginPart | None" = None) -> None:
        super().__init__(host, parent)
        self._head: PluginPart | None = parent
        self._installed = host.config.schema.there
        self._off: set[str] = parent._off if parent else set()
        self._said: set[str] = parent._said if parent else set()
        self._begun = ""
        if parent is None:
            host.mailbox.news.append(self._due)

    def moments(self, *names: str) -> Iterator[Brought]:
        """Yield the functions for these moments that are not off."""
        found = self._installed.of("moment").values()
        return (one for one in found if one.facts["verb"] in names and one.name not in self._off)

    # Guards --------------------------------------------------------------------------------------------------

    async def ask(self, one: Brought, *given: Any, seconds: float = MOMENT_SECONDS) -> Any:
        """Call a function, in a thread or, if it is a coroutine, here, and return its answer; None if it fails."""
        seen = glance(self.host, one.owner)
        try:
            async with asyncio.timeout(seconds):
                answer = await asyncio.wrap_future(begun(lambda: one.load()(seen, *given)))
                return await answer if isawaitable(answer) else answer
        except TimeoutError:
            self.failed(one, f"took longer than {seconds:g} s", off=True)
        except ForeignFailed as error:
            self.failed(one, str(error))
        except Exception as error:  # noqa: BLE001  # a defect of a plugin must not end the run
            self.failed(one, described(error))
        return None

    def ask_quickly(self, one: Brought) -> Any:
        """Call a function that something on the screen waits for, and return its answer; None if it fails."""
        seen = glance(self.host, one.owner)
        try:
            return bounded(lambda: one.load()(seen), QUICK_SECONDS)
        except ForeignFailed as error:
            self.failed(one, str(error), off=isinstance(error, TookTooLong))
        return None

    def failed(self, one: Brought, why: str, *, off: bool = False) -> None:
        """Name a failure in one line, once."""
        if off:
            self._off.add(one.name)
        line = f"Plugin {one.owner}, {one.facts['verb']}: {one_line(why)}." + (" It is off." if off else "")
        if line not in self._said:
            self._said.add(line)
            self.say(line)

    def malformed(self, one: Brought, answer: object) -> None:
        self.failed(one, f"answered {type(answer).__name__}, which has no meaning there")

    def say(self, line: str) -> None:
        (self._head or self).host.session.tell(Notice(line, "warning"))

    # Moments of the runtime ----------------------------------------------------------------------------------

    def extra_status(self) -> str:
        if self._head:
            return ""
        found = (self._words(one) for one in self._installed.of("status").values())
        return " · ".join(filter(None, found))

    def _words(self, one: Brought) -> str:
        if one.name in self._off:
            return ""
        answer = self.ask_quickly(one)
        if answer is not None and not isinstance(answer, str):
            self.malformed(one, answer)
            return ""
        return shortened(one_line(answer or ""), MOST_STATUS)

    def _due(self) -> Sequence[UserMessage]:
        """Return the notices that the next request brings, without those whose newest text is the same."""
        found, items = list[UserMessage](), self.host.session.context.items
        for one in self._installed.of("notices").values():
            answer = self.ask_quickly(one) if one.name not in self._off else None
            if answer is not None and not isinstance(answer, str):
                self.malformed(one, answer)
                continue
            title = f"plugin {one.name.removesuffix('-1')}"
            if answer and newest_notice((item.event for item in reversed(items)), title) != answer:
                found.append(notice(title, answer))
        return found

    async def begins(self) -> None:
        """Call the functions for a session, at its first prompt in this program."""
        if self._head or self._begun == self.host.session.id:
            return
        self._begun = self.host.session.id
        for moment in self.moments("session"):
            self.tell_model(moment, await self.ask(moment))

    async def prompted(self, words: str) -> None:
        """Call the functions for a prompt. Raises PromptBlocked."""
        await self.begins()
        if not self._head and (why := await self.refusal(words)):
            raise PromptBlocked(why, "change the prompt, or switch the plugin off: plugins.disabled")

    async def refusal(self, words: str) -> str:
        """Return why a plugin refuses a prompt, or ""."""
        for moment in self.moments("prompt"):
            answer = await self.ask(moment, words)
            if isinstance(answer, Refuse):
                return f"plugin {moment.owner} refuses the prompt: {visible(answer.reason)}"
            self.tell_model(moment, answer)
        return ""

    def tell_model(self, one: Brought, answer: object) -> None:
        """Deliver what a function answered as a notice before the next request."""
        if isinstance(answer, str) and answer.strip():
            self.host.mailbox.notices.append(notice(f"plugin {one.owner}", answer))
        elif answer is not None and not isinstance(answer, str):
            self.malformed(one, answer)

    def hooks(self) -> Hooks | None:
        return _InRun(self) if any(self.moments(*IN_RUNS)) else None

    async def close(self) -> None:
        if self._begun:
            for moment in self.moments("close"):
                await self.ask(moment, seconds=CLOSE_SECONDS)


class _InRun:
    """The functions of plugins around calls, prunes, compactions and the end of a run (`agent.hooks.Hooks`)."""

    stop: str | None = None

    def __init__(self, part: PluginPart) -> None:
        self._part = part
        self._host = part.host

    async def admits(self, message: UserMessage) -> bool:
        why = "" if self._host.who else await self._part.refusal(typed(message))
        if why:
            self._part.say(f"Your message was not sent: {why}")
        return not why

    async def before_call(self, call: ToolUse) -> Ruling:
        """Ask all functions; the first that refuses decides, and changes of the input add up."""
        asks, notes = "", list[str]()
        given: Mapping[str, Any] = call.input
        for moment in self._part.moments("before_call"):
            match await self._part.ask(moment, Call(call.name, dict(given), self._host.who)):
                case None | "":
                    pass
                case Refuse(reason):
                    return Ruling("deny", f"plugin {moment.owner}: {reason}")
                case Ask(reason):
                    asks = asks or f"plugin {moment.owner}: {reason}"
                case str(text):
                    notes.append(_noted(moment, text))
                case Mapping() as changed if all(isinstance(key, str) for key in changed):
                    given = changed
                    notes.append(_noted(moment, "changed the input of this call"))
                case other:
                    self._part.malformed(moment, other)
        final = None if given == call.input else dict(given)
        return Ruling("ask" if asks else "", asks, final, "\n".join(notes))

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        result, notes = Result(plain_text(output.content), output.is_error), [note] if note else []
        for moment in self._part.moments("after_call"):
            answer = await self._part.ask(moment, Call(call.name, dict(call.input), self._host.who), result)
            if isinstance(answer, str) and answer:
                notes.append(_noted(moment, answer))
            elif answer not in (None, ""):
                self._part.malformed(moment, answer)
        added = tuple(map(Text, notes))
        return replace(output, content=(*output.content, *added)) if added else output

    async def before_prunes(self, prunes: Sequence[PrunApplied]) -> Sequence[Event]:
        """Let functions keep entries, which are pinned, or everything until the next user message."""
        functions = list(self._part.moments("before_prune"))
        cuts = tuple(self._cuts(prunes)) if functions else ()
        targets, kept = {cut.entry for cut in cuts}, set[int]()
        for function in functions:
            answer = await self._part.ask(function, cuts)
            if isinstance(answer, Refuse):
                why = f"kept by plugin {function.owner}: {one_line(answer.reason)}"
                self._part.say(f"A prune was not made: {why}")
                return all_vetoed(self._host, prunes, why)
            if isinstance(answer, set | frozenset | list | tuple) and all(type(seq) is int for seq in answer):
                if new := targets.intersection(answer) - kept:
                    kept |= new
                    what = (
                        "entry that would be pruned; it is"
                        if len(new) == 1
                        else "entries that would be pruned; they are"
                    )
                    self._part.say(f"Plugin {function.owner} keeps {len(new)} {what} pinned now")
            elif answer is not None:
                self._part.malformed(function, answer)
        return some_vetoed(self._host, prunes, kept, kept) if kept else prunes

    def _cuts(self, prunes: Sequence[PrunApplied]) -> Iterator[Cut]:
        entries = self._host.session.context.entries
        for edit in (edit for prune in prunes for edit in prune.edits):
            call = entries[edit.seq].call
            removed = edit.tokens_before - edit.tokens_after
            yield Cut(edit.seq, edit.kind, removed, call.name if call else "")

    async def before_compaction(self, trigger: Literal["auto", "manual"], focus: str) -> bool:
        for moment in self._part.moments("before_compaction"):
            answer = await self._part.ask(moment, trigger, focus)
            if isinstance(answer, Refuse):
                self._part.say(f"Plugin {moment.owner} refuses the compaction: {one_line(answer.reason)}")
                return False
            if answer is not None:
                self._part.malformed(moment, answer)
        return True

    async def after_compaction(self) -> None:
        """Nothing happens: no function is called here."""

    async def before_stop(self) -> UserMessage | None:
        """Return what the first function wants done before the agent stops."""
        if self._host.who:
            return None
        for moment in self._part.moments("stop"):
            answer = await self._part.ask(moment)
            if isinstance(answer, str) and answer.strip():
                if stops(self._host.session.context) < MAX_STOPS:
                    return notice(f"{GO_ON} {moment.owner}", answer, kept=True)
                self._part.say(
                    f"Plugin {moment.owner} continued the run {MAX_STOPS} times in a row; it stops now"
                )
            elif answer not in (None, ""):
                self._part.malformed(moment, answer)
        return None


def _noted(one: Brought, text: str) -> str:
    return f"[plugin {one.owner}] {text}"
