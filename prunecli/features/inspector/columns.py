"""Columns of the inspector's tree: wide enough for the rows seen so far; label and reason share the rest."""

from collections.abc import Iterable
from typing import NamedTuple

from prunecli.context.labels import NUMBERED, PRUNED
from prunecli.context.outline import Node, Row
from prunecli.features.inspector.listing import Order
from prunecli.model.notes import ATTACHED
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.util.figures import short
from prunecli.util.sanitize import one_line

WIDE, NARROW = 110, 60
"""Screen widths: at the first, original sizes get a column; below the second, only essential columns are shown."""
LEAST_WHAT, LEAST_WHY = 24, 18
"""Minimum widths of label and reason; without room for both, there is no reason column."""
_GAP = 2
_ORDERED: dict[Order, str] = {"tokens": "tokens", "size": "size", "age": "age", "carried": "carried"}


class Cells(NamedTuple):
    entry: str
    what: str
    tokens: str
    size: str
    age: str
    carried: str
    state: str
    why: str


class Columns:
    """Column positions at a width. They only grow, so that nothing jumps while scrolling."""

    def __init__(self, width: int, by: Order = "order") -> None:
        self._width = width
        ordered = _ORDERED.get(by, "")
        if width < NARROW:
            names = ["what", "tokens", *([ordered] if ordered not in ("", "tokens") else []), "state"]
        else:
            size = ["size"] if width >= WIDE or by == "size" else []
            names = ["entry", "what", "tokens", *size, "age", "carried", "state", "why"]
        self._headings = {name: name + "▾" * (name == ordered) for name in names}
        self._needed = {name: width_of(text) for name, text in self._headings.items()}
        self._needed["why"] = 0
        self._fit()

    @property
    def are_wide(self) -> bool:
        return self._width >= WIDE

    def widen(self, rows: Iterable[Cells]) -> bool:
        """Widen the columns for these rows; return whether any column moved."""
        before = dict(self._needed)
        for row in rows:
            for name in self._headings:
                self._needed[name] = max(self._needed[name], width_of(getattr(row, name)))
        if before == self._needed:
            return False
        self._fit()
        return True

    def _fit(self) -> None:
        needed = self._needed
        fixed = sum(needed[name] + _GAP for name in self._headings if name not in ("what", "why"))
        room = max(8, self._width - fixed)
        what, why = needed["what"], needed["why"] if "why" in self._headings else 0
        both = room - _GAP
        if not why or both < min(what, LEAST_WHAT) + min(why, LEAST_WHY):
            what, why = min(what, room), 0
        elif what + why > both:
            why = min(why, max(both - what, both * 2 // 5, min(why, LEAST_WHY)))
            what = both - why
        self._widths = {**needed, "what": what, "why": why}

    def line(self, row: Cells) -> tuple[str, str]:
        return self._line({name: getattr(row, name) for name in self._headings})

    def heading(self) -> str:
        return "".join(self._line(self._headings))

    def _line(self, texts: dict[str, str]) -> tuple[str, str]:
        parts = [
            padded(text, width) if name in ("what", "state") else f"{text:>{width}}"
            for name, text in texts.items()
            if (width := self._widths[name]) and name != "why"
        ]
        why = self._widths["why"]
        return "  ".join(parts), " " * _GAP + padded(texts["why"], why) if why else ""


def padded(text: str, width: int) -> str:
    text = clip(text, width)
    return text + " " * (width - width_of(text))


def cells_of(node: Node, row: Row, why: str, *, wide: bool = True) -> Cells:
    """Return a node as a row of the tree, with shorter words unless `wide`."""
    kind, is_numbered = node.key.kind, node.key.seq >= 0
    fold = ("▾ " if row.is_open else "▸ ") if row.unfolds else "  "
    is_said = kind in ("turn", "prompt") and is_numbered and node.state != "summary"
    mark = "❯ " if is_said and not node.label.startswith(ATTACHED) else ""
    cut = "✂ " if is_pruned(node) else ""
    what = "  " * row.depth + fold + mark + cut + one_line(node.label or "(empty)")
    is_named = kind in NUMBERED or not row.depth
    entry = str(node.key.seq) if is_named and is_numbered else ""
    tokens, size, carried = (
        short(n) if node.known else "…" for n in (node.tokens, node.original, node.carried)
    )
    state = state_word(node)
    if node.held:
        state += f", {short(node.held)} held back" if wide else f", {short(node.held)} unsent"
    if node.again >= 0:
        state += f", shown again at {node.again}" if wide else f", see {node.again}"
    return Cells(entry, what, tokens, size, str(node.age), carried, state, one_line(why))


def state_word(node: Node) -> str:
    """Return the state, or for several results the number of pruned and restored ones."""
    if node.state in ("live", "pinned", "kept", "restored") and node.key.kind in ("turn", "exchange"):
        if node.pruned:
            return f"{node.pruned}/{node.results} ✂"
        if node.restored and node.state != "restored":
            return "restored" if node.restored == node.results else f"{node.restored}/{node.results} restored"
    return node.state


def is_pruned(node: Node) -> bool:
    return node.state in PRUNED
