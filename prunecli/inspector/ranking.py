"""The outline as a flat list, largest first, and the result most worth pruning."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from prunecli.context.view import View
from prunecli.inspector.labels import Key
from prunecli.inspector.listing import AT_A_TIME, Rows, rows_of, text_of
from prunecli.inspector.manual_edits import cleared
from prunecli.inspector.nodes import Figures, Row
from prunecli.inspector.outline import Outline

Order: TypeAlias = Literal["order", "tokens", "size", "age", "carried"]
ORDERS: tuple[Order, ...] = ("order", "tokens", "size", "age", "carried")
"""The inspector's sort orders: log order, current tokens, original size, age or carry cost."""


class Ranked(Rows):
    """The leaf nodes that match a filter, largest first. Costs O(nodes) figures."""

    def __init__(self, outline: Outline, by: Order, words: str = "") -> None:
        super().__init__()
        self._outline = outline
        self._by: Order = by
        self._wanted = words.lower()

    def in_steps(self) -> Iterator[None]:
        """Compute the figures in steps, then sort."""
        ranked: list[tuple[tuple[int, int], Key]] = []
        for key in self._leaves():
            if not self._wanted or self._wanted in text_of(self._outline, key):
                figures = self._outline.figures(key)
                ranked.append(((_value(figures, self._by), figures.tokens), key))
            if not len(ranked) % AT_A_TIME:
                yield
        ranked.sort(key=lambda one: one[0], reverse=True)
        for _, key in ranked:
            self._list(Row(0, key, unfolds=False, is_open=False))

    def _leaves(self) -> Iterator[Key]:
        outline = self._outline
        yield from (key for key, _ in outline.preamble)
        for item in list(outline.slots):
            if item is None:
                continue
            if item.exchange is None:
                yield Key("prompt", item.seq)
                continue
            rows = rows_of(outline.context, item, is_open=True)
            has_parts = any(row.depth == 2 for row in rows)
            yield from (row.key for row in rows if not (has_parts and row.key.kind == "exchange"))

    @property
    def has_folded(self) -> bool:
        """False: a flat list has nothing to unfold."""
        return False


def _value(figures: Figures, by: Order) -> int:
    match by:
        case "size":
            return figures.original
        case "age":
            return figures.age
        case "carried":
            return figures.carried
        case _:
            return figures.tokens


def largest_result(view: View) -> Key | None:
    """Return the largest unpinned result that can be cleared; None if there is none."""
    for entry in sorted(view.results, key=view.tokens, reverse=True):
        if view.locked(entry) != "pinned" and cleared(view, entry)[1]:
            return Key("result" if entry.exchange else "prompt" if entry.is_attached else "turn", entry.seq)
    return None
