"""Search in the transcript: moves between hits in time slices, with all visible hits marked.

Entries are filtered by their source, and only possible matches are laid out.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from textual.message import Message

from prunecli.front.presentation.entries import ToolCall
from prunecli.tui.slices import once
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.items import Block, Item, inner_parts
from prunecli.tui.transcript.paint import Mark
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.pointer import Pointer
from prunecli.tui.transcript.selection import Span, columns
from prunecli.tui.transcript.viewport import Line

SLICE_SECONDS = 0.008
"""Maximum seconds of work on the whole session per turn of the event loop."""

_SLICE = 200_000
"""Characters searched per slice: about 2 ms."""


class Query(NamedTuple):
    """A search query. A capital letter in `text` makes it case-sensitive; `words` are the words in it."""

    text: str
    words: tuple[str, ...]
    exact: bool

    @classmethod
    def of(cls, text: str) -> Self:
        exact = text != text.lower()
        return cls(text, tuple(re.findall(r"\w+", text)) or (text,), exact)

    def fold(self, text: str) -> str:
        return text if self.exact else text.lower()

    def may_match(self, source: str) -> bool:
        """Return False only if no rendering of the source can contain the text, because a word is missing."""
        source = self.fold(source)
        return all(word in source for word in self.words)


def joined(document: Document, block: Block) -> str:
    out: list[str] = []
    for number, row in enumerate(document.layout.rows(block)):
        if number:
            out.append("\n" if row.join is None else row.join)
        out.append(row.body)
    return "".join(out)


def hits(document: Document, block: Block, query: Query) -> list[Span]:
    if not query.text or not query.may_match(block.part.source):
        return []
    text = query.fold(joined(document, block))
    out: list[Span] = []
    place = text.find(query.text)
    while place >= 0:
        out.append(Span(block.point + place, block.point + place + len(query.text)))
        place = text.find(query.text, place + len(query.text))
    return out


def scan(document: Document, query: Query, start: int, step: int) -> Iterator[Span | None]:
    """Find the nearest hit beyond a point, downwards (`step` 1) or upwards (-1), wrapping once.

    Yields None between slices and ends after yielding a hit. Opens folds that hide a hit.
    """
    if not query.text or not document.next_key:
        return
    key = start >> 64
    if document.item(key) is None:
        key = document.next_key - 1 if step < 0 else document.next_key - document.count
    looked = 0
    first = key
    for lap in (False, True):
        for item in document.items(key, step):
            if lap and (item.key - first) * step > 0:
                break
            looked += _size(item)
            if looked > _SLICE:
                looked = 0
                yield None
            found = _hits_in(document, item, query)
            if not lap:
                found = [hit for hit in found if (hit.start > start if step > 0 else hit.start < start)]
            if found:
                yield found[0] if step > 0 else found[-1]
                return
        key = document.next_key - 1 if step < 0 else document.next_key - document.count


def _size(item: Item) -> int:
    entry = item.entry
    body = len(entry.body.text) if isinstance(entry, ToolCall) and entry.body else 0
    return 100 + body + len(getattr(entry, "text", ""))


def _hits_in(document: Document, item: Item, query: Query) -> list[Span]:
    if item.folded and _hidden_match(item, query):
        document.fold(item, False)
    return [hit for block in item.blocks for hit in hits(document, block, query)]


def _hidden_match(item: Item, query: Query) -> bool:
    """Return whether folded contents may match, judging by the source, so that other folds stay closed."""
    if isinstance(item.entry, ToolCall):
        hidden = [item.entry.argument, item.entry.body.text if item.entry.body else ""]
    else:
        hidden = [part.source for part in inner_parts(item)]
    return any(query.text in query.fold(text) for text in hidden)


class Finder(Pointer):
    class Searched(Message, namespace="transcript"):
        """The message that a search ended. `found`: a hit was found and is on the screen."""

        def __init__(self, transcript: "Finder", text: str, found: bool) -> None:
            super().__init__()
            self.transcript, self.text, self.found = transcript, text, found

    def __init__(self, palette: Palette, clock: Callable[[], float], **names: Any) -> None:
        super().__init__(palette, clock, **names)
        self._ms = clock
        self._query: Query | None = None
        self._hit: Span | None = None
        self._scan: Iterator[Span | None] | None = None
        self._marked: Span | None = None
        self._block_hits: dict[Block, list[Span]] = {}

    @property
    def searching(self) -> str:
        """The search text; "" if there is no search."""
        return self._query.text if self._query else ""

    def search(self, text: str) -> None:
        """Mark all occurrences of the text and go to the nearest hit above the bottom of the screen.

        The search covers wrapped lines and folds; a fold with a hit is opened. `Searched` reports the result. An
        empty text ends the search.
        """
        self._query = Query.of(text) if text else None
        self._hit = self._scan = None
        if self._query:
            self._settle_stale()
            lines = self.window.lines
            self._begin(lines[-1].block.point + (1 << 32) if lines else 0, -1)
        self.refresh(self.size.region)

    def search_next(self) -> None:
        """Go to the next hit below, wrapping at the end."""
        self._search_on(1)

    def search_previous(self) -> None:
        """Go to the next hit above, wrapping at the start."""
        self._search_on(-1)

    def _search_on(self, step: int) -> None:
        if not self._query:
            return
        self._settle_stale()
        lines = self.window.lines
        start = self._hit.start if self._hit else lines[0].block.point if lines else 0
        self._begin(start, step)

    def _begin(self, start: int, step: int) -> None:
        if self._query:
            self._scan = scan(self.document, self._query, start, step)
            self._search_slice()

    def _search_slice(self) -> None:
        stop = self._ms() + 1_000 * SLICE_SECONDS
        while self._scan is not None and self._query is not None:
            try:
                found = next(self._scan)
            except StopIteration:
                self._scan = None
                self.post_message(self.Searched(self, self._query.text, False))
                return
            if found is not None:
                self._scan = None
                self._show(found)
                self.post_message(self.Searched(self, self._query.text, True))
            elif self._ms() > stop:
                once(self, 0.001, self._search_slice)
                return

    def _show(self, hit: Span) -> None:
        """Scroll a hit to a third of the screen, unless it is visible."""
        self._hit = hit
        block = self.document.block_at(hit.start)
        if block is None:
            return
        number = 0
        for index, row in enumerate(self.document.layout.rows(block)):
            if block.point + row.place <= hit.start:
                number = index
        self._settle_stale()
        self.window.show(block, number, self.window.height // 3, always=False)
        self._moved()

    @property
    def marking(self) -> bool:
        return self._query is not None or self.selected is not None

    def begin_marks(self) -> None:
        """Read the selection, and find the hits of each visible block once."""
        self._marked = self.selected
        self._block_hits.clear()

    def marks_on(self, line: Line) -> tuple[Mark, ...]:
        if self._marked is None and self._query is None:
            return ()
        block, _, row = line
        inks = self.document.layout.sheet.inks
        marks: list[Mark] = []
        for hit in self._hits(block):
            if place := columns(block, row, hit):
                marks.append(Mark(*place, inks.hit_current if hit == self._hit else inks.hit))
        if self._marked and (place := columns(block, row, self._marked)):
            marks.append(Mark(*place, inks.selection))
        return tuple(marks)

    def _hits(self, block: Block) -> list[Span]:
        if self._query is None:
            return []
        found = self._block_hits.get(block)
        if found is None:
            found = self._block_hits[block] = hits(self.document, block, self._query)
        return found
