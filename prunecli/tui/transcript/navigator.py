"""Navigation in the transcript: pages, prompts, and a cursor on entries while it has the focus."""

from bisect import bisect_left, bisect_right
from typing import ClassVar

from textual.binding import Binding, BindingType

from prunecli.front.presentation.entries import Key
from prunecli.tui.transcript.finder import Finder
from prunecli.tui.transcript.paint import Mark
from prunecli.tui.transcript.viewport import Line


class Navigator(Finder):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor(-1)", "Previous entry", show=False),
        Binding("down", "cursor(1)", "Next entry", show=False),
        Binding("enter", "open_cursor", "Open a call, fold or unfold", show=False),
        Binding("space", "toggle_cursor", "Fold or unfold", show=False),
        Binding("r", "restore_cursor", "Restore", show=False),
        Binding("k", "rows(-1)", "One row up", show=False),
        Binding("j", "rows(1)", "One row down", show=False),
        Binding("n", "search_next", "Next hit", show=False),
        Binding("N", "search_previous", "Previous hit", show=False),
        Binding("left_square_bracket", "prompt(-1)", "Previous prompt", show=False),
        Binding("right_square_bracket", "prompt(1)", "Next prompt", show=False),
    ]

    cursor: Key | None = None

    def page_up(self) -> None:
        """Scroll up by a screen, less two rows of overlap."""
        self.scroll_rows(-max(1, self.window.height - 2))

    def page_down(self) -> None:
        self.scroll_rows(max(1, self.window.height - 2))

    def home(self) -> None:
        self._settle_stale()
        self.window.home()
        self._moved()

    def end(self) -> None:
        """Scroll to the last row and follow new entries."""
        self._settle_stale()
        self.window.end()
        self._moved()

    def previous_prompt(self) -> bool:
        """Scroll to the prompt above the top of the screen; return False if there is none."""
        self._settle_stale()
        place = bisect_left(self.document.prompts, self._reading()) - 1
        return place >= 0 and self._show_entry(self.document.prompts[place])

    def next_prompt(self) -> bool:
        """Scroll to the prompt below.

        If there is none, or if everything below it is in view, scroll to the bottom and return False.
        """
        self._settle_stale()
        if self.window.follow:
            return False
        place = bisect_right(self.document.prompts, self._reading())
        if place < len(self.document.prompts):
            return self._show_entry(self.document.prompts[place])
        self.end()
        return False

    def _reading(self) -> int:
        """Return the key of the entry at the top, plus one if it begins above the screen."""
        lines = self.window.lines
        if not lines:
            return 0
        first = lines[1] if len(lines) > 1 and not lines[0].row.segments else lines[0]
        begins = first.block is first.block.item.blocks[0] and first.number <= first.block.gap
        return first.block.item.key if begins else first.block.item.key + 1

    def _show_entry(self, key: Key) -> bool:
        item = self.document.item(key)
        if item:
            self.window.show(item.blocks[0], item.blocks[0].gap)
            self._moved()
        return item is not None

    def scroll_home(self, **_: object) -> None:
        self.home()

    def scroll_end(self, **_: object) -> None:
        self.end()

    def action_page_up(self) -> None:
        self.page_up()

    def action_page_down(self) -> None:
        self.page_down()

    # -- the cursor, while the transcript has the focus

    @property
    def marking(self) -> bool:
        return super().marking or (self.cursor is not None and self.has_focus)

    def marks_on(self, line: Line) -> tuple[Mark, ...]:
        """Return the marks, with the cursor as the lowest one: a background, and a block that is visible without
        colors."""
        marks = super().marks_on(line)
        item = line.block.item
        if item.key == self.cursor and self.has_focus and line.row.segments and line.block is item.blocks[0]:
            inks = self.document.layout.sheet.inks
            block = [Mark(0, 1, inks.pill)] if line.number <= line.block.gap else []
            return (Mark(0, 1 << 16, inks.cursor), *block, *marks)
        return marks

    def action_cursor(self, step: int) -> None:
        """Move the cursor to the entry above or below and scroll it into view."""
        self._settle_stale()
        shown = {line.block.item.key for line in self.window.lines if line.row.segments}
        if not shown:
            return
        if self.cursor is None or self.document.item(self.cursor) is None:
            key = max(shown) if step < 0 else min(shown)
        elif self.cursor in shown or not min(shown) <= self.cursor + step <= max(shown):
            key = Key(self.cursor + step)
        else:
            key = max(shown) if step < 0 else min(shown)
        item = self.document.item(key)
        if item is None:
            return
        self.cursor = key
        first = item.blocks[0]
        if self.window.find(first, int(first.gap)) is None:
            margin = 1 if step < 0 else self.window.height - 2
            self.window.show(first, first.gap, margin)
        self._moved()
        self.refresh(self.size.region)

    def action_rows(self, rows: int) -> None:
        self.scroll_rows(rows)

    def action_prompt(self, step: int) -> None:
        if step < 0:
            self.previous_prompt()
        else:
            self.next_prompt()

    def action_search_next(self) -> None:
        self.search_next()

    def action_search_previous(self) -> None:
        self.search_previous()
