"""The model-directed prune: plans a `prun` call and turns the plan into edits.

A plan is made while the call executes and is stored in the details of its result. Exactly this plan is applied before
the next request.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from prunecli.context import render
from prunecli.context.cut import head
from prunecli.context.exchange import Entry, Exchange, call_argument
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
    `message` the reply to the model. `results` are the results that are cleared while their calls stay. An empty plan
    removes nothing, and its message gives the reason.
    """

    exchanges: tuple[int, ...]
    tokens: int
    memo: str | None
    message: str
    results: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.exchanges or self.results)

    def to_json(self) -> dict[str, Json]:
        """Return the plan as stored in a ToolResult's details under "prun"."""
        results: dict[str, Json] = {"results": list(self.results)} if self.results else {}
        return {"exchanges": list(self.exchanges), "tokens": self.tokens, "memo": self.memo, **results}

    @staticmethod
    def from_json(value: Json) -> "PrunPlan":
        """Return the plan recorded in a ToolResult's details; an empty one if it is malformed."""
        match value:
            case {"exchanges": list(seqs), "tokens": int(tokens)} if all(type(seq) is int for seq in seqs):
                memo, found = value.get("memo"), value.get("results")
                results = tuple(seq for seq in found if type(seq) is int) if isinstance(found, list) else ()
                return PrunPlan(tuple(seqs), tokens, memo if isinstance(memo, str) else None, "", results)
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
    """Return the edits of a plan: the memos, a drop for each exchange that still exists, and a clear for each result
    that is still shown."""
    chosen = [exchange for exchange in view.exchanges if exchange.seq in set(plan.exchanges)]
    drops = [view.drop(exchange) for exchange in chosen]
    wanted = set(plan.results)
    clears = filter(None, [cleared(view, entry) for entry in view.uncleared if entry.seq in wanted])
    return (*_memos(view, plan.memo, chosen, copies), *drops, *clears)


def cleared(view: View, entry: Entry) -> Edit | None:
    """Return the edit that clears a result; None if its placeholder would not be shorter."""
    return view.replaced(
        "clear", entry, view.placeholder(entry, f"output pruned — ~{view.told_of(entry):,} tokens")
    )


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


# By name -----------------------------------------------------------------------------------------------------

_LIST_TOKENS = 900
"""Maximum raw tokens of a list of entries, a little less than the endpoint's thousand."""
_ABOUT_CHARS = 60
_RANGE = re.compile(r"(\d{1,15})(?:\s*-\s*(\d{1,15}))?")


def seqs_in(view: View, text: str) -> list[int]:
    """Return the entries that a text such as "12-20, 25" names, oldest first. Raises ValueError with the reason."""
    known, found = view.context.entries, set[int]()
    for word in filter(None, re.split(r"\s*,\s*", text.strip())):
        match = _RANGE.fullmatch(word)
        if match is None:
            raise ValueError(f'entries is a list such as "12-20, 25", not {text[:40]!r}')
        first, last = int(match[1]), int(match[2] or match[1])
        there = [seq for seq in known if first <= seq <= last]
        if not there:
            raise ValueError(f"{word} is no entry of this session")
        found.update(there)
    if not found:
        raise ValueError('entries is a list such as "12-20, 25"')
    return sorted(found)


