"""The conversation: what the session tells is shown, and what the user does reaches the runtime."""

from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.worker import Worker

from prunecli.context.state import Context
from prunecli.errors import PrunecliError, SessionNotFound
from prunecli.inspector.labels import withheld_by
from prunecli.model.events import Pinned, PrunApplied, PrunReverted, Record, UserMessage
from prunecli.model.signals import FileMoved
from prunecli.presentation.activity import Doing
from prunecli.presentation.completion import is_command
from prunecli.presentation.entries import Level
from prunecli.presentation.outcomes import advice
from prunecli.presentation.presenter import Presenter
from prunecli.runtime import Runtime
from prunecli.runtime.counting import teller
from prunecli.runtime.entry_numbers import bring_back
from prunecli.runtime.notices import notice_of, session_notices
from prunecli.runtime.toolbox import summaries
from prunecli.session.session import Session
from prunecli.tui.actions import Actions
from prunecli.tui.asking import Asking, Planning
from prunecli.tui.bridge import Bridge
from prunecli.tui.messages import (
    ActionAsked,
    PermissionAnswered,
    Picked,
    PromptSubmitted,
    Typed,
    Wake,
)
from prunecli.tui.port import T
from prunecli.tui.program import Program
from prunecli.tui.prompt_store import Keeping
from prunecli.tui.runs import Runs
from prunecli.tui.screens.frame import Frame
from prunecli.tui.slices import Pace, painted
from prunecli.tui.token_counting import Figures
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.transcript_feed import Stage
from prunecli.tui.widgets.activity import HINT_SECONDS
from prunecli.tui.widgets.completer import Completer
from prunecli.tui.widgets.prompt import PLACEHOLDER
from prunecli.tui.widgets.welcome import TOUR, TOUR_IN_SHELL

if TYPE_CHECKING:
    from prunecli.runtime.resuming import Resuming
    from prunecli.tui.effects import Effects
    from prunecli.tui.session_loading import Arriving
    from prunecli.tui.widgets.question import Question

READ_ONLY = "Read-only session. /resume ID --fork continues in a copy"
LONG_SECONDS = 10.0
"""Work that took longer is worth a notification of the desktop when it is done."""


NEED_NO_SESSION = frozenset({"/help", "/quit", "/exit", "/theme"})
"""Commands that do not wait for the session to be read."""


