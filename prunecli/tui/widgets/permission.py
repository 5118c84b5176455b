"""The permission question: the exact call, the reason for asking, and the answers."""

from collections.abc import Callable, Iterator, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from prunecli.agent.asking import Answer, AnswerKind
from prunecli.front.presentation.entries import Notice, Output, ToolCall, ToolState
from prunecli.front.presentation.questions import NAME_CHARS, Sheet
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.long_question import MOST_ROWS, LongQuestion
from prunecli.tui.widgets.question import INDENT, KEYS_TEXT, Row, put

MOST_CHARS = 90
"""Maximum characters of a rule in an answer. A longer rule is cut there and shown in full below the call."""
KEYS_DIFFS = (
    "Enter or a digit to answer · Ctrl+O for the diffs · type to say no and why",
    "Enter or a digit to answer · Ctrl+O for the diffs · Esc for no",
    "Enter or a digit · Ctrl+O for the diffs",
)
NOTE_ROWS = 2
"""Maximum rows of a reason. A longer reason is cut and shown in full below the call."""
SMALL_ROWS = 20
"""Minimum screen height for separate rows of reasons. On a smaller screen they appear only below the call and scroll
with it."""
_ALWAYS_SHORT = Row("2a", ("Yes, until you quit",))
"""The answer on a small screen if its rule does not fit in its row; the rule is then shown below the call."""