def plan_entries(
    view: View,
    seqs: Sequence[int],
    memo: str | None,
    *,
    copies: MemoCopies = "once",
    earlier: Sequence[PrunPlan] = (),
) -> PrunPlan:
    """Plan a call that names entries. An answer goes with its results; a result alone is cleared, and its call stays.

    A memo stands in place of whole exchanges, so with one a result stands for its exchange.
    """
    taken = {seq for plan in earlier for seq in (*plan.exchanges, *plan.results)}
    exchanges, results, kept = dict[int, Exchange](), list[Entry](), dict[str, list[int]]()
    for seq in seqs:
        entry = view.context.entries[seq]
        exchange = entry.exchange if entry.kind == "assistant" or memo is not None else None
        if exchange and exchange.seq in exchanges:
            continue
        home = entry.exchange.seq if entry.exchange else seq
        if home in exchanges or {seq, home} & taken:
            continue
        if why := _stays(view, entry, exchange):
            kept.setdefault(why, []).append(seq)
        elif exchange:
            exchanges[exchange.seq] = exchange
        else:
            results.append(entry)
    chosen = _keeping_thinking(view, list(exchanges.values()), taken)
    clears = [edit for entry in results if (edit := cleared(view, entry))]
    counts, cost = view.context.counts, _memo_cost(view, memo, chosen, copies)
    freed = total(map(view.shown_amount, chosen)).plus(counts.saved_by(clears, view.context.entries))
    net = counts.scale.tokens(*freed.minus(cost))
    said = "; ".join(f"{_numbers(found)} {why}" for why, found in kept.items())
    if net <= 0:
        return PrunPlan((), 0, memo, f"Nothing to prune: {said or 'this would free no tokens'}.")
    cleared_seqs = tuple(edit.seq for edit in clears)
    parts = []
    if chosen:
        many = f"{len(chosen)} exchange{'s' * (len(chosen) != 1)}"
        parts.append(f"remove {many} (entries {entry_ranges(view, chosen)})")
    if cleared_seqs:
        parts.append(
            f"clear {len(cleared_seqs)} result{'s' * (len(cleared_seqs) != 1)} ({_numbers(cleared_seqs)})"
        )
    message = f"Will {' and '.join(parts)}, ~{net:,} tokens, before the next turn."
    message += f" Not pruned: {said}." if said else ""
    removed = sum(map(view.shown_tokens, chosen)) + sum(edit.tokens_saved for edit in clears) - cost.raw
    return PrunPlan(tuple(one.seq for one in chosen), removed, memo, message, cleared_seqs)


def _stays(view: View, entry: Entry, exchange: Exchange | None) -> str:
    """Return why a named entry is not pruned, or ""."""
    if entry.kind in ("user", "summary"):
        return "has the user's words" if entry.kind == "user" else "is a summary"
    if not view.shows(exchange or entry):
        return "is not in the context"
    if why := view.locked(exchange or entry):
        return f"is {why}" if why != "in progress" else "is not answered yet"
    if exchange is None and view.text_edit(entry) is not None:
        return "is pruned already"
    return ""


def _numbers(seqs: Sequence[int]) -> str:
    return ", ".join(map(str, seqs[:20])) + (f" and {len(seqs) - 20} more" if len(seqs) > 20 else "")


def removable(view: View) -> list[Exchange]:
    """Return the exchanges that a call could remove."""
    return [one for one in view.exchanges if one.head.is_sent and not view.locked(one)]


def listed(view: View) -> str:
    """Return the exchanges that a call could remove: entries, what they did, and tokens. If there are too many for a
    thousand tokens, the largest."""
    told = view.context.counts.scale.tokens
    free = removable(view)
    sizes = {one.seq: told(*view.shown_amount(one)) for one in free}
    lines, left = dict[int, str](), _LIST_TOKENS
    for exchange in sorted(free, key=lambda one: -sizes[one.seq]):
        line = f"{entry_ranges(view, [exchange])}: {_about(exchange)} ~{sizes[exchange.seq]:,}"
        left -= view.count(line) + 1
        if left < 0:
            break
        lines[exchange.seq] = line
    others = [size for seq, size in sizes.items() if seq not in lines]
    rest = [f"{len(others)} smaller ones: ~{sum(others):,}"] if others else []
    if not lines:
        return "Nothing to prune: no finished exchange can be removed."
    return "\n".join(["entries: what ~tokens", *(lines[seq] for seq in sorted(lines)), *rest])


def _about(exchange: Exchange) -> str:
    said = []
    for call in exchange.calls:
        argument = call_argument(call.input)
        said.append(f"{call.name} {argument[1]}" if argument else call.name)
    return head(" ".join(", ".join(said).split()), _ABOUT_CHARS) or "your answer"
