"""The protocol through which parts of the fold read the context. `state.Context` implements the protocol and imports
the parts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.token_counts import TokenCounts
from prunecli.context.wire import Wire
from prunecli.model.edits import Edit
from prunecli.model.events import Record
from prunecli.model.requests import Preamble

if TYPE_CHECKING:
    from prunecli.context.cache import Cache


class Fold(Protocol):
    """A working context: its entries, their current form, and the last answer from the endpoint."""

    entries: dict[int, Entry]
    items: list[Entry]
    live_exchanges: list[Exchange]
    live_results: list[Entry]
    trimmed_results: list[Entry]
    pruns: dict[int, Record]
    boundary: int
    counts: TokenCounts
    preamble: Preamble
    last_response: int | None
    last_model: str
    requested: str
    wire: Wire
    cache: "Cache"
    caches: bool

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is currently left out."""

    def text_edit(self, seq: int) -> Edit | None:
        """Return the clear, trim or repair that currently replaces this entry's text."""

    def edits_of(self, seq: int) -> Sequence[tuple[int, Edit]]:
        """Return all live edits of a target, oldest first, each with the seq of its PrunApplied."""

    def in_force(self, prun: int, edit: Edit) -> bool:
        """Return whether this edit of that PrunApplied is still in effect."""

    def memos_at(self, exchange: Exchange) -> Sequence[Edit]:
        """Return the memos that currently precede this exchange."""

    def is_shown(self, seq: int) -> bool:
        """Return whether a user message, assistant message or summary has its place among `items`."""

    def position(self, seq: int) -> int:
        """Return the index of a shown entry among `items`."""
