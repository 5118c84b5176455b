"""The main loop of the plain interface: read a line, run it, repeat."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from prunecli import __version__
from prunecli.agent.asking import Answer, Asked
from prunecli.agent.decide import Done
from prunecli.agent.on_return import OnReturn
from prunecli.commands.command import command_names
from prunecli.commands.plan import plan_of
from prunecli.front.plain.effects import Effects
from prunecli.front.plain.lines import Lines, TerminalLines, interruptible
from prunecli.front.plain.reader import PlainReader
from prunecli.front.presentation import prompt_history as history
from prunecli.front.presentation.completion import as_command
from prunecli.front.presentation.entry_text import entry_lines, joined, sheet_lines, status_line
from prunecli.front.presentation.outcomes import has_failure
from prunecli.front.presentation.presenter import present_all, presenter_of
from prunecli.front.presentation.questions import inquiry_lines, inquiry_reply, sheet_at
from prunecli.model.notes import APPROVED
from prunecli.runtime import Runtime
from prunecli.runtime.notices import notice_of, session_notices
from prunecli.runtime.user_shell import shell
from prunecli.session.session import Session
from prunecli.tools.asking import Inquiry, Reply
from prunecli.util.errors import ProviderError, PrunecliError, StorageFailed, ToolError
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line, source

if TYPE_CHECKING:
    from prunecli.runtime import local_servers
else:
    local_servers = lazy("prunecli.runtime.local_servers")

T = TypeVar("T")

SHOWN_ENTRIES = 12
"""Number of entries of a continued session to print."""
LOOKING_SECONDS = 0.3
"""Maximum seconds that the first prompt waits for a model server on this machine, if there is no key."""
SUMMARIZE = "s"
"""The line that summarizes a long session whose cache expired, where this is offered."""
AGAIN = "Enter on an empty line to try again."


class PlainLoop:
    def __init__(
        self, runtime: Runtime, lines: Lines, out: Callable[[str], None], runner: asyncio.Runner
    ) -> None:
        self.runtime = runtime
        self.lines = lines
        # No hidden character is ever printed.
        self.out: Callable[[str], None] = lambda text: out(source(text))
        self.leaving = False
        self.proposed = ""
        self._runner = runner
        self._task: asyncio.Task[Any] | None = None
        self._effects = Effects(self)
        self._can_go_on = False
        self._leave_session: Callable[[], object] = lambda: None
        runtime.asker = self._ask
        runtime.inquiries.asker = self._inquire
        runtime.on_session.append(self.follow)
        self.follow(runtime.session)

    # The session ---------------------------------------------------------------------------------------------

    def follow(self, session: Session) -> None:
        """Print the end of this session, then its events as they arrive."""
        self._leave_session()
        presenter = presenter_of(self.runtime, session.context)
        entries = present_all(presenter, session.records)
        hidden = max(0, len(entries) - SHOWN_ENTRIES)
        if hidden:
            self.out(f"({hidden} earlier entries are not shown)")
        for line in joined(entry_lines(entry, afterwards=True) for entry in entries[hidden:]):
            self.out(line)
        self._reader = PlainReader(presenter, self.out, moved=lambda moved: notice_of(moved, self.runtime))
        for notice in session_notices(self.runtime, session):
            self._reader.notice(notice)
        self._leave_session = session.subscribe(self._reader.read)
        self._can_go_on = self.runtime.session is session and self.runtime.unfinished
        if self._can_go_on:
            self.out("This session was interrupted. Enter on an empty line to continue.")

    def read_resumed(self) -> None:
        """Load all of a long resumed session; Ctrl+C keeps the current one. Raises SessionError."""
        resuming = self.runtime.resuming
        if resuming is None:
            return
        self.out("Reading the session ...")
        try:
            for _ in resuming.steps():
                pass
            resuming.make_ready()
            resuming.finish()
        except KeyboardInterrupt:
            self.runtime.drop_resuming()
            self.out("Stopped reading. You are back in the previous session.")

    # The conversation ----------------------------------------------------------------------------------------

    def begin(self, prompt: str) -> None:
        runtime = self.runtime
        self.out(f"prunecli {__version__}, model {runtime.model_name}.")
        self.out("/help for commands, Ctrl+C to interrupt, Ctrl+D to quit.")
        self.read_resumed()
        if runtime.introduction:
            self.out(runtime.introduction)
        for notice in runtime.notices:
            self._reader.notice(notice)
        places = runtime.setup.local_ports
        if places and (line := local_servers.invitation_within(places, LOOKING_SECONDS)):
            self.out(line)
        for line in runtime.opening:
            self._effects.type(line)
        if prompt and not self.leaving:
            self.say(prompt)

    def go(self) -> None:
        interrupted = False
        while not self.leaving:
            self.out("")
            self.out(status_line(self.runtime.status()))
            if found := self._summary_offered():
                self.out(f"({'. '.join(found.words(self.runtime.policy.market, SUMMARIZE))})")
            if (proposed := self._next()) and not self._can_go_on:
                self.out(f"(Enter to send: {one_line(proposed)})")
            try:
                line = self.lines.read("> ")
            except KeyboardInterrupt:
                self.out("")
                if interrupted:
                    return
                interrupted = True
                self.out("Ctrl+C again to quit.")
                continue
            interrupted = False
            if line is None:
                self.out("")
                return
            self.typed(line)

    def _summary_offered(self) -> OnReturn | None:
        """Return the summary that costs less than sending a long session again whose cache expired."""
        policy = self.runtime.policy
        return (
            policy.on_return(self.runtime.session.context) if policy.compaction.on_return == "offer" else None
        )

    def _next(self) -> str:
        """Return the text that Enter on an empty line sends, or ""."""
        return self.proposed or self.runtime.guide.next(self.runtime.session.context)

    def typed(self, line: str) -> None:
        """Run a line: a prompt, a command, a shell command, or an empty line."""
        if not line.strip():
            if self._can_go_on:
                self.work(self.runtime.go_on)
            elif line := self._next():
                if not self.proposed:
                    self.runtime.guide.take(self.runtime.session.context)
                self.out(f"> {line}")
                self.typed(line)
            return
        if line.strip() == SUMMARIZE and (found := self._summary_offered()):
            self.work(partial(self.runtime.compact, plan=found.plan))
            return
        self.proposed = ""
        self._remember(line)
        if command := as_command(line):
            self._effects.type(command)
        elif line.startswith("!"):
            hidden = line.startswith("!!")
            self._shell(line.lstrip("!").strip(), show_model=not hidden)
        else:
            self.say(line)

    def _remember(self, line: str) -> None:
        setup = self.runtime.setup
        try:
            history.append(setup.places.history_file, line, str(setup.cwd), setup.clock())
        except OSError as error:
            self.out(f"Cannot write the prompt history {error.filename}: {error.strerror}")

    def say(self, text: str) -> None:
        """Send a prompt to the agent and print what happens; ask about a proposed plan."""
        self.work(lambda: self.runtime.submit(text))
        while plan_of(self.runtime) and not self.leaving:
            word = self._ask_plan()
            if not word:
                return
            self.work(partial(self.runtime.submit, word))

    def _ask_plan(self) -> str:
        """Ask about the plan and return the reply to send, or ""."""
        self.out("Carry out this plan?")
        self.out(
            "e: go on in edits mode. y: go on in ask mode. Enter: keep planning. Or type what to change."
        )
        try:
            answer = (self.lines.answer("e, y or text: ") or "").strip()
        except KeyboardInterrupt:
            return ""
        if answer.lower() in ("y", "e"):
            self.runtime.gatekeeper.mode = "ask" if answer.lower() == "y" else "edits"
            return APPROVED
        return "" if answer.lower() == "n" else answer

    def _shell(self, command: str, *, show_model: bool) -> None:
        if command:
            said: list[str] = []
            text = self.work(lambda: shell(self.runtime, command, show_model=show_model, so_far=said.append))
            for line in source((text or "".join(said[-1:])).rstrip("\n")).split("\n"):
                self.out(line)

    # Work ----------------------------------------------------------------------------------------------------

    def work(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """Run slow work. Ctrl+C interrupts it; errors are printed."""
        could, self._can_go_on = self._can_go_on, False
        before = len(self.runtime.session.records)
        try:
            done = self._runner.run(self._noted(begin))
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.out("Interrupted.")
            return None
        except (ProviderError, StorageFailed) as error:
            self._can_go_on = True
            new = self.runtime.session.records[before:]
            if isinstance(error, StorageFailed) or not has_failure(new):
                self._complain(error)
            self.out(AGAIN)
            return None
        except PrunecliError as error:
            self._complain(error)
            return None
        except ToolError as error:
            self.out(source(str(error)))
            return None
        if isinstance(done, Done) and done.note:
            self._reader.notice(done.note)
        self._can_go_on = (
            done.reason != "finished" if isinstance(done, Done) else could and self.runtime.unfinished
        )
        return done

    def keep(self) -> None:
        """Commit the records of a command; `work` commits its own."""
        try:
            self.runtime.session.commit()
        except StorageFailed as error:
            self._complain(error)

    async def _noted(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._task = asyncio.current_task()
        try:
            return await begin()
        finally:
            self._task = None

    def _complain(self, error: PrunecliError) -> None:
        self._reader.notice("\n".join(filter(None, [f"error: {error.message}", error.hint])))

    def terminate(self, number: int) -> None:
        self.leaving = True
        if self._task is None:
            raise SystemExit(128 + number)
        self._runner.get_loop().call_soon_threadsafe(self._task.cancel)

    # Questions -----------------------------------------------------------------------------------------------

    async def _ask(self, asked: Asked) -> Answer:
        sheet = await asyncio.to_thread(sheet_at, asked, self.runtime.setup.cwd)
        for line in sheet_lines(sheet):
            self.out(line)
        word = self._answer("1, 2, p, 3 or text: " if sheet.rule else "1, 2 or text: ").strip()
        if word.lower() in ("y", "yes", "1"):
            return Answer("once")
        if word.lower() in ("a", "2") and sheet.rule:
            return Answer("always")
        if word.lower() == "p" and sheet.rule:
            return Answer("project")
        return Answer("deny", "" if word.lower() in ("n", "no", "a", "p", "2", "3", "") else word)

    async def _inquire(self, inquiry: Inquiry) -> Reply:
        for line in inquiry_lines(inquiry):
            self.out(line)
        several = "numbers" if inquiry.multiple else "number"
        return inquiry_reply(inquiry, self._answer(f"{several}, or your own words (Enter to decline): "))

    def _answer(self, prompt: str) -> str:
        """Read the user's answer. Ctrl+C interrupts the run and answers nothing."""
        try:
            with interruptible():
                return self.lines.answer(prompt) or ""
        except KeyboardInterrupt:
            self.out("")
            if self._task is not None:
                self._task.cancel()
            return ""


def talk(make: Callable[[], Runtime], prompt: str) -> int:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    runtime = make()

    def out(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    typed = history.load(runtime.setup.places.history_file)
    lines = TerminalLines(typed, [f"/{name}" for name in command_names(runtime.config.installed)])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs
    with asyncio.Runner() as runner:
        talking = PlainLoop(runtime, lines, out, runner)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: talking.terminate(number))
        try:
            talking.begin(prompt)
            talking.go()
        finally:
            runner.run(runtime.close())
    return 0
