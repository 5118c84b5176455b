"""Runs the command of the status line when its facts change, and keeps the line that it printed."""

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any

from prunecli.model.signals import Notice
from prunecli.runtime.background import Background
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Greet, Part
from prunecli.safety.approvals import Approvals
from prunecli.tools.processes.environment import shell_in
from prunecli.tools.processes.guarded import filtered
from prunecli.util.by_project import Refused
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line, shortened

if TYPE_CHECKING:
    from prunecli.features.status_line import facts, sources
    from prunecli.features.status_line.sources import Source
else:
    facts, sources = (
        lazy("prunecli.features.status_line.facts"),
        lazy("prunecli.features.status_line.sources"),
    )

SECONDS = 5.0
PAUSE = 0.3
"""Seconds between two runs."""
MAX_OUTPUT = 20_000
MAX_ROWS = 3
ASK = "/statusline approve"


@frozen
class Options:
    """What the status line adds to [ui]."""

    status_command: Annotated[
        str,
        "A shell command that prints a line or two below the prompt; it gets Claude Code's JSON on standard input.",
        Refused("it runs a command; .claude/settings.json may name one, which runs once you approve it"),
    ] = ""


class StatusLine(Part):
    """The status line of a screen. `line` is what to show, with its colors; it may have several rows."""

    def __init__(self, host: Host, parent: "StatusLine | None") -> None:
        super().__init__(host, parent)
        self.line = ""
        self.source: Source | None = None
        self.failed = ""
        self._facts: facts.Facts | None = None
        self._given: dict[str, Any] = {}
        self._work = Background(self._complain)
        self._shown = self._running = False
        self._ran = 0

    # Approval ------------------------------------------------------------------------------------------------

    def opened(self, *, headless: bool) -> None:
        if headless:
            return
        self.look()
        if self.source and self.decision == "":
            self.host.opening.append(ASK)

    def look(self) -> None:
        """Read where the command comes from. In an untrusted directory, there is none."""
        host, self._given, self.line = self.host, {}, ""
        given = host.config.section("ui").status_command
        trusted = host.gatekeeper.trusted and not host.who
        self.source = sources.source_of(given, host.setup.cwd, host.setup.places.home) if trusted else None

    @property
    def decision(self) -> str:
        """The user's "yes" or "no" to the command as it is now, "" for none yet."""
        source = self.source
        if source is None or source.owner is None:
            return "yes"
        known = Approvals(self.host.setup.places.approvals_file)
        answers = (one for one in ("yes", "no") if known.has(*self._approval(source, one)))
        return next(answers, "")

    def decide(self, source: "Source", answer: str) -> None:
        """Keep the user's answer. Raises ConfigError."""
        known = Approvals(self.host.setup.places.approvals_file)
        owner, kind, other, _ = self._approval(source, "no" if answer == "yes" else "yes")
        known.approve(*self._approval(source, answer))
        known.revoke(owner, kind, other)
        self._given = {}

    @staticmethod
    def _approval(source: "Source", answer: str) -> tuple[Any, Any, str, Any]:
        name = f"{source.label} statusLine{'' if answer == 'yes' else ' refused'}"
        return source.owner, "hook", name, source.definition

    # Running -------------------------------------------------------------------------------------------------

    def configured(self) -> None:
        self.look()

    async def shown(self, greet: Greet) -> None:  # noqa: ARG002  # the base class's signature
        self._shown = True
        self.extra_status()

    def extra_status(self) -> str:
        """Run the command if its facts have changed. Its line has a place of its own."""
        if self._shown and self.source and not self._running:
            if self._facts is None or self._facts.session is not self.host.session:
                self._facts = facts.Facts(self.host.session)
            given, now = self._facts.of(self.host), self.host.setup.clock()
            waited = self.source.seconds and now - self._ran >= 1000 * self.source.seconds
            if given != self._given or waited:
                self._running, self._ran = True, now
                self._work.start(self._run(self.source, given))
        return ""

    async def _run(self, source: "Source", given: dict[str, Any]) -> None:
        try:
            self._given = given
            if await asyncio.to_thread(lambda: self.decision) != "yes":
                self.line = ""
                return
            self.line = await self._printed(source, given)
            await asyncio.sleep(PAUSE)
        finally:
            self._running = False
        self.extra_status()  # what changed meanwhile

    async def _printed(self, source: "Source", given: dict[str, Any]) -> str:
        """Return the first rows of the command's output; "" if it fails; the first failure is reported."""
        env = {**self.host.setup.approved_env, "CLAUDE_PROJECT_DIR": str(source.folder)}
        argv = [shell_in(env), "-c", source.command]
        data = json.dumps(given).encode("ascii")
        try:
            async with asyncio.timeout(SECONDS):
                made = await filtered(argv, data, cwd=self.host.setup.cwd, env=env, most=MAX_OUTPUT)
        except TimeoutError:
            self._complain(f"no answer within {SECONDS:g} s, so it was stopped")
            return ""
        except OSError as error:
            self._complain(f"could not be started: {error.strerror}")
            return ""
        if made.exit_code:
            why = made.errors.decode("utf-8", "replace").strip().split("\n")[-1]
            self._complain(f"exit code {made.exit_code}{f': {why}' if why else ''}")
            return ""
        self.failed = ""
        return "\n".join(made.output.decode("utf-8", "replace").strip().splitlines()[:MAX_ROWS])

    def _complain(self, why: str) -> None:
        if why != self.failed:
            self.failed = why
            line = shortened(one_line(f"The command of the status line failed: {why}"), 300)
            self.host.session.tell(Notice(line, "warning"))

    async def close(self) -> None:
        await self._work.close()


def shown(host: Host) -> str:
    """Return the line to show, after a look at whether it is still true: this is called once a second."""
    part = host.parts.of(StatusLine)
    part.extra_status()
    return part.line


def digest(source: "Source") -> str:
    """Return a short name of a definition, which an answer to a question names."""
    return hashlib.sha256(json.dumps(source.definition, sort_keys=True).encode()).hexdigest()[:16]
