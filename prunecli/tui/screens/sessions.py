"""The session list: filter, search all text, open a session or a copy, rename, remove."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import Worker

from prunecli.session.session_search import Hit
from prunecli.session.store import Listed
from prunecli.tui.prompting.answering import QUIET_SECONDS
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.screens.session_rows import Row, SessionRows, details, rows_of
from prunecli.tui.slices import once
from prunecli.tui.transcript.rows import clip
from prunecli.tui.widgets.editor import Field
from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime.sessions import Costs
    from prunecli.tui.session_picker import SessionPicker

SEARCH_AFTER_SECONDS = 0.25
"""Seconds without typing before a search starts."""
HELPS = (
    "Enter open · Alt+Enter copy · Tab {other} · Ctrl+F {how} · Ctrl+N rename · Ctrl+X remove · Esc close",
    "Enter open · Alt+Enter copy · Tab {other} · ^F {how} · ^N rename · ^X remove",
    "Enter open · Tab {other} · ^F {how} · ^N rename · ^X remove",
    "Enter · ^N rename · ^X remove · Tab",
)
"""Key hints, longest first."""
READING_HELPS = (
    "Enter to continue it here · Tab {other} · Ctrl+F {how} · Esc close",
    "Enter · Tab {other} · ^F {how} · Esc",
)
"""Key hints for sessions of another agent."""
EMPTY_HELPS = ("Tab {other} · Ctrl+F {how} · Esc close", "Tab {other} · ^F {how} · Esc")
"""Key hints without a session to choose."""


@frozen
class Chosen:
    """The chosen session; `fork`: open a copy of it."""

    path: Path
    fork: bool = False
    id: str = ""


class SessionsScreen(Dialog[Chosen | None]):
    """A list that returns the chosen session, or None. `picker` reads and changes sessions; `clock` returns unix
    ms."""

    DEFAULT_CSS = """
    SessionsScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: 92%; background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: 1; color: $foreground; }
        Field, Field:focus { height: 1; border: none; padding: 0; background: $panel; }
        SessionRows { height: 1fr; margin: 1 0 0 0; }
        #details { height: 5; border-top: solid $faint; color: $foreground; }
        #help { height: 1; color: $muted; }
        &.-low { #box { height: 100%; } SessionRows { margin: 0; } #details { height: 3; } }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012  # declared so by Textual

    def __init__(
        self, picker: "SessionPicker", cwd: Path, costs: "Costs | None", clock: Callable[[], int]
    ) -> None:
        super().__init__()
        self._picker = picker
        self._cwd = cwd
        self._costs = costs
        self._clock = clock
        self._here = True
        self._in_words = False
        self._all: Sequence[Listed] = ()
        self._hits: Sequence[Hit] = ()
        self._note = "reading …"
        self._asking = ""  # "name" or "remove": the question about the marked session
        self._asked_at = 0.0
        self._query = ""
        self._filter = ""
        self._work: Worker[None] | None = None
        self._rows = SessionRows()

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(id="title")
            yield Field(first=self._press)
            yield self._rows
            yield Static(id="details")
            yield Static(id="help")

    def on_mount(self) -> None:
        self.query_one(Field).focus()
        self._read()

    # Reading -------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._note = "reading …"

        def show(found: Sequence[Listed]) -> None:
            self._all = found
            self._fill()

        async def read() -> None:
            await self._picker.list(self._cwd if self._here else None, show)
            self._note = self._picker.note()
            self._fill()
            if self._in_words:
                self._search()

        self._start(read)

    def _search(self) -> None:
        """Search the listed sessions for the words in the field."""
        query = self.query_one(Field).value
        self._hits = ()

        def show(hits: Sequence[Hit], share: float) -> None:
            self._hits = hits
            self._note = f"{len(hits)} found" + ("" if share >= 1 else f", {share:.0%} searched …")
            self._fill()

        async def search() -> None:
            await self._picker.search(self._all, query, show)

        if query.strip():
            self._start(search)
        else:
            self._note = "type to search"
            self._fill()

    def _start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        if self._work is not None:
            self._work.cancel()
        self._work = self.run_worker(work(), exclusive=True)

    # Showing -------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        query = self._filter if self._asking else self.query_one(Field).value
        self._query = query
        rows = rows_of(self._all, self._hits, "" if self._in_words else query, in_words=self._in_words)
        self._rows.show(rows, self._costs, self._clock(), here=self._here)
        self._label()

    def _label(self) -> None:
        where = f"{self._picker.whose} in {'this directory' if self._here else 'all directories'}"
        count = "" if self._in_words else f"{len(self._rows.rows)} of {len(self._all)}"
        title = Content.assemble(
            (where, "bold"), ("   " + " · ".join(filter(None, [count, self._note])), "$muted")
        )
        self.query_one("#title", Static).update(title)
        field = self.query_one(Field)
        field.placeholder = "search all messages and outputs" if self._in_words else "type to filter"
        row = self._rows.chosen
        self.query_one("#details", Static).update(details(row, self.size.width - 2) if row else Content(""))
        self.query_one("#help", Static).update(self._help(row))

    def _help(self, row: Row | None) -> Content:
        if self._asking == "name":
            return Content.styled("Enter to rename · Esc to cancel", "$accent")
        if self._asking == "remove" and row:
            whole = f"Remove “{clip(one_line(row.listed.label), 24)}”? y to move it to {self._picker.trash}"
            forms = (whole, "Remove it? y to move it to the trash", "Remove? y: to trash")
            return fitted([Piece(forms, "$warning")], (), self.size.width - 2)
        other, how = "all" if self._here else "here", "filter" if self._in_words else "words"
        helps = EMPTY_HELPS if row is None else HELPS if self._picker.ours else READING_HELPS
        return fitted(
            [Piece(tuple(form.format(other=other, how=how) for form in helps))], (), self.size.width - 2
        )

    def on_resize(self) -> None:
        self.call_after_refresh(self._label)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._in_words and not self._asking:
            once(self, SEARCH_AFTER_SECONDS, partial(self._search_if, event.value))
        else:
            self._refilter()

    def _refilter(self) -> None:
        if not (self._in_words or self._asking) and self.query_one(Field).value != self._query:
            self._rows.at = 0
            self._fill()

    def _search_if(self, typed: str) -> None:
        if self._in_words and typed == self.query_one(Field).value:
            self._search()

    # Keys ----------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Handle the answer to a question, during which the filter is not focused."""
        if self._press(event):
            event.stop()
            event.prevent_default()

    def _press(self, event: events.Key) -> bool:
        self._refilter()  # the message about the last letter may still be on its way
        page = max(1, self._rows.size.height - 1)
        all_ = len(self._rows.rows)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -all_, "end": all_}
        deeds: dict[str, Callable[[], None]] = {
            "enter": lambda: self._open(fork=False),
            "tab": self._toggle_directories,
            "ctrl+f": self._toggle_words,
            "escape": self._leave,
            "ctrl+c": self._leave,
        }
        if self._picker.ours:
            deeds |= {
                "alt+enter": lambda: self._open(fork=True),
                "ctrl+n": self._ask_name,
                "ctrl+x": self._ask_removal,
            }
        if self._asking:
            return self._answer(event)
        if event.key in steps:
            self._rows.move(steps[event.key])
            self._label()
        elif event.key in deeds:
            deeds[event.key]()
        else:
            return False
        return True

    def on_session_rows_picked(self, event: SessionRows.Picked) -> None:
        event.stop()
        if event.again and not self._asking:
            self._open(fork=False)
        else:
            self._label()

    def _leave(self) -> None:
        self.dismiss(None)

    def _open(self, *, fork: bool) -> None:
        if row := self._rows.chosen:
            self.dismiss(Chosen(row.listed.path, fork, row.listed.id))

    def _toggle_directories(self) -> None:
        self._here = not self._here
        self._rows.at = 0
        self._read()

    def _toggle_words(self) -> None:
        self._in_words = not self._in_words
        self._rows.at = 0
        self._hits, self._note = (), ""
        if self._in_words:
            self._search()
        self._fill()

    # Asking --------------------------------------------------------------------------------------------------

    def _ask_name(self) -> None:
        if row := self._rows.chosen:
            field = self.query_one(Field)
            self._filter, self._asking = field.value, "name"
            field.value = row.listed.name
            field.cursor_position = len(field.value)
            self._label()

    def _ask_removal(self) -> None:
        if self._rows.chosen:
            self._filter, self._asking = self.query_one(Field).value, "remove"
            self._asked_at = monotonic()
            self.set_focus(None)  # otherwise the answer would go into the filter
            self._label()

    def _was_quiet(self, event: events.Key) -> bool:
        return event.time - self._asked_at >= QUIET_SECONDS

    def _answer(self, event: events.Key) -> bool:
        """Handle a key while renaming or removing; return False if it belongs to the name."""
        asked, row = self._asking, self._rows.chosen
        if asked == "name" and event.key not in ("enter", "escape", "ctrl+c"):
            return False
        problem = ""
        name = self.query_one(Field).value.strip()
        if row and asked == "name" and event.key == "enter" and name:
            problem = self._picker.rename(row.listed.path, name)
        elif row and asked == "remove" and event.character == "y" and self._was_quiet(event):
            problem = self._picker.remove(row.listed.path)
        self._asking = ""
        self.query_one(Field).focus()
        with self.prevent(Input.Changed):
            self.query_one(Field).value = self._filter
        if problem:
            self._note = problem
            self._label()
        else:
            self._read()
        return True
