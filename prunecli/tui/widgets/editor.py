"""The text area for prompts, which displays text safely and keeps every byte of a paste, and single-line inputs.

Relies on undocumented parts of Textual's TextArea: `gutter_width`, `_on_key`, `_on_paste` and `navigator`.
tests/tui/test_prompt.py checks them.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.binding import BindingType, NoBinding
from textual.document._document import Selection
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, TextArea

from prunecli.tui.prompting.pastes import MARK, Pastes, fits, unified
from prunecli.tui.terminal_input import Burst
from prunecli.util.sanitize import visible_with_tabs

BURST_SECONDS = 0.03
"""Seconds after a paste in which keys belong to it, so that pasted text cannot press Enter."""
GUTTER = 2
LAST_CHARS = 200
"""Maximum length of a last line that stays readable below the mark for a large text."""

_TYPED = "\u200c\u200d\u3000\u00a0"
"""Characters that people type although Python calls them unprintable: joiners and special spaces."""

_PICTOGRAPH = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_ONE = f"[{_PICTOGRAPH}][\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*"
_EMOJI = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE})*\u200d?|\\S[\ufe0e\ufe0f]"
)
"""Emoji of several code points, which the cursor passes and Backspace removes as one: families, flags, skin tones,
keycaps. Combining marks stay apart, so that a wrong one can be deleted in Thai, Hindi or Korean."""


class Editor(TextArea):
    """A text field with a `glyph` before its first row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"editor--glyph"}
    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+underscore,ctrl+shift+underscore,ctrl+shift+minus", "undo"),
        ("alt+b", "cursor_word_left"),
        ("alt+f", "cursor_word_right"),
        ("alt+d", "delete_word_right"),
    ]
    """Keys of shells that TextArea lacks, in the forms that terminals send."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, highlight_cursor_line=False)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)
        self.glyph = "❯"
        self.pastes = Pastes()
        self._pasted: dict[str, None] = {}
        """The pastes that had a mark here before."""
        self._burst_until = 0.0

    # Contents ------------------------------------------------------------------------------------------------

    @property
    def typed(self) -> str:
        return self.pastes.expanded(self.text)

    @property
    def is_empty(self) -> bool:
        return self.document.line_count == 1 and not self.document[0]

    def set_text(self, text: str, *, draft: bool = False) -> None:
        """Set the text and move the cursor to its end. Earlier pastes in it become marks again. If there are none, a
        large text (a `draft` may be larger) becomes a mark, but for its last line: the words typed below a paste."""
        self._pasted |= {paste: None for paste in self.pastes.texts.values() if not fits(paste)}
        self.pastes, shown = Pastes(), text
        for paste in self._pasted:
            if paste in shown and not MARK.search(text):
                shown = shown.replace(paste, self.pastes.mark(paste), 1)
        if not fits(shown, draft=draft):
            self.pastes = Pastes()
            above, _, last = text.rpartition("\n")
            is_short = above and fits(last) and len(last) <= LAST_CHARS and not MARK.search(last)
            below = last if is_short else ""
            shown = self.pastes.mark(text.removesuffix(below)) + below
        self.put_text(shown)

    def put_text(self, text: str) -> None:
        """Set text whose paste marks are already stored."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def put(self, text: str, start: tuple[int, int] | None = None) -> None:
        """Insert text in place of the selection, or of the text between `start` and the cursor."""
        begin, end = sorted(self.selection) if start is None else (start, self.cursor_location)
        self.replace(text, begin, end, maintain_selection_offset=False)

    # Keys and pastes -----------------------------------------------------------------------------------------

    def in_burst(self, event: events.Key) -> bool:
        """Return whether a key belongs to a paste that ended a moment ago. Such a key extends the paste."""
        if event.time > self._burst_until:
            return False
        self._burst_until = event.time + BURST_SECONDS
        return True

    async def _on_key(self, event: events.Key) -> None:
        """Handle editing keys and typed characters that Python calls unprintable; TextArea does the rest."""
        if event.character and event.character in _TYPED:
            event.stop()
            event.prevent_default()
            self.put(event.character)
        else:
            await run_own_binding(self, event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if not (isinstance(event, Burst) and event.is_typed):
            self._burst_until = event.time + BURST_SECONDS
        self.received(unified(event.text))

    def received(self, text: str) -> None:
        if text:
            self.put(self.pastes.marked(text))

    def action_delete_left(self) -> None:
        row, column = self.cursor_location
        length = 0 if self.selected_text else self.pastes.mark_before(self.document[row], column)
        if length:
            self.selection = Selection((row, column - length), (row, column))
        super().action_delete_left()

    def get_cursor_left_location(self) -> tuple[int, int]:
        row, column = super().get_cursor_left_location()
        return row, around(self.document[row], column)[0]

    def get_cursor_right_location(self) -> tuple[int, int]:
        row, column = super().get_cursor_right_location()
        return row, around(self.document[row], column)[1]

    def move_cursor(
        self,
        location: tuple[int, int],
        select: bool = False,
        center: bool = False,
        record_width: bool = True,
    ) -> None:
        """Move, but not into an emoji."""
        row, column = location
        if 0 <= row < self.document.line_count:
            column = around(self.document[row], column)[0]
        super().move_cursor((row, column), select, center, record_width)

    def action_delete_to_start_of_line(self) -> None:
        """Delete to the start of the line, as a shell does, also if it is wrapped. TextArea stops at the row's
        start."""
        row, column = self.cursor_location
        if column:
            self.delete((row, 0), (row, column), maintain_selection_offset=False)
        else:
            super().action_delete_to_start_of_line()

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        """Delete to the end of the line, in the same way."""
        row, column = self.cursor_location
        end = len(self.document[row])
        if column < end:
            self.delete((row, column), (row, end), maintain_selection_offset=False)
        else:
            await super().action_delete_to_end_of_line_or_delete_line()

    @property
    def on_first_row(self) -> bool:
        return self.navigator.is_first_wrapped_line(self.cursor_location)

    @property
    def on_last_row(self) -> bool:
        return self.navigator.is_last_wrapped_line(self.cursor_location)

    # Drawing -------------------------------------------------------------------------------------------------

    @property
    def gutter_width(self) -> int:
        return GUTTER

    def get_line(self, line_index: int) -> Text:
        """Return a line with unsafe characters replaced, at the same length. Tabs stay for TextArea."""
        return Text(visible_with_tabs(self.document.get_line(line_index)), end="", no_wrap=True)

    def render_line(self, y: int) -> Strip:
        if self.content_size.width <= 0:  # in a terminal of one column the placeholder cannot wrap
            return Strip.blank(self.size.width, self.rich_style)
        strip = super().render_line(y)
        first = y + self.scroll_offset.y == 0
        style = self.get_component_rich_style("editor--glyph") if first else self.rich_style
        gutter = Segment(self.glyph.ljust(GUTTER)[:GUTTER] if first else " " * GUTTER, style)
        return Strip([gutter, *strip], strip.cell_length + GUTTER)


async def run_own_binding(field: Widget, event: events.Key) -> bool:
    """Run the field's own binding for a key, in order with typed letters; return False if it has none.

    Textual passes such a key to the field's parents, the screen and the application, each with its own queue. If one
    of them is busy, Backspace takes effect after letters typed later. Without a binding, Alt and a letter would type
    the letter.
    """
    try:
        bindings = field._bindings.get_bindings_for_key(event.key)
    except NoBinding:
        if event.key.startswith("alt+"):
            event.prevent_default()
        return False
    for binding in bindings:
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return True
    return False


def around(text: str, column: int) -> tuple[int, int]:
    """Return the start and end of the sequence that a column cuts apart, or the column twice."""
    if text.isascii():
        return column, column
    found = (one.span() for one in _EMOJI.finditer(text) if one.start() < column < one.end())
    return next(found, (column, column))


class Field(Input):
    """A single-line input whose keys take effect in order.

    `submits`: Enter submits the line. Otherwise Enter goes to the parent. `first` gets each key before the field and
    returns whether it handled the key, because a key that goes to the parent takes effect after letters typed later.
    """

    def __init__(
        self,
        value: str = "",
        placeholder: str = "",
        *,
        submits: bool = False,
        password: bool = False,
        first: Callable[[events.Key], bool] | None = None,
        id: str | None = None,  # noqa: A002  # Textual's name
    ) -> None:
        super().__init__(value, placeholder, password=password, id=id)
        self._first = first
        self._left = {"ctrl+c"} if submits else {"ctrl+c", "enter"}

    def action_cursor_left(self, select: bool = False) -> None:
        self._pass_emoji(super().action_cursor_left, 0, select)

    def action_cursor_right(self, select: bool = False) -> None:
        self._pass_emoji(super().action_cursor_right, 1, select)

    def _pass_emoji(self, move: Callable[[bool], None], side: int, select: bool) -> None:
        move(select)
        while around(self.value, self.cursor_position)[side] != self.cursor_position:
            move(select)

    def action_delete_left(self) -> None:
        at = self.cursor_position
        if self.selection.is_empty and at:
            self.delete(around(self.value, at - 1)[0], at)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        at = self.cursor_position
        if self.selection.is_empty:
            self.delete(at, around(self.value, at + 1)[1])
        else:
            super().action_delete_right()

    async def _on_key(self, event: events.Key) -> None:
        if not self.screen.is_active:  # closed: the screen decides where the key goes
            event.prevent_default()
            event.stop()
            await self.screen.on_event(event)
        elif self._first is not None and self._first(event):
            event.prevent_default()
            event.stop()
        elif event.key not in self._left:
            await run_own_binding(self, event)
