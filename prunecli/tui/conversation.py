"""The conversation: what the session tells is shown, and what the user does reaches the runtime."""

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

from prunecli.agent.oversized import PromptTooLarge
from prunecli.context.state import Context
from prunecli.errors import PrunecliError
from prunecli.model.events import Pinned, PrunApplied, PrunReverted, Record, UserMessage
from prunecli.model.signals import FileMoved
from prunecli.runtime import Runtime, Status
from prunecli.runtime.counting import teller, to_count
from prunecli.runtime.entries import bring_back
from prunecli.runtime.notices import notice_of, session_notices
from prunecli.runtime.toolbox import summaries
from prunecli.session.session import Session
from prunecli.tui.actions import Actions
from prunecli.tui.asking import Asking
from prunecli.tui.bridge import Bridge
from prunecli.tui.keeping import Keeping
from prunecli.tui.messages import (
    ActionAsked,
    PermissionAnswered,
    Picked,
    PromptSubmitted,
    Typed,
    Wake,
)
from prunecli.tui.planning import Planning
from prunecli.tui.prompting import files
from prunecli.tui.prompting.completion import is_command
from prunecli.tui.runs import Runs
from prunecli.tui.screens.frame import Frame
from prunecli.tui.showing.doing import Doing
from prunecli.tui.showing.present import Presenter
from prunecli.tui.stage import Stage
from prunecli.tui.transcript.entries import Level
from prunecli.tui.transcript.view import Transcript
from prunecli.tui.widgets.completer import Completer
from prunecli.tui.widgets.prompt import PLACEHOLDER
from prunecli.tui.widgets.status import cache_words
from prunecli.tui.widgets.welcome import TOUR, TOUR_IN_SHELL

if TYPE_CHECKING:
    from prunecli.tui.effects import Effects

READ_ONLY = "This session is open read-only: it can be looked at, /resume ID --fork continues a copy"
LONG_SECONDS = 10.0
"""Work that took longer is worth a notification of the desktop when it is done."""


NEED_NO_SESSION = frozenset({"/help", "/quit", "/exit", "/theme"})
"""Commands that do not wait for the session to be read."""


