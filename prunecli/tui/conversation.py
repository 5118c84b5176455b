"""The conversation: shows the events of the session, and passes the user's input to the runtime."""

from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.worker import Worker

from prunecli.commands.command import arguments, offered
from prunecli.context.state import Context
from prunecli.front.presentation.activity import CurrentActivity
from prunecli.front.presentation.completion import as_command
from prunecli.front.presentation.entries import Level
from prunecli.front.presentation.outcomes import advice
from prunecli.front.presentation.presenter import Presenter, presenter_of
from prunecli.model.events import Pinned, PrunApplied, PrunReverted, Record, SettingChanged, UserMessage
from prunecli.model.signals import FileMoved, Notice
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import bring_back, carry_out
from prunecli.runtime.guide import Guide
from prunecli.runtime.notices import notice_of, session_notices
from prunecli.session.digest import Titled
from prunecli.session.following import follow
from prunecli.session.session import Session
from prunecli.tui.actions import Actions
from prunecli.tui.asking import Asking, Planning
from prunecli.tui.bridge import Bridge
from prunecli.tui.messages import (
    ActionAsked,
    Picked,
    PromptSubmitted,
    Typed,
    Wake,
)
from prunecli.tui.port import T
from prunecli.tui.program import Program
from prunecli.tui.prompt_store import PromptStore
from prunecli.tui.runs import Runs
from prunecli.tui.screens.frame import Frame
from prunecli.tui.session_loading import SessionLoading
from prunecli.tui.slices import Pace, once, painted
from prunecli.tui.token_counting import Figures
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.transcript_feed import TranscriptFeed
from prunecli.tui.widgets.activity import HINT_SECONDS
from prunecli.tui.widgets.completer import Completer
from prunecli.tui.widgets.prompt import PLACEHOLDERS
from prunecli.tui.widgets.welcome import TOUR, TOUR_IN_SHELL
from prunecli.util.errors import PrunecliError, SessionNotFound
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.runtime.resuming import Resuming
    from prunecli.tui import effects
    from prunecli.tui.effects import Effects
    from prunecli.tui.widgets.question import Question
else:
    effects = lazy("prunecli.tui.effects")

READ_ONLY = ("Read-only session. /resume ID --fork continues in a copy", "Read-only session")
LONG_SECONDS = 10.0
"""Seconds after which the end of a run is reported by a desktop notification."""


NEED_NO_SESSION = frozenset({"/help", "/quit", "/exit", "/theme"})
"""Commands that work before the session is fully loaded."""