class PermissionPanel(LongQuestion):
    DEFAULT_CSS = """
    PermissionPanel {
        .about { height: auto; max-height: 2; color: $muted; }
    }
    """

    keys = KEYS_TEXT

    def __init__(self, sheet: Sheet, palette: Palette, answered: Callable[[Answer], object]) -> None:
        # 3 is No in other agents, so the lasting answer has no digit.
        rows = [Row("1y", (sheet.yes,)), Row("3n", (sheet.no,))]
        kinds: list[AnswerKind] = ["once", "deny"]
        if sheet.rule:
            rows[1:1] = [_always(sheet.rule, sheet.covers), Row("p", ("Yes, always in this project",))]
            kinds[1:1] = ["always", "project"]
        else:
            rows[-1] = Row("2n", rows[-1].parts)
        last = len(rows) - 1
        super().__init__(
            sheet.title,
            rows,
            lambda row, text: answered(Answer(kinds[row], text)),
            for_text=last,
            leave=last,
        )
        self._sheet = sheet
        self._has_diffs = sheet.diff is not None or bool(sheet.changes)
        self._palette = palette
        self._about = (("", sheet.beside), ("Why: ", sheet.reason), ("", sheet.wall))
        self._rest: list[str] = []
        self._is_scrolled = False
        self.text = self._text()
        if any(change.diff for change in sheet.changes):
            self.keys = KEYS_DIFFS

    def compose_matter(self) -> Sequence[Widget]:
        about = [Static(classes="about") for _ in self._about]
        if not self._has_diffs:
            return [*super().compose_matter(), *about]
        change = Transcript(self._palette, id="change")
        change.can_focus = False
        return [change, *about]

    def _fit(self) -> None:
        self._arrange()
        super()._fit()

    def _arrange(self) -> None:
        """Show the reasons below the call if there is room, otherwise in full together with the call."""
        width, is_small = self.content_size.width or MOST_CHARS, self.screen.size.height < SMALL_ROWS
        rest = []
        if rule := self._sheet.rule:
            row = _always(rule, "" if is_small else self._sheet.covers)
            if is_small and Content.assemble(*row.parts).cell_length > width - INDENT:
                row = _ALWAYS_SHORT
            self._rows[1] = row
            if row is _ALWAYS_SHORT or _cut(rule, MOST_CHARS):
                rest.append(f"The rule: {rule}")
            if is_small and self._sheet.covers:
                rest.append(f"It covers {self._sheet.covers}")
        for (name, text), shown in zip(self._about, self.query(".about").results(Static), strict=False):
            is_long = len(Content(text).wrap(width)) > NOTE_ROWS
            shown.display = bool(text) and not is_small
            cut = _cut(text, NOTE_ROWS * width - width // 4) if is_long else ""
            put(shown, Content(cut or text))
            if text and (is_long or is_small):
                rest.append(name + text)
        if rest != self._rest:
            self._rest = rest
            self._fill()

    def _text(self) -> Content:
        lines = self._sheet.text.split("\n")
        bar = "│ " if len(lines) > 1 else ""  # tells a new line from a wrapped one, and is no number to press
        marked = [Content.assemble((bar, "$muted"), (line, "$foreground")) for line in lines]
        return Content("\n").join([*marked, *(Content.styled(text, "$muted") for text in self._rest)])

    def follow(self) -> None:
        """Show the start of a change, and how much is left."""
        if not self._has_diffs:
            super().follow()
            return
        self._fill()
        shown = self.query_one("#change", Transcript)
        width = self.screen.size.width - self.gutter.width - shown.styles.scrollbar_size_vertical
        shown.lay_out(Size(width, MOST_ROWS))  # otherwise the first frame would be blank
        shown.home()
        self._arrange()
        self.fit(max(1, min(MOST_ROWS, self._rows_left())))
        shown.published = lambda: self.call_later(self._from_the_top)

    def _from_the_top(self) -> None:
        """Keep the change at its beginning until the user scrolls; a change that fitted before would follow its
        end."""
        shown = self.query_one("#change", Transcript)
        if not self._is_scrolled and shown.scroll_y > 0:
            shown.home()
        self._show()

    def _fill(self) -> None:
        """Show the call again from its beginning, together with the reasons that have no room below it."""
        if not self._has_diffs:
            self.query_one("#text", Static).update(self._text())
            return
        shown = self.query_one("#change", Transcript)
        shown.clear()
        for call in self._calls():
            shown.append(call)
        for text in self._rest:
            shown.append(Notice(text))
        self.call_after_refresh(shown.home)

    def _calls(self) -> Iterator[ToolCall]:
        """Yield the change that will be made, or the changes of commands that ran."""
        sheet = self._sheet
        if diff := sheet.diff:
            added, removed = diff.counts()
            outcome = f"+{added} −{removed}"
            yield ToolCall("change", sheet.text, ToolState.OK, outcome, body=diff, folded=False)
            return
        if len(lines := sheet.text.split("\n")) > 1 or len(lines[0]) > NAME_CHARS:
            yield ToolCall("commands", "; ".join(lines), ToolState.OK, body=Output(sheet.text), folded=True)
        size = sum(one.diff.text.count("\n") for one in sheet.changes if one.diff)
        for one in sheet.changes:
            folded = size > SMALL_ROWS // 2
            yield ToolCall(one.verb, one.path, ToolState.OK, one.outcome, body=one.diff, folded=folded)

    def fit(self, room: int) -> None:
        """Give the call the rows that are left, but no more than it needs."""
        if not self._has_diffs:
            super().fit(room)
        else:
            shown = self.query_one("#change", Transcript)
            shown.styles.height = max(1, min(room, shown.window.total))

    def press(self, key: str, at: float) -> bool:
        """Handle a key; scrolling counts as reading the change. Ctrl+O unfolds the changes, or folds them."""
        if key == "ctrl+o" and self._sheet.changes:
            self.query_one("#change", Transcript).toggle_all()
            self.call_after_refresh(self._fit)
            return True
        self._is_scrolled = self._is_scrolled or key in ("pageup", "pagedown")
        return super().press(key, at)

    def what(self) -> Widget:
        return self.query_one("#change" if self._has_diffs else "#what")


def _always(rule: str, covers: str) -> Row:
    shown = (_cut(rule, MOST_CHARS) or rule, "$code")
    below = (f"\n{covers}" if covers else "", "$muted")
    return Row("2a", ("Yes, and don't ask again for ", shown, " until you quit", below))


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text longer than `most` characters, "" for a shorter text."""
    return text[: most - 1] + "…" if len(text) > most else ""
