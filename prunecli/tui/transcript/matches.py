"""Text search in a session. Filters entries by their source and lays out only possible matches.

A search runs in slices, so that fifty thousand entries do not delay the keyboard.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from prunecli.presentation.entries import ToolCall
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.items import Block, Item, inner_parts
from prunecli.tui.transcript.selection import Span

_SLICE = 200_000
"""Characters searched per slice: about 2 ms."""


class Query(NamedTuple):
    """A search query. A capital letter in `text` makes it case-sensitive; `words` are the words in it."""

    text: str
    words: tuple[str, ...]
    exact: bool

    @classmethod
    def of(cls, text: str) -> Self:
        """Build a query from typed text."""
        exact = text != text.lower()
        return cls(text, tuple(re.findall(r"\w+", text)) or (text,), exact)

    def fold(self, text: str) -> str:
        return text if self.exact else text.lower()

    def may_match(self, source: str) -> bool:
        """Return False only if no rendering of the source can contain the text, because a word is missing."""
        source = self.fold(source)
        return all(word in source for word in self.words)


def joined(document: Document, block: Block) -> str:
    """Return a block's text as selected and searched, unwrapped."""
    out: list[str] = []
    for number, row in enumerate(document.layout.rows(block)):
        if number:
            out.append("\n" if row.join is None else row.join)
        out.append(row.body)
    return "".join(out)


def hits(document: Document, block: Block, query: Query) -> list[Span]:
    """Return the hits in a block, top to bottom, including those across a wrap."""
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
