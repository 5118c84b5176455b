"""The model-directed prune: plans a `prun` call and turns the plan into edits.

A plan is made while the call executes and is stored in the details of its result. Exactly this plan is applied before
the next request.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from prunecli.context import render
from prunecli.context.exchange import Exchange
from prunecli.context.tokens import NOTHING, Amount, total
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

Order: TypeAlias = Literal["newest", "oldest"]
MemoCopies: TypeAlias = Literal["once", "each"]

MAX_MEMO_CHARS = 2_000


@frozen
class PrunPlan:
    """The plan of one prun call.

    `exchanges` are the seqs of the assistant messages, oldest first. `tokens` is the net gain in raw tokens,
    `message` the reply to the model. An empty plan removes nothing, and its message gives the reason.
    """

    exchanges: tuple[int, ...]
    tokens: int
    memo: str | None
    message: str

    def to_json(self) -> dict[str, Json]:
        """Return the plan as stored in a ToolResult's details under "prun"."""
        return {"exchanges": list(self.exchanges), "tokens": self.tokens, "memo": self.memo}

    @staticmethod
    def from_json(value: Json) -> "PrunPlan":
        """Return the plan recorded in a ToolResult's details; an empty one if it is malformed."""
        match value:
            case {"exchanges": list(seqs), "tokens": int(tokens)} if all(type(seq) is int for seq in seqs):
                memo = value.get("memo")
                return PrunPlan(tuple(seqs), tokens, memo if isinstance(memo, str) else None, "")
            case _:
                return PrunPlan((), 0, None, "")


def plan_prun(
    view: View,
    tokens: int,
    memo: str | None,
    *,
    order: Order = "newest",
    copies: MemoCopies = "once",
    earlier: Sequence[PrunPlan] = (),
) -> PrunPlan:
    """Plan a call for `tokens`, based on the current state and earlier calls of the same message.

    Takes whole exchanges from the newest (or oldest) on, skips pinned ones, and stops when their tokens, less the
    memo, reach `tokens`. If there are not enough, takes all that can be removed.
    """
    taken = {seq for plan in earlier for seq in plan.exchanges}
    free = [ex for ex in view.exchanges if ex.seq not in taken and not view.locked(ex) and ex.head.is_sent]
    told = view.context.counts.scale.tokens
    chosen: list[Exchange] = []
    freed = cost = NOTHING
    for exchange in reversed(free) if order == "newest" else free:
        if told(*freed.minus(cost)) >= tokens:
            break
        chosen.append(exchange)
        freed = freed.plus(view.shown_amount(exchange))
        cost = _memo_cost(view, memo, chosen, copies)
    kept = _keeping_thinking(view, chosen, taken)
    if len(kept) < len(chosen):
        chosen = kept
        freed, cost = total(map(view.shown_amount, chosen)), _memo_cost(view, memo, chosen, copies)
    if not chosen:
        return PrunPlan((), 0, memo, "Nothing to prune: no finished exchange can be removed.")
    net = told(*freed.minus(cost))
    if net <= 0:
        sizes = f"the memo takes ~{told(*cost):,} tokens, the exchanges ~{told(*freed):,}."
        return PrunPlan((), 0, memo, f"Nothing to prune: {sizes}")
    chosen.sort(key=lambda exchange: exchange.seq)
    count = f"{len(chosen)} exchange{'s' if len(chosen) > 1 else ''}"
    short = "" if net >= tokens else f" (everything that can be removed; {tokens:,} were asked for)"
    entries = entry_ranges(view, chosen)
    message = f"Will remove {count} (entries {entries}), ~{net:,} tokens, before the next turn{short}."
    removed = sum(map(view.shown_tokens, chosen)) - cost.raw
    return PrunPlan(tuple(exchange.seq for exchange in chosen), removed, memo, message)


def _keeping_thinking(view: View, chosen: Sequence[Exchange], taken: set[int]) -> list[Exchange]:
    """Return the chosen exchanges, except one whose thinking must begin the open tool loop."""
    before = view.after([view.drop(exchange) for exchange in view.exchanges if exchange.seq in taken])
    drops = before.keeping_thinking([before.drop(exchange) for exchange in chosen])
    stay = {edit.seq for edit in drops}
    return [exchange for exchange in chosen if exchange.seq in stay]


def plan_edits(view: View, plan: PrunPlan, *, copies: MemoCopies = "once") -> tuple[Edit, ...]:
    """Return the edits of a plan: the memos, and a drop for each exchange that still exists."""
    chosen = [exchange for exchange in view.exchanges if exchange.seq in set(plan.exchanges)]
    if not chosen:
        return ()
    drops = [view.drop(exchange) for exchange in chosen]
    return (*_memos(view, plan.memo, chosen, copies), *drops)


def entry_ranges(view: View, exchanges: Sequence[Exchange]) -> str:
    """Return the entries of these exchanges as ranges: `12-14,18-20` if another entry lies between.

    Records that are not entries (a tool's start, a request) do not split a range.
    """
    entries, position = view.context.entries, view.context.position
    places = {exchange.seq: position(exchange.seq) for exchange in exchanges}
    runs: list[tuple[int, int]] = []
    place = -1
    for seq in sorted(entry.seq for exchange in exchanges for entry in exchange.entries):
        apart = not runs or any(other in entries for other in range(runs[-1][1] + 1, seq))
        if apart or places.get(seq, place) > place + 1:
            runs.append((seq, seq))
        else:
            runs[-1] = (runs[-1][0], seq)
        place = places.get(seq, place)
    return ",".join(f"{a}-{b}" if a != b else f"{a}" for a, b in runs)


def _memos(view: View, memo: str | None, chosen: Sequence[Exchange], copies: MemoCopies) -> list[Edit]:
    if memo is None or not chosen:
        return []
    groups = [[exchange] for exchange in chosen] if copies == "each" else [list(chosen)]
    texts = [(group[0].seq, render.memo(memo, entry_ranges(view, group))) for group in groups]
    return [Edit("memo", seq, None, text, 0, view.count(text)) for seq, text in texts]


def _memo_cost(view: View, memo: str | None, chosen: list[Exchange], copies: MemoCopies) -> Amount:
    ordered = sorted(chosen, key=lambda exchange: exchange.seq)
    return Amount(sum(edit.tokens_after for edit in _memos(view, memo, ordered, copies)))
