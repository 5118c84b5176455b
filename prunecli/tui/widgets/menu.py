"""A list of items with one marked: the menu above the prompt, and the list of choices."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widget import Widget

from prunecli.front.presentation.completion import Offer
from prunecli.tui.messages import Picked
from prunecli.tui.transcript.rows import breaks, clip, width_of
from prunecli.util.sanitize import one_line

MOST_ROWS = 8
WHOLE_ROWS = 2
"""Rows below the list for the rest of the marked item's text."""
BELOW_ROWS = 6
"""Rows the menu leaves free on a small terminal: its count, an input line and the status."""
GAP_CELLS = 3
LABEL_CELLS, DETAIL_CELLS = 28, 10
"""On a narrow terminal, labels take more than half of a row: up to this width, and all but this width."""
CLAUSES = (": ", "; ", ", ", " · ", ". ")


class OfferList(Widget):
    """A list of as many items as fit, with one marked. If rows are cut, the full text of the marked item is shown
    below."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self.offers: Sequence[Offer] = ()
        self.at = 0
        self.most_rows = MOST_ROWS
        self._first = 0
        self._note = ""

    @property
    def chosen(self) -> Offer | None:
        return self.offers[self.at] if self.offers else None

    @property
    def rows(self) -> int:
        return min(self.most_rows, len(self.offers)) + self.whole_rows + (1 if self._footer() else 0)

    @property
    def whole_rows(self) -> int:
        """Rows reserved for the marked item's text; the same for every item, so that nothing jumps."""
        width, room = self._width, self._room()
        needed = [
            len(breaks(self._cut(offer, room), width - 2)) for offer in self.offers if self._cut(offer, room)
        ]
        return min(WHOLE_ROWS, max(needed, default=0))

    @property
    def _width(self) -> int:
        """The width of a row; the screen's width before the first layout."""
        return max(1, (self.size.width or self.screen.size.width) - 2)

    def _room(self) -> int:
        labels = max((width_of(one_line(offer.label)) for offer in self.offers), default=0)
        has_details = any(offer.detail for offer in self.offers)
        narrow = max(12, min(LABEL_CELLS, self._width - DETAIL_CELLS))
        return min(labels, max(narrow, self._width // 2) if has_details else self._width)

    def _cut(self, offer: Offer, room: int) -> str:
        """Return the part of an item that its row cuts off, or ""."""
        label, detail = one_line(offer.label), one_line(offer.detail)
        cut = [label.lstrip(" ●│├└─")] if width_of(label) > room else []
        if detail and width_of(detail) > self._width - room - GAP_CELLS:
            cut.append(detail)
        return " · ".join(cut)

    def show(self, offers: Sequence[Offer], note: str = "", at: int = 0) -> None:
        """Show these items with one marked, and `note` below them."""
        self.offers, self._note = offers, note
        self.at = at if at < len(offers) else 0
        self._first = max(0, self.at - self.most_rows + 1)
        self.refresh()

    def move(self, step: int, *, around: bool = True) -> None:
        """Move the mark by a number of rows; `around`: wrap at the ends."""
        if not self.offers:
            return
        last = len(self.offers) - 1
        self.at = (self.at + step) % (last + 1) if around else max(0, min(last, self.at + step))
        self._first = max(self.at - self.most_rows + 1, min(self._first, self.at))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if 0 <= event.y < self.most_rows and index < len(self.offers):
            self.at = index
            self.post_message(Picked())

    def _footer(self) -> str:
        if self._note:
            return self._note
        return f"{self.at + 1} of {len(self.offers)}" if len(self.offers) > self.most_rows else ""

    def render(self) -> Content:
        shown = self.offers[self._first : self._first + self.most_rows]
        width, room = self._width, self._room()
        rows = [
            self._row(offer, width, room, marked=self._first + at == self.at)
            for at, offer in enumerate(shown)
        ]
        rows += self._whole(width, room)
        if footer := self._footer():
            rows.append(Content.styled(f"  {clip(footer, width)}", "$muted"))
        return Content("\n").join(rows)

    def _whole(self, width: int, room: int) -> list[Content]:
        text = self._cut(self.chosen, room) if self.chosen else ""
        parts = [text[start:end] for start, end in breaks(text, width - 2)]
        if len(parts) > WHOLE_ROWS:
            parts[WHOLE_ROWS - 1 :] = [clip(" ".join(parts[WHOLE_ROWS - 1 :]), width - 2)]
        parts += [""] * (self.whole_rows - len(parts))
        return [Content.styled(f"  {part}", "$foreground") for part in parts[: self.whole_rows]]

    def _row(self, offer: Offer, width: int, room: int, *, marked: bool) -> Content:
        label = clip(one_line(offer.label), room)
        detail = shortened(one_line(offer.detail), max(0, width - room - GAP_CELLS))
        text = f" {label}{' ' * (room - width_of(label) + GAP_CELLS)}{detail}"
        text += " " * max(0, width + 2 - width_of(text))
        row = Content(text)
        if detail:
            row = row.stylize("$foreground" if marked else "$muted", 1 + len(label))
        for mark in offer.marks:
            if mark < len(label) and label[mark] != "…":
                row = row.stylize("bold $accent", 1 + mark, 2 + mark)
        return row.stylize_before("on $selection" if marked else "on $panel")


def shortened(text: str, width: int) -> str:
    """Cut text to fit, at the end of a clause if possible."""
    short = clip(text, width)
    if short == text:
        return text
    end = max(text.rfind(mark, 0, max(0, width - 1)) for mark in CLAUSES)
    return f"{text[:end]} …" if end > width // 3 else short


class Menu(OfferList):
    """The menu above the prompt. It overlays the transcript, so that nothing moves when it opens."""

    @property
    def whole_rows(self) -> int:
        """Rows reserved for the marked item's text: none where they would leave no row for the list."""
        rows = super().whole_rows
        return rows if self.screen.size.height >= BELOW_ROWS + rows else 0

    @property
    def is_open(self) -> bool:
        return self.display

    def on_mount(self) -> None:
        self.display = False

    def show(self, offers: Sequence[Offer], note: str = "", at: int = 0) -> None:
        """Open with items, or with a note that explains why there are none."""
        self.offers = offers
        self._limit()
        super().show(offers, note, at)
        self._fit()
        self.display = bool(self.rows)

    def on_resize(self) -> None:
        """Adjust the height after the notes or the room above the prompt change."""
        self._limit()
        self.move(0)
        self._fit()

    def _limit(self) -> None:
        room = self.screen.size.height - BELOW_ROWS - self.whole_rows
        self.most_rows = max(1, min(MOST_ROWS, room))

    def _fit(self) -> None:
        self.styles.height = self.rows
        self.styles.offset = (0, -self.rows)

    def close(self) -> None:
        self.display = False
        self.offers = ()
