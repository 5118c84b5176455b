"""The protocol through which parts of the fold read the context. `state.Context` implements it and imports them."""

from collections.abc import Sequence
from typing import Protocol

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.token_counts import TokenCounts
from prunecli.model.edits import Edit
from prunecli.model.events import Record


class Fold(Protocol):
    """A working context: its entries, their present form, and the last answer of the endpoint."""

    entries: dict[int, Entry]
    items: list[Entry]
    live_exchanges: list[Exchange]
    live_results: list[Entry]
    trimmed_results: list[Entry]
    pruns: dict[int, Record]
    boundary: int
    counts: TokenCounts
    last_response: int | None
    last_model: str
    caches: bool

    def dropped(self, exchange: Exchange) -> bool:
        """Whether the exchange is left out now."""

    def text_edit(self, seq: int) -> Edit | None:
        """The clear, trim or repair that replaces this entry's text now."""

    def edits_of(self, seq: int) -> Sequence[tuple[int, Edit]]:
        """All live edits of a target, oldest first, each with the seq of its PrunApplied."""

    def in_force(self, prun: int, edit: Edit) -> bool:
        """Whether this edit of that PrunApplied was not taken back."""

    def memos_at(self, exchange: Exchange) -> Sequence[Edit]:
        """The memos before this exchange now."""

    def is_shown(self, seq: int) -> bool:
        """Whether a user message, assistant message or summary has its place among `items`."""

    def position(self, seq: int) -> int:
        """The index of a shown entry among `items`."""
