"""A list of offers, one of which is marked: the menu above the prompt, and the list of things to choose from."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widget import Widget

from prunecli.sanitize import one_line
from prunecli.tui.messages import Picked
from prunecli.tui.prompting.completion import Offer
from prunecli.tui.transcript.rows import clip, width_of

MOST_ROWS = 8


class OfferList(Widget):
    """Shows offers, as many as fit, and marks one of them."""

    can_focus = False

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        super().__init__()
        self.offers: Sequence[Offer] = ()
        self.at = 0
        self.most_rows = most_rows
        self._first = 0
        self._note = ""

    @property
    def chosen(self) -> Offer | None:
        """The marked offer."""
        return self.offers[self.at] if self.offers else None

    @property
    def rows(self) -> int:
        """Rows that it takes."""
        return min(self.most_rows, len(self.offers)) + (1 if self._footer() else 0)

    def show(self, offers: Sequence[Offer], note: str = "", at: int = 0) -> None:
        """Other offers, with one marked; `note` stands below them."""
        self.offers, self._note = offers, note
        self.at = at if at < len(offers) else 0
        self._first = max(0, self.at - self.most_rows + 1)
        self.refresh()

    def move(self, step: int, *, around: bool = True) -> None:
        """Marks an offer so many further down, going around the ends or staying at them."""
        if not self.offers:
            return
        last = len(self.offers) - 1
        self.at = (self.at + step) % (last + 1) if around else max(0, min(last, self.at + step))
        self._first = max(self.at - self.most_rows + 1, min(self._first, self.at))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click chooses."""
        index = self._first + event.y
        if 0 <= event.y < self.most_rows and index < len(self.offers):
            self.at = index
            self.post_message(Picked(index))

    def _footer(self) -> str:
        if self._note:
            return self._note
        return f"{self.at + 1} of {len(self.offers)}" if len(self.offers) > self.most_rows else ""

    def render(self) -> Content:
        """The rows in view, labels and details in two columns."""
        shown = self.offers[self._first : self._first + self.most_rows]
        width = self.size.width - 2
        labels = max((width_of(one_line(offer.label)) for offer in self.offers), default=0)
        room = min(labels, width if not any(offer.detail for offer in shown) else max(12, width // 2))
        rows = [
            self._row(offer, width, room, marked=self._first + at == self.at)
            for at, offer in enumerate(shown)
        ]
        if footer := self._footer():
            rows.append(Content.styled(f"  {clip(footer, width)}", "$muted"))
        return Content("\n").join(rows)

    def _row(self, offer: Offer, width: int, room: int, *, marked: bool) -> Content:
        label = clip(one_line(offer.label), room)
        detail = clip(one_line(offer.detail), max(0, width - room - 3))
        text = f" {label}{' ' * (room - width_of(label))}   {detail}"
        text += " " * max(0, width + 2 - width_of(text))
        row = Content(text)
        if detail:
            row = row.stylize("$foreground" if marked else "$muted", 1 + len(label))
        for mark in offer.marks:
            if mark < len(label) and label[mark] != "…":
                row = row.stylize("bold $accent", 1 + mark, 2 + mark)
        return row.stylize_before("on $selection" if marked else "on $panel")


class Menu(OfferList):
    """The list above the prompt. It lies over the transcript, so that nothing moves when it opens."""

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""
        return self.display

    def on_mount(self) -> None:
        """It opens when there is something to offer."""
        self.display = False

    def show(self, offers: Sequence[Offer], note: str = "", at: int = 0) -> None:
        """Opens with offers; without any only the note, which says why."""
        super().show(offers, note, at)
        self.styles.height = self.rows
        self.styles.offset = (0, -self.rows)
        self.display = bool(self.rows)

    def close(self) -> None:
        """Takes it away."""
        self.display = False
        self.offers = ()