class Conversation:
    """Between one runtime and the frame."""

    def __init__(self, runtime: Runtime, frame: Frame) -> None:
        self.runtime = runtime
        self.frame = frame
        setup, prompt = runtime.setup, frame.prompt
        self.typed_at = monotonic()
        self.stage = Stage(frame.transcript, self.presenter)
        self.prepared: Presenter | None = None
        self.runs = Runs(runtime, self)
        self.actions = Actions(self)
        self.completer = Completer(prompt, frame.menu, _commands, str(setup.cwd))
        self.keeping = Keeping(
            setup.places.history_file,
            setup.cwd,
            lambda: prompt.draft,
            frame.set_timer,
            lambda text: self.say(text, Level.WARNING),
        )
        self.asking = Asking(self)
        self.planning = Planning(self)
        self._doing = Doing()
        self._bridge = Bridge(lambda: frame.post_message(Wake()), frame.set_timer)
        self._effects: Effects | None = None
        self.scale: object = None
        self.listening = self.counting = False

    def begin(self) -> None:
        """Shows the session and listens to it and to the user."""
        self.runtime.asker = self.asking.ask
        self.runtime.on_session.append(self.show_session)
        self.show_session(self.runtime.session)
        self.show_guide()
        self.go_on_resuming()
        self.frame.prompt.use_completer(self.completer)
        self.frame.listen(self.take)
        self.listening = True

    def take(self, message: Message) -> None:
        """Something happened on the frame."""
        match message:
            case Wake():
                self._wake()
            case PromptSubmitted(text=text, follow_up=follow_up):
                self.actions.forget()
                self._said(text, follow_up=follow_up)
            case ActionAsked(name=name):
                self.actions.do(name)
            case Picked():
                self.completer.choose()
            case Typed():
                self.typed_at = monotonic()
                self.actions.forget()
                self.keeping.typed()
            case PermissionAnswered():
                self.asking.answer(message)
            case Transcript.RestoreRequested():
                self._restore(message)
            case _:
                pass

    # The session ---------------------------------------------------------------------------------------------

    def show_session(self, session: Session) -> None:
        """Shows a session from its beginning, and follows it."""
        self._bridge.follow(session)
        self._show_all()
        for notice in session_notices(self.runtime, session):
            self.say(notice, Level.WARNING)
        self.runs.can_go_on = self.runtime.unfinished and not session.read_only
        self.frame.prompt.placeholder = READ_ONLY if session.read_only else PLACEHOLDER
        if self.runs.can_go_on:
            self.say("This session was interrupted. Press Enter to continue")
        self.show_status()

    def _show_all(self) -> None:
        prepared, self.prepared = self.prepared, None
        if prepared is not None:
            self.stage.take_over(prepared)
        else:
            self.stage.show_all(self.runtime.session.records, running=self.runs.busy)
        self._show_stage()

    def go_on_resuming(self) -> None:
        """Shows the end of the session that the runtime is resuming, and reads the rest."""
        from prunecli.tui.arriving import Arriving

        if self.runtime.resuming is not None:
            arriving = Arriving(self, self.runtime.resuming)
            arriving.show_end()
            self._show_stage()
            self.runs.load(arriving.run)

    def _show_stage(self) -> None:
        if self.stage.is_empty:
            is_demo = self.runtime.model_name == "demo"
            tour = "" if self.runtime.introduction else TOUR if is_demo else TOUR_IN_SHELL
            self.frame.show_welcome(tour)
        elif self.stage.has_entries:
            self.frame.show_transcript()

    def presenter(self, context: Context | None = None, *, figures: bool = True) -> Presenter:
        """Presents a session by its fold, by default the present one; without `figures` it shows no tokens."""
        tools, fold = self.runtime.tools, context or self.runtime.session.context
        return Presenter(
            summaries(tools, self.runtime.setup.cwd),
            teller(fold) if figures else lambda _: None,
            fold.counts.told_raw,
            open_thinking=self.runtime.config.ui.show_thinking,
        )

    def _wake(self) -> None:
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
        from prunecli.tui import figures

        context = self.runtime.session.context
        if waiting := to_count(context):
            figures.count(self, context, waiting)
            return
        figures.follow_scale(self, context)
        status = self.runtime.status()
        self.frame.status.show(status, self._cache(status))
        self.frame.masthead.show_session(status.session_name)
        self.show_waiting()

    def tick(self) -> None:
        """The cache got older, and a disk may have space again."""
        self.runs.tick()
        if status := self.frame.status.status:
            self.frame.status.show_cache(self._cache(status))

    def _cache(self, status: Status) -> str:
        return cache_words(status, self.runtime.config.model.cache_ttl, self.runtime.setup.clock())

    def show_waiting(self) -> None:
        """Shows what the agent has not heard yet."""
        steering, follow_ups = self.runs.waiting()
        self.frame.waiting.show(steering, follow_ups)
        self.frame.prompt.set_class(bool(steering or follow_ups), "-waiting")

    # What the user says --------------------------------------------------------------------------------------

    def _said(self, text: str, *, follow_up: bool) -> None:
        """A prompt, a command, a shell command, or Enter alone."""
        if not text.strip():
            if self.runs.can_go_on and not self.runs.busy:
                self.runs.go_on()
            elif not self.runs.busy and (line := self.runtime.guide.take(self.runtime.session.context)):
                self._said(line, follow_up=False)
                self.show_guide()
            return
        self.keeping.sent(text, self.runtime.setup.clock())
        self.frame.transcript.end()
        self.hear(text, follow_up=follow_up)

    def hear(self, text: str, *, follow_up: bool = False) -> None:
        """A prompt, a command or a shell command; what needs the session waits until it is read."""
        if self.runs.loading and text.split()[0] not in NEED_NO_SESSION:
            self._queue(text, follow_up=follow_up)
        elif is_command(text):
            self.command(text)
        elif text.startswith("!"):
            hidden = text.startswith("!!")
            if command := text.removeprefix("!!" if hidden else "!").strip():
                self.runs.shell(command, show_model=not hidden)
        else:
            self.submit(text, follow_up=follow_up)

    def show_guide(self) -> None:
        """What Enter alone says next stands in the empty prompt."""
        line = "" if self.runs.busy else self.runtime.guide.next(self.runtime.session.context)
        self.frame.prompt.placeholder = f"Enter: {line}" if line else PLACEHOLDER

    def hear_all(self, said: Sequence[tuple[str, bool]]) -> None:
        """What was said while nobody could listen."""
        for text, follow_up in said:
            self.hear(text, follow_up=follow_up)

    def submit(self, text: str, *, follow_up: bool = False) -> None:
        """Says something to the agent; while it works it is steered, or hears it when it is done."""
        text = files.as_paths(text, str(self.runtime.setup.cwd))
        if self.asking.deciding:  # the start asks what the agent may do here, and what it reads
            self._queue(text, follow_up=follow_up)
        elif not self.runs.busy:
            self.runs.submit(text)
        elif self.completer.is_unanswered(text):
            self.frame.run_worker(self._submit_completed(text, follow_up=follow_up), group="complete-sent")
        else:
            self._queue(text, follow_up=follow_up)

    async def _submit_completed(self, text: str, *, follow_up: bool) -> None:
        self.submit(await self.completer.completed(text), follow_up=follow_up)

    def _queue(self, text: str, *, follow_up: bool) -> None:
        try:
            (self.runtime.follow_up if follow_up else self.runtime.steer)(text)
        except PromptTooLarge as error:
            self.complain(error)
            self.give_back(text)
        self.show_waiting()

    def command(self, line: str) -> None:
        """Runs a slash command."""
        if self._effects is None:
            from prunecli.tui.effects import Effects

            self._effects = Effects(self.runtime, self)
        self._effects.run(line)
        self.asking.decided(line)

    def rewind(self) -> None:
        """Goes back to an earlier prompt."""
        self.command("/rewind")

    def fill_prompt(self, text: str) -> None:
        """Puts a text into the prompt, to be changed and sent; what is being typed stays in front of it."""
        prompt = self.frame.prompt
        prompt.set_text(text if prompt.is_empty else f"{prompt.typed}\n\n{text}")
        prompt.focus()

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
        done = f"restored {when} and pinned: the next request holds it again"
        self.frame.activity.hint(done if plan.allowed else plan.refusal)
        self.show_waiting()

    # What runs need ------------------------------------------------------------------------------------------

    def began(self, words: str) -> None:
        """Work began."""
        self._doing = Doing()
        self.frame.activity.begin(words)
        self.frame.prompt.placeholder = PLACEHOLDER

    def ended(self, seconds: float, *, interrupted: bool) -> None:
        """Work is over. After an interruption what still waited comes back into the prompt."""
        self._wake()
        self.frame.activity.end()
        if interrupted and self.frame.prompt.is_empty:
            self.take_all_back()
        self.show_status()
        if seconds >= LONG_SECONDS:
            self.frame.program.notify_user("is done")

    def give_back(self, text: str) -> None:
        """What could not be said stands in the prompt again, in front of what was typed since."""
        prompt = self.frame.prompt
        prompt.set_text(text if prompt.is_empty else f"{text}\n\n{prompt.typed}")

    def take_all_back(self) -> None:
        """What waits comes back into the prompt."""
        while any(self.runs.waiting()):
            self.actions.do("take_back")

    def warn(self, text: str) -> None:
        """A banner that stays; "" takes it away."""
        self.frame.warn(text)

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """A notice in the transcript; while the session is empty, below the welcome if there is room."""
        self.stage.say(text, level)
        welcome = self.frame.welcome
        if not (welcome.display and welcome.tell(text, level)):
            self.frame.show_transcript()

    def warn_of(self, text: str) -> None:
        """A notice that matters."""
        self.say(text, Level.WARNING)

    def complain(self, error: PrunecliError) -> None:
        """What went wrong, and the way out."""
        self.say(f"{error.message}\n{error.hint}".strip(), Level.ERROR)

    async def load_typed(self) -> None:
        """Brings history and draft back."""
        entries, draft = await self.keeping.load()
        prompt = self.frame.prompt
        if not draft.text:
            prompt.past.preload(entries)
        elif prompt.is_empty and not prompt.past.entries:
            prompt.past.preload(entries)
            prompt.restore(draft)
            self.frame.activity.hint("this was not sent the last time")
        else:  # something was typed meanwhile: nothing is put in between
            prompt.past.preload([*entries, draft.expanded()])
            older = self.frame.keys.hint("older")
            self.frame.activity.hint(f"{older}: what was not sent the last time")


def _commands() -> list[tuple[str, str, tuple[str, ...]]]:
    from prunecli.commands.command import all_commands

    return [(command.name, command.help, command.aliases) for command in all_commands()]
