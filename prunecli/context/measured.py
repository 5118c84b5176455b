"""What an item of the context takes, by what it is, and what it has carried: numbers that can be summed.

Token figures are raw estimates, as edits and the ledger have them.
"""

from operator import add, sub
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.rides import Rides
from prunecli.context.state import Context

_KINDS = {
    "user": "user",
    "command": "results",
    "assistant": "assistant",
    "result": "results",
    "summary": "notes",
}


class Sums(NamedTuple):
    """Raw tokens of items, by what they are, as shown; of `prunable` results `pruned` are edited or dropped.

    Notes are summaries and memos; `memos` of them began later than the item did and are not carried with it.
    `base` is what makes up the carried tokens together with what is shown, whatever the number of requests.
    """

    user: int = 0
    assistant: int = 0
    results: int = 0
    notes: int = 0
    original: int = 0
    base: int = 0
    prunable: int = 0
    pruned: int = 0
    memos: int = 0

    @property
    def shown(self) -> int:
        """Everything of it that the next request holds."""
        return self.user + self.assistant + self.results + self.notes

    def carried(self, requests: int) -> int:
        """Tokens, each counted as often as it was sent in so many requests."""
        return self.base + (self.shown - self.memos) * requests

    def plus(self, other: "Sums") -> "Sums":
        """Both together."""
        return Sums(*map(add, self, other))

    def minus(self, other: "Sums") -> "Sums":
        """This without the other."""
        return Sums(*map(sub, self, other))


NOTHING = Sums()


def measured(context: Context, rides: Rides, item: Entry) -> Sums:
    """The sums of an item of the context: a user message, a summary, or an exchange by its head."""
    tally = context.tally
    parts = item.exchange.entries if item.exchange else (item,)
    hidden = item.exchange is not None and context.dropped(item.exchange)
    shown = {"user": 0, "assistant": 0, "results": 0, "notes": 0}
    original = carried = pruned = prunable = 0
    for entry in parts:
        edit = context.text_edit(entry.seq)
        tokens = tally.tokens(entry)
        original += tokens
        carried += rides.carried(entry, tally)
        if entry.prunable:
            prunable += 1
            pruned += hidden or edit is not None
        if not hidden:
            typed = sum(map(tally.counter.count, entry.typed)) if entry.kind == "command" else 0
            shown["user"] += typed
            shown[_KINDS[entry.kind]] += (tally.shown_tokens(entry, edit) if edit else tokens) - typed
    base = carried - sum(shown.values()) * rides.requests
    memos = 0
    if item.exchange and (found := context.memos_at(item.exchange)):
        memos = sum(tally.counter.count(memo.text or "") for memo in found)
        shown["notes"] += memos
    return Sums(**shown, original=original, base=base, prunable=prunable, pruned=pruned, memos=memos)
