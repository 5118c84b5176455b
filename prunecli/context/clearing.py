"""The content that the endpoint cleared from its own copy of a request.

The endpoint reports how many tokens it cleared, oldest results first, but not which ones. They are attributed to the
oldest results of the answered request, so that parts still add up to wholes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from prunecli.context.exchange import Entry
from prunecli.figures import short
from prunecli.model.codec import is_count
from prunecli.model.edits import Edit
from prunecli.model.messages import Json


class Clearing(NamedTuple):
    """Tokens and tool uses that the endpoint cleared from one request."""

    tokens: int = 0
    tool_uses: int = 0

    @property
    def words(self) -> str:
        """A one-line summary for the user."""
        uses = f"{self.tool_uses} tool use{'s' * (self.tool_uses != 1)}"
        return f"endpoint cleared {uses}, ~{short(self.tokens)} tokens"


NO_CLEARING = Clearing()


def clearing_of(applied_edits: Sequence[Mapping[str, Json]] | None) -> Clearing:
    """Sum the edits that a response reports, including unknown kinds with the same figures."""
    if not applied_edits:
        return NO_CLEARING
    return Clearing(_sum(applied_edits, "cleared_input_tokens"), _sum(applied_edits, "cleared_tool_uses"))


def _sum(edits: Sequence[Mapping[str, Json]], key: str) -> int:
    found = (edit.get(key) for edit in edits)
    return sum(filter(is_count, found))


class Shown(Protocol):
    """An item as shown: its entries and the edits on them."""

    parts: tuple[Entry, ...]
    edits: Mapping[int, Edit]
    hidden: bool


class Tokens(Protocol):
    """Tokens of an entry under an edit, as the endpoint counts them."""

    def __call__(self, entry: Entry, edit: Edit | None) -> int: ...


def shares(
    cleared: int, items: Iterable[tuple[Shown | None, Shown | None]], tokens: Tokens
) -> dict[int, int]:
    """Attribute cleared tokens to entries, by seq.

    `items` are pairs (as sent, as shown now), oldest first. Content pruned since then can't be cleared again. Costs
    O(items cleared).
    """
    found: dict[int, int] = {}
    left, answers = cleared, list[tuple[Entry, Shown, Shown | None]]()

    def lay(part: Entry, then: Shown, now: Shown | None) -> None:
        nonlocal left
        share = min(left, tokens(part, then.edits.get(part.seq)))
        left -= share
        found[part.seq] = under(share, part, now, tokens)

    for then, now in items:
        if left <= 0:
            break
        if then is None or then.hidden:
            continue
        for part in then.parts:
            if part.kind == "result":
                lay(part, then, now)
            elif part.kind == "assistant":
                answers.append((part, then, now))
    for part, then, now in answers:  # call arguments are cleared too
        lay(part, then, now)
    return found


def under(share: int, part: Entry, now: Shown | None, tokens: Tokens) -> int:
    """Return the part of a share that remains if the item is shown in this way."""
    if now is None or now.hidden:
        return 0
    return min(share, tokens(part, now.edits.get(part.seq)))


def sum_of(cleared: Mapping[int, int], items: Iterable[Entry]) -> int:
    """Return the cleared tokens of these context items, by their heads."""
    if not cleared:
        return 0
    parts = (part for item in items for part in (item.exchange.entries if item.exchange else (item,)))
    return sum(cleared.get(part.seq, 0) for part in parts)
