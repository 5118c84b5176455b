"""What commands ask: a filterable list to choose from, as for /model and /theme, and a masked line for an API key."""

from collections.abc import Callable, Iterable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.commands.command import Choice, Choose
from prunecli.front.presentation import fuzzy
from prunecli.front.presentation.completion import Offer
from prunecli.tui.messages import Picked
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.transcript.rows import breaks
from prunecli.tui.widgets.editor import Field
from prunecli.tui.widgets.fitting import last_keys
from prunecli.tui.widgets.menu import OfferList
from prunecli.util.sanitize import one_line

OTHER_ROWS = 6
"""The rows besides title and list: the top border, the filter, the count, the help and the blank lines."""
LOW_ROWS = 16
"""Minimum screen height for blank lines and a part of the conversation above the list."""
FEW = 3
"""Up to so many choices need no word about the filter."""
_ANSWERS = "Enter to select · Esc to cancel"
_DIGITS = "Enter or a digit to select · Esc to cancel"


class ChooseScreen(Dialog[str | None]):
    """A filterable list that returns the chosen value, or None. `look` is called with the marked choice.

    With `confirms`, digits choose too, and other text is ignored: a prompt typed meanwhile must not hide the choices.
    """

    DEFAULT_CSS = """
    ChooseScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: auto; max-height: 90%; }
        #box { background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: auto; max-height: 6; text-style: bold; color: $foreground; }
        Input, Input:focus { height: 1; border: none; padding: 0; background: $panel; }
        OfferList { background: $panel; margin: 1 0 0 0; }
        #help { height: 1; color: $muted; margin: 1 0 0 0; }
        &.-low { #box { max-height: 100%; } OfferList, #help { margin: 0; } }
    }
    """

    def __init__(
        self,
        choose: Choose,
        look: Callable[[Choice], None] = lambda _: None,
        *,
        confirms: bool = False,
    ) -> None:
        super().__init__()
        self._choose = choose
        self._look = look
        self._has_filter = not confirms
        self._by_label = _labeled(choose.choices, numbered=confirms)
        self._list = OfferList()
        self._query = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Content(one_line(self._choose.title)), id="title")
            if self._has_filter:
                few = len(self._choose.choices) <= FEW
                yield Field(placeholder="" if few else "type to filter", first=self._press)
            yield self._list
            yield Static(id="help")

    def on_mount(self) -> None:
        current = next((at for at, choice in enumerate(self._choose.choices) if choice.current), 0)
        self._fill("", current)
        if self._has_filter:
            self.query_one(Input).focus()

    def on_resize(self) -> None:
        self._fill(self._typed, self._list.at)

    def on_key(self, event: events.Key) -> None:
        if self._has_filter:
            return
        event.stop()
        digit = int(event.key) if event.key.isdecimal() and event.key.isascii() else 0
        if 1 <= digit <= len(self._choose.choices):
            self.dismiss(self._choose.choices[digit - 1].value)
        elif self._press(event):
            event.prevent_default()

    @property
    def _typed(self) -> str:
        return self.query_one(Input).value if self._has_filter else ""

    def _fill(self, query: str, at: int = 0) -> None:
        self._query = query
        labels = self._meant(query)
        offers = [
            Offer(
                self._by_label[label].value,
                label,
                self._by_label[label].detail,
                fuzzy.spans(query, label) or () if query else (),
            )
            for label in labels
        ]
        title = len(breaks(one_line(self._choose.title), max(1, self.size.width - 2)))
        self._list.offers = offers
        is_low = self.size.height < LOW_ROWS
        self.set_class(is_low, "-low")
        keys = _ANSWERS if self._has_filter else _DIGITS
        self.query_one("#help", Static).update(Content(last_keys(keys, self.size.width - 2)))
        room = self.size.height - 4 if is_low else self.size.height * 9 // 10 - OTHER_ROWS
        room -= title + self._list.whole_rows
        self._list.most_rows = max(1 if is_low else 3, min(14, room))
        self._list.show(offers, "" if offers else "No matches", at)
        self._list.styles.height = self._list.rows

    def _meant(self, query: str) -> list[str]:
        """Return the labels that match a query, then the labels whose detail contains it."""
        if not query:
            return list(self._by_label)
        labels = fuzzy.best(query, self._by_label, len(self._by_label))
        known, query = set(labels), query.lower()
        return labels + [
            label
            for label, choice in self._by_label.items()
            if label not in known and query in choice.detail.lower()
        ]

    def on_input_changed(self, event: Input.Changed) -> None:
        if not self.is_closed:
            self._refilter(event.value)

    def _refilter(self, query: str) -> None:
        if query != self._query:
            self._fill(query)
            self._tell()

    def _tell(self) -> None:
        offer = self._list.chosen
        if offer:
            self._look(self._by_label[offer.label])

    def _press(self, event: events.Key) -> bool:
        """Handle a key: arrows, Home, End and the like mark, Enter selects, Esc cancels."""
        self._refilter(self._typed)  # the message about the last letter may still be on its way
        rows, all_ = self._list.most_rows - 1, len(self._list.offers)
        steps = {"up": -1, "down": 1, "pageup": -rows, "pagedown": rows, "shift+tab": -1, "tab": 1}
        steps |= {"home": -all_, "end": all_}
        if event.key in steps:
            self._list.move(steps[event.key], around=abs(steps[event.key]) == 1)
            self._tell()
        elif event.key == "enter":
            if self._list.chosen:
                self.dismiss(self._list.chosen.value)
        elif event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        else:
            return False
        return True

    def on_picked(self, message: Picked) -> None:
        message.stop()
        if self._list.chosen:
            self.dismiss(self._list.chosen.value)


def _labeled(choices: Iterable[Choice], *, numbered: bool = False) -> dict[str, Choice]:
    """Map labels to choices; trailing spaces tell equal labels apart."""
    found: dict[str, Choice] = {}
    for number, choice in enumerate(choices, 1):
        label = _label(choice, f"{number} " if numbered else "")
        while label in found:
            label += " "
        found[label] = choice
    return found


def _label(choice: Choice, number: str) -> str:
    return ("● " if choice.current else "  ") + number + one_line(choice.label)


class SecretScreen(Dialog[str | None]):
    """A masked input that returns the line, or None. The line is never stored in history or draft."""

    DEFAULT_CSS = """
    SecretScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: auto; background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: 1; text-style: bold; color: $foreground; }
        Input, Input:focus { height: 1; border: none; padding: 0; background: $panel; }
        #help { height: 1; color: $muted; margin: 1 0 0 0; }
    }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Content(one_line(self._title)), id="title")
            yield Field(password=True, submits=True, first=self._press)
            yield Static(Content("Enter to save · Esc to cancel"), id="help")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)

    def _press(self, event: events.Key) -> bool:
        if event.key not in ("escape", "ctrl+c"):
            return False
        self.dismiss(None)
        return True