class Conversation:
    """Between one runtime and the frame: makes the parts, and is the port of all of them."""

    def __init__(self, runtime: Runtime, frame: Frame, program: Program) -> None:
        self.runtime = runtime
        self.frame = frame
        self._program = program
        setup, prompt = runtime.setup, frame.prompt
        self.prompt = prompt
        self.typed_at = monotonic()
        self.stage = Stage(frame.transcript, self._presenter, frame.show_transcript)
        self._planning = Planning(runtime, self, program, lambda text: self.runs.submit(text))
        self.completer = Completer(prompt, frame.menu, _commands, str(setup.cwd))
        self.runs = Runs(runtime, self, self.stage, self._planning, self.completer)
        self.actions = Actions(runtime, self, frame, program, self.runs)
        self.keeping = Keeping(
            setup.places.history_file, setup.cwd, lambda: prompt.draft, frame.set_timer, self.warn_of
        )
        self._asking = Asking(runtime, self, program)
        self._figures = Figures(runtime, frame, self.stage, self.runs, lambda: self.typed_at)
        self._doing = Doing()
        self._bridge = Bridge(lambda: frame.post_message(Wake()), frame.set_timer)
        self.listening = False

    @cached_property
    def effects(self) -> "Effects":
        """What runs commands."""
        from prunecli.tui.effects import Effects

        parts = self.runs, self._asking, self.go_on_resuming
        return Effects(self.runtime, self, self._program, *parts)

    def begin(self) -> None:
        """Shows the session and listens to it and to the user."""
        self.runtime.asker = self._asking.ask
        self.runtime.on_session.append(self.show_session)
        self.show_session(self.runtime.session)
        self.show_guide()
        self.go_on_resuming()
        self.prompt.use_completer(self.completer)
        self.frame.listen(
            {
                Wake: lambda _: self.wake(),
                PromptSubmitted: self.hear,
                ActionAsked: lambda asked: self.actions.do(asked.name),
                Picked: lambda _: self.completer.choose(),
                Typed: self._typed,
                PermissionAnswered: self._asking.answer,
                Transcript.RestoreRequested: self._restore,
            }
        )
        self.listening = True

    # The session ---------------------------------------------------------------------------------------------

    def show_session(self, session: Session) -> None:
        """Shows a session from its beginning, and follows it."""
        self._bridge.follow(session)
        self._show_all()
        for notice in session_notices(self.runtime, session):
            self.say(notice, Level.WARNING)
        self.runs.can_go_on = self.runtime.unfinished and not session.read_only
        self.prompt.placeholder = READ_ONLY if session.read_only else PLACEHOLDER
        if self.runs.can_go_on:
            self.say("This session was interrupted. Press Enter to continue")
        self.show_status()

    def _show_all(self) -> None:
        self.stage.show_all(self.runtime.session.records, running=self.runs.busy)
        self._show_stage()

    def go_on_resuming(self) -> None:
        """Shows the end of the session that the runtime is resuming, and reads the rest."""
        from prunecli.tui.session_loading import Arriving

        resuming = self.runtime.resuming
        if resuming is not None:
            arriving = Arriving(resuming, self.stage, self._presenter, lambda: self.typed_at)
            arriving.show_end()
            self._show_stage()
            self.runs.load(lambda: self._arrive(arriving, resuming))

    async def _arrive(self, arriving: "Arriving", resuming: "Resuming") -> None:
        """Reads it all and hands it over. Raises PrunecliError; the runtime then keeps the session it has."""
        try:
            await painted(self.frame)
            self.stage.prepared = await arriving.read(self.frame.activity.show)
            said = self.runs.take_all()
            resuming.finish()
            self.frame.call_later(self.hear_all, said)
        except OSError as error:
            raise SessionNotFound(f"{error.filename or resuming.path}: {error.strerror}") from error
        finally:
            if self.runtime.resuming is resuming:
                self.runtime.drop_resuming()
                self.show_session(self.runtime.session)
                self.say("Stopped opening the session. /resume to try again")
                self._take_all_back()
        self.run(Pace(lambda: self.typed_at).take(self.stage.put_above()), "begin")

    def _show_stage(self) -> None:
        if self.stage.is_empty:
            is_demo = self.runtime.model_name == "demo"
            tour = "" if self.runtime.introduction else TOUR if is_demo else TOUR_IN_SHELL
            self.frame.show_welcome(tour)
        elif self.stage.has_entries:
            self.frame.show_transcript()

    def _presenter(self, context: Context | None = None, *, figures: bool = True) -> Presenter:
        """Presents a session by its fold, by default the present one; without `figures` it shows no tokens."""
        tools, fold = self.runtime.tools, context or self.runtime.session.context
        return Presenter(
            summaries(tools, self.runtime.setup.cwd),
            teller(fold) if figures else lambda _: None,
            fold.counts.told_raw,
            partial(withheld_by, fold) if figures else lambda _: None,
            open_thinking=self.runtime.config.ui.show_thinking,
        )

    def wake(self) -> None:
        """Shows everything that the session told since the last time."""
        batch = self._bridge.batch()
        if not batch:
            return
        if not self.stage.take(batch):
            self._show_all()
        elif self.stage.has_entries:
            self.frame.show_transcript()
        other = False
        for event in batch:
            other = self._doing.take(event) or other
            if isinstance(event, FileMoved):
                self.warn_of(notice_of(event, self.runtime))
        if other:
            self.frame.activity.show(self._doing.words, self._doing.retry)
        records = [event for event in batch if isinstance(event, Record)]
        if records:
            self.show_status()
        if any(isinstance(one.event, PrunApplied | PrunReverted | Pinned | UserMessage) for one in records):
            self.runs.keep()

    def show_status(self) -> None:
        """Brings the figures up to date; behind a large text as soon as its tokens are counted."""
        self._figures.show()

    def show_waiting(self) -> None:
        """Shows what the agent has not heard yet."""
        self._figures.show_waiting()

    def tick(self) -> None:
        """The cache got older, and a disk may have space again."""
        self.runs.tick()
        self._figures.show_cache()

    # What the user says --------------------------------------------------------------------------------------

    def hear(self, said: PromptSubmitted, *, waited: bool = False) -> None:
        """A prompt, a command, a shell command, or Enter alone. `waited`: it was said when nobody could listen.
        What needs the session waits until it is read."""
        text, follow_up = said.text, said.follow_up
        if not waited:
            self.actions.forget()
            if not text.strip():
                self._go_on()
                return
            self.keeping.sent(text, self.runtime.setup.clock())
            self.frame.transcript.end()
        if self.runs.loading and text.split()[0] not in NEED_NO_SESSION:
            self.runs.queue(text, follow_up=follow_up)
        elif is_command(text):
            self.command(text)
        elif text.startswith("!"):
            hidden = text.startswith("!!")
            if command := text.removeprefix("!!" if hidden else "!").strip():
                self.runs.shell(command, show_model=not hidden)
        else:
            self.runs.submit(text, follow_up=follow_up)

    def _go_on(self) -> None:
        """Enter alone."""
        if self.runs.can_go_on and not self.runs.busy:
            self.runs.go_on()
        elif not self.runs.busy and (line := self.runtime.guide.take(self.runtime.session.context)):
            self.hear(PromptSubmitted(line))
            self.show_guide()

    def show_guide(self) -> None:
        """What Enter alone says next stands in the empty prompt."""
        line = "" if self.runs.busy else self.runtime.guide.next(self.runtime.session.context)
        self.prompt.placeholder = f"Enter: {line}" if line else PLACEHOLDER

    def hear_all(self, said: Sequence[tuple[str, bool]]) -> None:
        """What was said while nobody could listen."""
        for text, follow_up in said:
            self.hear(PromptSubmitted(text, follow_up), waited=True)

    def _typed(self, _: Typed) -> None:
        self.typed_at = monotonic()
        self.actions.forget()
        self.keeping.typed()
        self.frame.waiting.refresh()

    def _restore(self, message: Transcript.RestoreRequested) -> None:
        """The user wants a pruned entry back."""
        target = self.stage.target(message.key)
        if target is None:
            return
        try:
            plan, _ = bring_back(self.runtime, [target])
        except PrunecliError as error:
            self.complain(error)
            return
        when = "after the current tool calls" if self.runtime.running else "at the end"
        done = f"Restored {when} and pinned, from the next request on"
        self.hint(done if plan.allowed else advice(plan.refusal))
        self.show_waiting()

    # What runs need ------------------------------------------------------------------------------------------

    def began(self, words: str) -> None:
        """Work began."""
        self._doing = Doing()
        self.frame.activity.begin(words)
        self.prompt.placeholder = PLACEHOLDER
        self._program.show_state("working")

    def ended(self, seconds: float, *, interrupted: bool, well: bool) -> None:
        """Work is over. After an interruption what still waited comes back into the prompt."""
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
        """What was said to a shell command, or at the last moment, is heard now; a plan is asked about."""
        if self.runs.busy:
            return
        self.show_guide()
        if any(self.runs.waiting()):
            self.runs.go_on()
        else:
            self._planning.offer()

    def _take_all_back(self) -> None:
        """What waits comes back into the prompt."""
        while any(self.runs.waiting()):
            self.actions.do("take_back")

    # The port ------------------------------------------------------------------------------------------------

    def warn(self, text: str) -> None:
        """A banner that stays; "" takes it away."""
        self.frame.warn(text)

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """A notice in the transcript, below what the session told before.

        While the session is empty it stands below the welcome, if there is room.
        """
        self.wake()
        self.stage.say(text, level)
        welcome = self.frame.welcome
        if not (welcome.display and welcome.tell(text, level)):
            self.frame.show_transcript()

    def warn_of(self, text: str) -> None:
        """A notice that matters."""
        self.say(text, Level.WARNING)

    def complain(self, error: PrunecliError) -> None:
        """What went wrong, and the way out."""
        self.say(f"{error.message}\n{advice(error.hint)}".strip(), Level.ERROR)

    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None:
        """A few words above the prompt, for some seconds or (None) until others come; "" takes them away."""
        self.frame.activity.hint(text, style, seconds=seconds)

    def ask(self, panel: "Question") -> None:
        """A question stands above the prompt."""
        self.frame.ask(panel)

    def answered(self, panel: "Question") -> None:
        """It was answered, or is not asked any more."""
        self.frame.answered(panel)

    def command(self, line: str) -> None:
        """Runs a slash command. Where the start asked for it, what waited for the answer is heard."""
        self.effects.run(line)
        if self.runs.deciding and line.startswith("/trust "):
            self.runs.deciding = False
            self.hear_all(self.runs.take_all())
            self.show_waiting()

    def run(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> Worker[None]:
        """Works in the background; `exclusive` ends what else works in this group."""
        return self.frame.run_worker(work, group=group, exclusive=exclusive)

    def push_screen(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Opens a screen above all; `then` is told what it gives."""
        self.frame.app.push_screen(screen, then)


def _commands() -> list[tuple[str, str, tuple[str, ...]]]:
    from prunecli.commands.command import all_commands

    return [(command.name, command.help, command.aliases) for command in all_commands()]
