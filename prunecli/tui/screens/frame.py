"""The main screen: prompt, transcript and the lines around them. It does not depend on the agent.

The first frame is drawn without transcript, menu and agent, which are imported while the user reads. `furnish` adds
transcript and menu, and `listen` connects the agent. Earlier messages are kept and delivered then.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from textual import events, on
from textual.app import ComposeResult
from textual.screen import Screen

from prunecli.tui.messages import ActionAsked, Told
from prunecli.tui.widgets.activity import Activity
from prunecli.tui.widgets.masthead import Banner, Masthead
from prunecli.tui.widgets.prompt import Prompt
from prunecli.tui.widgets.status import StatusLines
from prunecli.tui.widgets.welcome import Welcome
from prunecli.tui.widths import use
from prunecli.util.bindings import Keys
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.plugins.app import Brought
    from prunecli.tui.program import Program
    from prunecli.tui.transcript import transcript_view
    from prunecli.tui.transcript.palette import Palette
    from prunecli.tui.transcript.transcript_view import Transcript
    from prunecli.tui.widgets import menu as widgets_menu
    from prunecli.tui.widgets import search_bar
    from prunecli.tui.widgets import waiting as widgets_waiting
    from prunecli.tui.widgets.menu import Menu
    from prunecli.tui.widgets.question import Question
    from prunecli.tui.widgets.waiting import Waiting
else:
    search_bar = lazy("prunecli.tui.widgets.search_bar")
    transcript_view = lazy("prunecli.tui.transcript.transcript_view")
    widgets_menu = lazy("prunecli.tui.widgets.menu")
    widgets_waiting = lazy("prunecli.tui.widgets.waiting")

_TRANSCRIPT_KEYS = frozenset(
    {"r", "k", "j", "n", "N", "space", "left_square_bracket", "right_square_bracket"}
)

WHEEL_ROWS = 2

Receivers: TypeAlias = Mapping[type[Told], Callable[[Any], object]]
"""The receiver of each kind of message."""


class Frame(Screen[None], inherit_bindings=False):
    AUTO_FOCUS = "#prompt"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (14, "-high")]  # noqa: RUF012  # declared so by Textual
    """On a low screen, a question takes the rows of the lines around it."""

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
        self._receivers: Receivers = {}
        self._early: list[Told] = []
        self._passed_on: events.Key | None = None
        self._questions: list[Question] = []
        self._above: dict[str, Any] = {}

    def compose(self) -> ComposeResult:
        yield self.masthead
        yield self.welcome
        yield self.activity
        yield self.prompt
        yield self.status

    @property
    def program(self) -> "Program":
        return cast("Program", self.app)

    async def mount_details(self, palette: "Palette") -> None:
        """Add the widgets that an empty session does not need."""
        self.transcript = transcript_view.Transcript(palette, id="transcript")
        self.menu = widgets_menu.Menu()
        self.waiting = widgets_waiting.Waiting(self._takes_back)
        self.transcript.display = False
        self.transcript.copy_on_select = True
        await self.mount(self.transcript, self.waiting, before=self.activity)
        await self.mount(self.menu, before=self.prompt)

    def measured(self, cells: Sequence[int]) -> None:
        """Use the widths that the terminal gave to `widths.PROBES`, and draw everything again if they are new."""
        if use(cells):
            for transcript in self.query("#transcript"):
                cast("Transcript", transcript).remeasure()
            self.prompt.notify_style_update()  # forgets its rows
            self.prompt._rewrap_and_refresh_virtual_size()
            self.refresh(layout=True)

    def _takes_back(self) -> str:
        """Return the hint for taking a queued message back.

        If the prompt contains text, Up moves through the history instead.
        """
        action = "older" if self.prompt.is_empty else "take_back"
        return f"{self.keys.hint(action)} to take it back"

    def show_above(self, brought: "Brought", content: object) -> None:
        """Show content in a widget above or below the prompt, which is made for its first content."""
        widget = self._above.get(brought.name)
        if widget is None and content:
            widget = self._above[brought.name] = brought.load()()
            widget.add_class("-above")
            before, after = (self.status, None) if brought.facts["below"] else (None, self.activity)
            self.mount(widget, before=before, after=after)
        if widget is not None:
            widget.show(content)

    def toggle_todos(self) -> None:
        todos = self._above.get("todos")
        if todos is None or not todos.toggle():
            self.activity.hint("no to-do list")

    def show_transcript(self) -> None:
        if self.welcome.display:
            self.welcome.display = False
            self.transcript.display = True

    def show_welcome(self, tour: str) -> None:
        """Show the welcome; `tour` tells how to start the tour."""
        self.transcript.display = False
        self.welcome.clear()
        self.welcome.show_tour(tour)
        self.welcome.display = True

    # Messages ------------------------------------------------------------------------------------------------

    def listen(self, receivers: Receivers) -> None:
        """Deliver messages to these receivers from now on, beginning with those that are waiting."""
        self._receivers = receivers
        early, self._early = self._early, []
        for message in early:
            self._tell(message)

    @on(Told)
    def _tell(self, message: Told) -> None:
        if self._receivers:
            self._receivers[type(message)](message)
        elif isinstance(message, ActionAsked) and message.name in ("quit", "leave"):
            self.program.leave()
        else:
            self._early.append(message)

    def on_transcript_copied(self) -> None:
        self.activity.hint("copied")

    # Keys ----------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Allow the transcript's keys only while it has the focus; the prompt handles all of its keys."""
        if not self._receivers:
            return
        types = event.is_printable or event.key == "enter"
        overtaken = types and self.focused is self.prompt and event is not self._passed_on
        if overtaken:  # it was on its way elsewhere when typing moved the focus
            self._pass_on(event)
        if overtaken or (self.focused is self.transcript and self._transcript_key(event)):
            event.stop()
            event.prevent_default()

    def _transcript_key(self, event: events.Key) -> bool:
        """Run actions while the transcript has the focus, and send typing to the prompt."""
        if action := self.keys.action(event.key):
            if action in ("submit", "older", "newer", "newline"):
                return False
            self.post_message(ActionAsked(action))
            return True
        if event.key in _TRANSCRIPT_KEYS or not event.is_printable:
            return False
        self.set_focus(self.prompt)  # at once: what is typed next is no key of the transcript
        self._pass_on(event)
        return True

    def _pass_on(self, event: events.Key) -> None:
        again = self._passed_on = events.Key(event.key, event.character)
        again.time = event.time
        self.prompt._forward_event(again)

    def on_mouse_scroll_up(self) -> None:
        self._scroll(-WHEEL_ROWS)

    def on_mouse_scroll_down(self) -> None:
        self._scroll(WHEEL_ROWS)

    def _scroll(self, rows: int) -> None:
        if bool(self._receivers) and self.transcript.display:
            self.transcript.scroll_rows(rows)

    # Panels above the prompt ---------------------------------------------------------------------------------

    def open_search(self) -> None:
        found = self.query(search_bar.SearchBar)
        if found:
            found.first().focus_field()
        else:
            self.mount(search_bar.SearchBar(self.transcript, self.prompt), before=self.prompt)

    def on_transcript_searched(self, message: "Transcript.Searched") -> None:
        for bar in self.query(search_bar.SearchBar):
            bar.found(message)

    def warn(self, text: str) -> None:
        """Show a banner until it changes; "" removes it."""
        self.query(Banner).remove()
        if text:
            self.mount(Banner(text), before=self.activity)

    def ask(self, panel: "Question") -> None:
        """Ask a question above the prompt, in front of any other."""
        self._questions.append(panel)
        self._take_question()
        self.mount(panel, before=self.activity)
        self.prompt.focus()

    def answered(self, panel: "Question") -> None:
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
        self.set_class(question is not None, "-asking")
        self.prompt.question = question
        if question is not None:
            question.attach(self.prompt)

    def on_screen_resume(self) -> None:
        """Restart the question's quiet period: it has just become visible, so earlier keys were not meant for it."""
        if self._questions:
            self._questions[-1].appear()