class Conversation:
    """The link between one runtime and the frame. It makes the parts of the interface and serves as their `Port`."""

    def __init__(self, runtime: Runtime, frame: Frame, program: Program) -> None:
        self.runtime = runtime
        self.frame = frame
        self._program = program
        setup, prompt = runtime.setup, frame.prompt
        self.prompt = prompt
        self.typed_at = monotonic()
        self.feed = TranscriptFeed(
            frame.transcript, lambda: self._presenter(self.runtime.session.context), frame.show_transcript
        )
        tools = runtime.config.installed.of("tool").items()
        self._opens = {name: one.facts["opens"] for name, one in tools if one.facts["opens"]}
        frame.transcript.opens = self._opens
        self._planning = Planning(runtime, self, program, lambda text: self.runs.submit(text))
        parts = prompt, frame.menu, partial(offered, runtime), partial(arguments, runtime), str(setup.cwd)
        self.completer = Completer(*parts, resources=partial(_mentionable, runtime))
        self.runs = Runs(runtime, self, self.feed, self._planning, self.completer)
        self.actions = Actions(runtime, self, frame, program, self.runs)
        self.prompt_store = PromptStore(
            setup.places.history_file, setup.cwd, lambda: prompt.draft, partial(once, frame), self.warn_of
        )
        self._asking = Asking(runtime, self, program)
        self._figures = Figures(runtime, frame, self.feed, self.runs, lambda: self.typed_at)
        self._doing = CurrentActivity()
        self._titled = Titled()
        self._bridge = Bridge(lambda: frame.post_message(Wake()), partial(once, frame))
        self.listening = False

    @property
    def title(self) -> str:
        return self._titled.title(self.runtime.session.records)

    @cached_property
    def effects(self) -> "Effects":
        parts = self.runs, self._asking, self.go_on_resuming
        return effects.Effects(self.runtime, self, self._program, *parts)

    def begin(self) -> None:
        """Show the session, and start handling its events and the user's input."""
        self.runtime.asker = self._asking.ask
        self.runtime.fill_form = self._asking.elicit
        self.runtime.parts.vim_mode = lambda: self.prompt.vim_mode.upper()
        self.runtime.on_session.append(self.show_session)
        self.show_session(self.runtime.session)
        self.show_guide()
        self.go_on_resuming()
        self.prompt.use_completer(self.completer, lambda: self.runs.busy)
        self.frame.listen(
            {
                Wake: lambda _: self.wake(),
                PromptSubmitted: self.handle,
                ActionAsked: lambda asked: self.actions.do(asked.name),
                Picked: lambda _: self.completer.choose(),
                Typed: self._typed,
                Transcript.RestoreRequested: self._restore,
                Transcript.Opened: self._open_call,
            }
        )
        self.listening = True

    # The session ---------------------------------------------------------------------------------------------

    def show_session(self, session: Session) -> None:
        self.runs.stop_preparing()
        self._bridge.follow(session)
        self._show_all()
        for notice in session_notices(self.runtime, session):
            self.say(notice, Level.WARNING)
        self.runs.can_go_on = self.runtime.unfinished and not session.read_only
        self.prompt.offer(*(READ_ONLY if session.read_only else PLACEHOLDERS))
        if self.runs.can_go_on:
            self.say("This session was interrupted. Press Enter to continue")
        self.show_status()

    def _show_all(self) -> None:
        self.feed.show_all(self.runtime.session.records, running=self.runs.busy)
        self._show_stage()

    def go_on_resuming(self) -> None:
        """Show the end of the session that is being resumed, and load the rest."""
        resuming = self.runtime.resuming
        if resuming is not None:
            loading = SessionLoading(resuming, self.feed, self._presenter, lambda: self.typed_at)
            loading.show_end()
            self._show_stage()
            self.runs.load(lambda: self._load(loading, resuming))

    async def _load(self, loading: "SessionLoading", resuming: "Resuming") -> None:
        """Load the session and switch to it. Raises PrunecliError; the runtime then keeps its current session."""
        try:
            await painted(self.frame)
            self.feed.prepared = await loading.read(self.frame.activity.show)
            said = self.runs.take_all()
            resuming.finish()
            self.frame.call_later(self.handle_queued, said)
        except OSError as error:
            raise SessionNotFound(f"{error.filename or resuming.path}: {error.strerror}") from error
        finally:
            if self.runtime.resuming is resuming:
                self.runtime.drop_resuming()
                self.show_session(self.runtime.session)
                self.say("Stopped opening the session. /resume to try again")
                self._take_all_back()
        self.run(Pace(lambda: self.typed_at).take(self.feed.put_above()), "begin")

    def _show_stage(self) -> None:
        if self.feed.is_empty:
            is_demo = self.runtime.model_name == "demo"
            tour = "" if self.runtime.introduction else TOUR if is_demo else TOUR_IN_SHELL
            self.frame.show_welcome(tour)
        elif self.feed.has_entries:
            self.frame.show_transcript()

    def _presenter(self, context: Context | None) -> Presenter:
        return presenter_of(self.runtime, context, open_thinking=self.runtime.config.ui.show_thinking)

    def wake(self) -> None:
        batch = self._bridge.batch()
        if not batch:
            return
        if not self.feed.take(batch):
            self._show_all()
        elif self.feed.has_entries:
            self.frame.show_transcript()
        other = False
        for event in batch:
            other = self._doing.take(event) or other
            if isinstance(event, FileMoved):
                self.warn_of(notice_of(event, self.runtime))
        if other:
            self.frame.activity.show(self._doing.words, self._doing.retry)
        records = [event for event in batch if isinstance(event, Record)]
        if records or any(isinstance(event, Notice) for event in batch):
            self.show_status()
        if any(
            isinstance(record.event, PrunApplied | PrunReverted | Pinned | UserMessage) for record in records
        ):
            self.runs.keep()
        if any(isinstance(record.event, UserMessage | SettingChanged) for record in records):
            self._program.show_state("working" if self.runs.busy else "")  # its title may be new

    def show_status(self) -> None:
        """Update the figures. If a large text must be counted first, the update follows later."""
        self._figures.show()

    def show_waiting(self) -> None:
        self._figures.show_waiting()

    def tick(self) -> None:
        """Update the age of the cache and what features show, offer or prepare a summary, retry a failed write, and
        follow a session that another program writes. Called once a second."""
        follow(self.runtime.session)
        self.runs.tick()
        self._figures.show_cache()
        self._figures.show_above()

    # The user's input ----------------------------------------------------------------------------------------

    def handle(self, said: PromptSubmitted, *, waited: bool = False) -> None:
        """Handle a prompt, a command, a shell command, or Enter on an empty prompt. `waited`: the input was queued
        before. While the session is loading, input that needs it is queued."""
        text, follow_up = said.text, said.follow_up
        if not waited:
            self.actions.forget()
            if not text.strip():
                self._go_on()
                return
            self.prompt_store.sent(text, self.runtime.setup.clock())
            self.frame.transcript.end()
        if self.runs.loading and text.split()[0] not in NEED_NO_SESSION:
            self.runs.queue(text, follow_up=follow_up)
        elif line := as_command(text):
            self.command(line)
        elif text.startswith("!"):
            hidden = text.startswith("!!")
            if command := text.removeprefix("!!" if hidden else "!").strip():
                self.runs.shell(command, show_model=not hidden)
        else:
            self.runs.submit(text, follow_up=follow_up)

    def _go_on(self) -> None:
        if self.runs.can_go_on and not self.runs.busy:
            self.runs.go_on()
        elif not self.runs.busy and (line := self.runtime.guide.take(self.runtime.session.context)):
            self.handle(PromptSubmitted(line))
            self.show_guide()

    def show_guide(self) -> None:
        """Show in the empty prompt what Enter would send."""
        if self.runtime.session.read_only:
            return
        line = "" if self.runs.busy else self.runtime.guide.next(self.runtime.session.context)
        self.prompt.offer(*([f"Enter: {line}"] if line else PLACEHOLDERS))

    def handle_queued(self, said: Sequence[tuple[str, bool]]) -> None:
        for text, follow_up in said:
            self.handle(PromptSubmitted(text, follow_up), waited=True)

    def _typed(self, _: Typed) -> None:
        self.typed_at = monotonic()
        self.actions.typed()
        self.prompt_store.typed()
        self.frame.waiting.refresh()

    def _restore(self, message: Transcript.RestoreRequested) -> None:
        """Restore a pruned entry."""
        target = self.feed.target(message.key)
        if target is None:
            return
        try:
            plan, _ = bring_back(self.runtime, [target])
            carry_out(self.runtime, plan.events)
        except PrunecliError as error:
            self.complain(error)
            return
        when = "after the current tool calls" if self.runtime.running else "at the end"
        done = f"Restored {when} and pinned, from the next request on"
        self.hint(done if plan.allowed else advice(plan.refusal))
        self.show_waiting()

    def _open_call(self, message: Transcript.Opened) -> None:
        if (call := self.feed.call(message.key)) is not None:
            self.command(f"/{self._opens[message.tool]} {call}")

    # Called by runs ------------------------------------------------------------------------------------------

    def began(self, words: str) -> None:
        self._doing = CurrentActivity()
        self.frame.activity.begin(words)
        self.prompt.offer(*PLACEHOLDERS)
        self._program.show_state("working")

    def ended(self, seconds: float, *, interrupted: bool, well: bool) -> None:
        """Show that a run ended. After an interruption, queued messages return to the prompt; they may follow if it
        ended `well`."""
        self._program.show_state("")
        self.wake()
        self.frame.activity.end()
        if interrupted and self.prompt.is_empty:
            self._take_all_back()
        self.show_status()
        if seconds >= LONG_SECONDS:
            self._program.notify_user("is done")
        if well:
            self.frame.call_later(self._afterwards)

    def _afterwards(self) -> None:
        """After a run: send queued messages, or else ask about a plan."""
        if self.runs.busy:
            return
        self.show_guide()
        if any(self.runs.waiting()):
            self.runs.go_on()
        else:
            self._planning.offer()

    def _take_all_back(self) -> None:
        while any(self.runs.waiting()):
            self.actions.do("take_back")

    # The port ------------------------------------------------------------------------------------------------

    def warn(self, text: str) -> None:
        """Show a banner until it is replaced; "" removes it."""
        self.frame.warn(text)

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """Show a notice in the transcript, below its earlier lines.

        While the session is empty, the notice appears below the welcome if there is room.
        """
        self.wake()
        self.feed.say(text, level)
        welcome = self.frame.welcome
        if not (welcome.display and welcome.tell(text, level)):
            self.frame.show_transcript()

    def greet(self, text: str, line: str) -> None:
        """Add to the welcome of an empty session, and offer a line that Enter sends."""
        if self.runtime.session.records or not self.frame.welcome.display:
            return
        self.say(text)
        if line and not self.runtime.guide.next(self.runtime.session.context):
            self.runtime.guide = Guide([line], only_first=True)
            self.show_guide()

    def warn_of(self, text: str) -> None:
        self.say(text, Level.WARNING)

    def complain(self, error: PrunecliError) -> None:
        self.say(f"{error.message}\n{advice(error.hint)}".strip(), Level.ERROR)

    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None:
        """Show a hint above the prompt for some seconds, or (None) until it is replaced; "" removes it."""
        self.frame.activity.hint(text, style, seconds=seconds)

    def ask(self, panel: "Question") -> None:
        self.frame.ask(panel)

    def answered(self, panel: "Question") -> None:
        self.frame.answered(panel)

    def command(self, line: str) -> None:
        """Run a slash command. Answering the trust question at startup releases queued prompts."""
        self.effects.type(line)
        if self.runs.deciding and line.startswith("/trust "):
            self.runs.deciding = False
            self.handle_queued(self.runs.take_all())
            self.show_waiting()

    def run(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> Worker[None]:
        """Run work in the background; `exclusive` cancels other work of the group."""
        return self.frame.run_worker(work, group=group, exclusive=exclusive)

    def push_screen(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        self.frame.app.push_screen(screen, then)


def _mentionable(runtime: Runtime) -> list[str]:
    return list(runtime.parts.gather(lambda part: part.mentionable()))
