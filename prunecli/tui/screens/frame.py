"""The main screen: prompt, transcript and the lines around them. It knows nothing of the agent.

The first frame is drawn without transcript, menu and agent: what they need is imported while the person reads.
`furnish` adds the one, `listen` the other; what the user did until then is kept and told then.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen

from prunecli.bindings import Keys
from prunecli.tui.messages import (
    ActionAsked,
    PermissionAnswered,
    Picked,
    PromptSubmitted,
    Typed,
    Wake,
)
from prunecli.tui.widgets.activity import Activity
from prunecli.tui.widgets.masthead import Masthead
from prunecli.tui.widgets.prompt import Prompt
from prunecli.tui.widgets.status import StatusLines
from prunecli.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from prunecli.tui.app import PrunecliApp
    from prunecli.tui.transcript.palette import Palette
    from prunecli.tui.transcript.view import Transcript
    from prunecli.tui.widgets.menu import Menu
    from prunecli.tui.widgets.question import Question
    from prunecli.tui.widgets.waiting import Waiting

_TRANSCRIPT_KEYS = frozenset(
    {"r", "k", "j", "n", "N", "space", "left_square_bracket", "right_square_bracket"}
)


WHEEL_ROWS = 2


class Frame(Screen[None], inherit_bindings=False):
    """The parts, and the keys and messages that go between them and whoever listens."""

    AUTO_FOCUS = "#prompt"

    transcript: "Transcript"
    menu: "Menu"
    waiting: "Waiting"

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.keys = Keys()
        self.masthead = Masthead(directory)
        self.welcome = Welcome()
        self.activity = Activity(
            lambda: f"{self.keys.hint('interrupt')} stops · {self.keys.hint('submit')} steers"
        )
        self.prompt = Prompt(self.keys)
        self.status = StatusLines()
        self._receive: Callable[[Message], None] | None = None
        self._early: list[Message] = []
        self._questions: list[Question] = []

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self.masthead
        yield self.welcome
        yield self.activity
        yield self.prompt
        yield self.status

    @property
    def program(self) -> "PrunecliApp":
        """The application."""
        return cast("PrunecliApp", self.app)

    async def furnish(self, palette: "Palette") -> None:
        """Adds the parts that an empty session can do without."""
        from prunecli.tui.transcript.view import Transcript
        from prunecli.tui.widgets.menu import Menu
        from prunecli.tui.widgets.waiting import Waiting

        self.transcript = Transcript(palette, id="transcript")
        self.menu = Menu()
        self.waiting = Waiting(self._takes_back)
        self.transcript.display = False
        self.transcript.copy_on_select = True
        await self.mount(self.transcript, self.waiting, before=self.activity)
        await self.mount(self.menu, before=self.prompt)

    def _takes_back(self) -> str:
        """Up goes through what was said before, unless nothing is typed."""
        action = "older" if self.prompt.is_empty else "take_back"
        return f"{self.keys.hint(action)} takes it back"

    def show_transcript(self) -> None:
        """There is something to show: the welcome is over."""
        if self.welcome.display:
            self.welcome.display = False
            self.transcript.display = True

    def show_welcome(self, tour: str) -> None:
        """There is nothing to show; `tour` is how to get one."""
        self.transcript.display = False
        self.welcome.clear()
        self.welcome.show_tour(tour)
        self.welcome.display = True

    # Messages ------------------------------------------------------------------------------------------------

    def listen(self, receive: Callable[[Message], None]) -> None:
        """From now on somebody is told what the user does, first what was done until now."""
        self._receive = receive
        early, self._early = self._early, []
        for message in early:
            receive(message)

    def _tell(self, message: Message) -> None:
        if self._receive is not None:
            self._receive(message)
        elif isinstance(message, ActionAsked) and message.name in ("quit", "leave"):
            self.program.leave()
        else:
            self._early.append(message)

    def on_wake(self, message: Wake) -> None:
        """The agent said something."""
        self._tell(message)

    def on_prompt_submitted(self, message: PromptSubmitted) -> None:
        """The user said something."""
        self._tell(message)

    def on_action_asked(self, message: ActionAsked) -> None:
        """A key asked for something."""
        self._tell(message)

    def on_picked(self, message: Picked) -> None:
        """A line of the menu was clicked."""
        self._tell(message)

    def on_typed(self, message: Typed) -> None:
        """The prompt holds something else."""
        self._tell(message)
        if self._receive is not None:
            self.waiting.refresh()

    def on_transcript_restore_requested(self, message: "Transcript.RestoreRequested") -> None:
        """A pruned entry is wanted back."""
        self._tell(message)

    def on_transcript_copied(self) -> None:
        """What the mouse selected can be pasted."""
        self.activity.hint("copied")

    def on_permission_answered(self, message: PermissionAnswered) -> None:
        """A question was answered."""
        self._tell(message)

    # Keys ----------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Keys of the transcript; those of the prompt are all its own."""
        browsing = self._receive is not None and self.focused is self.transcript
        if browsing and self._transcript_key(event):
            event.stop()
            event.prevent_default()

    def _transcript_key(self, event: events.Key) -> bool:
        """While one moves in the transcript actions work, and typing goes on in the prompt."""
        if action := self.keys.action(event.key):
            if action in ("submit", "older", "newer", "newline"):
                return False
            self.post_message(ActionAsked(action))
            return True
        if event.key in _TRANSCRIPT_KEYS or not event.is_printable:
            return False
        self.prompt.focus()
        again = events.Key(event.key, event.character)
        again.time = event.time
        self.prompt._forward_event(again)
        return True

    def on_mouse_scroll_up(self) -> None:
        """The wheel moves the transcript wherever the mouse is."""
        self._scroll(-WHEEL_ROWS)

    def on_mouse_scroll_down(self) -> None:
        """As above, downwards."""
        self._scroll(WHEEL_ROWS)

    def _scroll(self, rows: int) -> None:
        if self._receive is not None and self.transcript.display:
            self.transcript.scroll_rows(rows)

    # What is opened above the prompt -------------------------------------------------------------------------

    def open_search(self) -> None:
        """The line in which one types what to look for in the transcript."""
        from prunecli.tui.widgets.search_bar import SearchBar

        found = self.query(SearchBar)
        if found:
            found.first().focus_field()
        else:
            self.mount(SearchBar(self.transcript, self.prompt), before=self.prompt)

    def on_transcript_searched(self, message: "Transcript.Searched") -> None:
        """A search has come to an end."""
        from prunecli.tui.widgets.search_bar import SearchBar

        for bar in self.query(SearchBar):
            bar.found(message)

    def warn(self, text: str) -> None:
        """A banner that stays; "" takes it away."""
        from prunecli.tui.widgets.banner import Banner

        self.query(Banner).remove()
        if text:
            self.mount(Banner(text), before=self.activity)

    def ask(self, panel: "Question") -> None:
        """A question stands above the prompt, before any that is there already."""
        self._questions.append(panel)
        self._take_question()
        self.mount(panel, before=self.activity)
        self.prompt.focus()

    def answered(self, panel: "Question") -> None:
        """It was answered, or is not asked any more."""
        if panel in self._questions:
            self._questions.remove(panel)
            self._take_question()
            panel.end()
            panel.remove()
            if self._questions:
                self._questions[-1].appear()

    def _take_question(self) -> None:
        question = self._questions[-1] if self._questions else None
        self.activity.set_asking(question is not None)
        self.prompt.question = question
        if question is not None:
            question.attach(self.prompt)

    def on_screen_resume(self) -> None:
        """What was above the screen is gone: a question is seen again, and no key was meant for it yet."""
        if self._questions:
            self._questions[-1].appear()
