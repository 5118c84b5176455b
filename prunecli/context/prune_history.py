"""The effect and cost of each prune and undo: the figures of `/prune-stats` and of the log.

The fold updates them, in O(1) for most records, so the same records always give the same figures. A prune breaks the
prompt cache at its first edit: everything after it is written again. That cost is estimated until the endpoint has
reported the next request, then measured.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from prunecli.context.cache import LEAST_CACHED
from prunecli.context.counting import Absent, clearing_of
from prunecli.context.exchange import Entry
from prunecli.context.reads import Lines, changes_files, file_of, lines_shown, shows_file
from prunecli.context.tokens import NOTHING, RANGE, Amount, Scale, total
from prunecli.model import requests
from prunecli.model.codec import canonical
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import ToolUse, Usage, plain_text
from prunecli.model.requests import TTL_MS, own_name
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.context.item_order import Fold

_MOST_NAMED = 3
_LEAST_DRIFTING = 200
"""Tokens of a prune from which rounding does not look like another scale."""

_Response: TypeAlias = AssistantMessage | AttemptBilled | CompactionApplied


@frozen
class PruneStats:
    """One prune, or one undo (`undone`).

    Tokens before and after are estimates of the whole next request. `rewritten`: tokens written to the prompt cache
    again because of the prune, an estimate until `measured`. `withheld`: the amount that it added to the withheld
    content, negative for an undo; `shown`: the same for people, at the scale of that moment, and never computed
    again. `idle_ms`: time from the last response to the next
    request, None if nothing was cached before. `rereads`: results that fetched the pruned content again, and entries
    that a `/restore` showed again, each counted once. `reread_tokens`: the tokens that these brought back.
    """

    seq: int
    timestamp: int
    source: str
    strategy: str
    reason: str
    tokens_before: int
    tokens_after: int
    undone: bool = False
    rewritten: int = 0
    measured: bool = False
    model: str = ""
    caches: bool = True
    idle_ms: int | None = None
    rereads: tuple[int, ...] = ()
    reread_tokens: int = 0
    withheld: Amount = NOTHING
    shown: int = 0

    @property
    def removed(self) -> int:
        """The tokens removed from the context; negative for an undo."""
        return self.tokens_before - self.tokens_after

    @property
    def share(self) -> float:
        """The share removed from the context, 0 to 1; below 0 for an undo."""
        return (self.tokens_before - self.tokens_after) / self.tokens_before if self.tokens_before else 0.0

    def cache_cost(self, price: Callable[[str, Usage], float], ttl_ms: int) -> tuple[int, float]:
        """Return the tokens written again because of the prune, and the extra cost in USD over reading them.

        Both are 0 if the endpoint reports no cache, or if the cache had expired after `ttl_ms`. `price` gives the USD
        cost of a model's usage.
        """
        if not self.caches or self.idle_ms is None or self.idle_ms > ttl_ms:
            return 0, 0.0
        rest = max(0, self.tokens_after - self.rewritten)  # prices may depend on the length of the prompt
        written = price(
            self.model,
            Usage(cache_read_input_tokens=rest, cache_creation_input_tokens=self.rewritten),
        )
        read = price(self.model, Usage(cache_read_input_tokens=rest + self.rewritten))
        return self.rewritten, max(0.0, written - read)


class Fetch(NamedTuple):
    """A result that shows pruned or held-back content again, or a `/restore` of it (`answer` -1).

    `answer` requested it by one of its `calls`; `raw` is the raw tokens that came back.
    """

    seq: int
    answer: int
    calls: int
    raw: int


class Lacked(NamedTuple):
    """What the request of one response lacked, in the endpoint's tokens as counted then.

    `pruned`: by edits. `cleared`: by the endpoint itself. `unsent`: parts of long results; `fresh`: what of all this
    would have been new in it. `again`: content that it showed because it had to be fetched again; `again_fresh`: for
    the first time. `prunes`: the prunes and undos since the request before; `rewritten`: the tokens that the endpoint
    wrote to its cache again because of them. `cold`: the endpoint had nothing of the conversation in its cache.
    """

    pruned: int = 0
    cleared: int = 0
    unsent: int = 0
    fresh: int = 0
    again: int = 0
    again_fresh: int = 0
    prunes: tuple[int, ...] = ()
    rewritten: int = 0
    cold: bool = False


class PruneHistory:
    """The rows so far, by the seq of their record, what each request lacked, by the seq of its response, and the
    fetches of withheld content.

    `unpinned`: the pins that manual prunes removed, by prune.
    """

    def __init__(self) -> None:
        self.rows: dict[int, PruneStats] = {}
        self.lacked: dict[int, Lacked] = {}
        self.fetches: list[Fetch] = []
        self._fetched_by: dict[int, int] = {}
        self._asked: Absent | None = None
        self._asked_at = 0
        self._answered = Absent()
        self._head_end: int | None = None
        self.unpinned: dict[int, tuple[int, ...]] = {}
        self._unpinning: tuple[int, tuple[int, ...]] = -1, ()
        self._held: dict[int, int] = {}
        self._pending: list[int] = []
        self._reported = 0
        self._before = self._cached = 0
        self._unsent: set[int] = set()
        self._heads: list[int] = []
        self._withheld = NOTHING
        self._out: set[int] = set()
        self._calls: dict[Hashable, set[int]] = {}
        self._reads: dict[str, dict[int, Lines]] = {}  # by file: the lines of pruned results
        self._rests: dict[str, dict[int, Lines]] = {}  # by file: the lines that results held back

    def before(self, record: Record, context: "Fold") -> None:
        """Prepare for a record that is about to be folded."""
        match record.event:
            case PrunApplied() | PrunReverted(requires=()):
                self._before = context.counts.context_tokens
                self._heads = _heads_of(record.event, context)
                self._withheld = context.counts.withheld_of(self._heads)
                self._cached = context.cache.cached_now()
            case RequestSent():
                self._asked, self._asked_at = context.counts.absent(self._fetched_by), record.timestamp
            case (
                AssistantMessage(usage=usage) | CompactionApplied(usage=usage) | AttemptBilled(usage=usage)
            ) if usage.prompt_tokens and getattr(record.event, "reason", "") != "task":
                self._responded(record, record.event, context)
            case _:
                pass

    def after(self, record: Record, context: "Fold") -> None:
        """Update for a record that was just folded."""
        match record.event:
            case RequestSent():
                self._sent(record, context)
            case AssistantMessage(usage=usage) | AttemptBilled(usage=usage, reason="cut" | "stopped") if (
                usage.prompt_tokens
            ):
                self._reported = usage.prompt_tokens
            case ToolResult(is_error=False) if record.seq in context.entries:
                self._came(context.entries[record.seq], context)
            case PrunApplied(source, edits, strategy) as event:
                said = (source, strategy or "", event.reason)
                self._note(record, context, said)
                if self._unpinning[0] == record.seq - 1 and source == "user" and strategy is None:
                    self.unpinned[record.seq] = self._unpinning[1]
                for edit in edits:
                    if edit.kind == "cut":
                        self._out.add(edit.seq)
                    elif edit.kind in ("clear", "trim", "drop") and context.in_force(record.seq, edit):
                        self._take(context.entries[edit.seq])
            case PrunReverted(seqs, ()):
                said = ("user", "", revert_in_words(seqs, self.rows))
                self._note(record, context, said, undone=True)
            case Pinned(seqs, pinned=False):
                self._unpinning = record.seq, seqs
            case CompactionApplied() | PrunReverted() | Rewound() | SettingChanged(requests.PREAMBLE):
                self._reported = 0  # these records break the cache themselves
                self._answered = context.counts.absent(self._fetched_by)
            case UserMessage(attached=Attached()) if record.seq in context.entries:
                self._came(context.entries[record.seq], context)
            case UserMessage(restores=restores) if restores:
                self._fetch(record.seq, set(restores), set(restores), context)
            case _:
                pass

    # Cache writes --------------------------------------------------------------------------------------------

    def _note(
        self, record: Record, context: "Fold", said: tuple[str, str, str], *, undone: bool = False
    ) -> None:
        before, after = self._before, context.counts.context_tokens
        if undone:
            self._forget_moot(context)
        withheld = context.counts.withheld_of(self._heads).minus(self._withheld)
        behind, last = context.items[context.cache.cached_now() : self._cached], context.last_response
        self.rows[record.seq] = PruneStats(
            record.seq,
            record.timestamp,
            *said,
            before,
            after,
            undone=undone,
            rewritten=context.counts.tokens_of(behind),
            model=context.last_model,
            caches=context.caches,
            idle_ms=None if last is None else record.timestamp - last,
            withheld=withheld,
            shown=self._shown(record.event, context.counts.scale.tokens(*withheld), context),
        )
        self._pending.append(record.seq)
        if not undone:
            self._unsent.add(record.seq)

    def _shown(self, event: Event, tokens: int, context: "Fold") -> int:
        """Return the amount of a prune or undo for people. An undo gives back what its prunes were shown as."""
        if isinstance(event, PrunApplied) and event.shown_tokens is not None:
            return event.shown_tokens
        rows = [self.rows[seq] for seq in getattr(event, "seqs", ()) if seq in self.rows]
        now = sum(context.counts.scale.tokens(*row.withheld) for row in rows)
        return round(tokens * sum(row.shown for row in rows) / now) if now else tokens

    def shown_of(self, withheld: Amount, scale: Scale) -> int:
        """Return what prunes withhold as they were shown: the sum of all, or after a summary or rewind a share."""
        rows, tokens = self.rows.values(), scale.tokens(*withheld)
        shown = sum(row.shown for row in rows)
        if total(row.withheld for row in rows) == withheld:
            return shown
        now = sum(scale.tokens(*row.withheld) for row in rows)
        return round(tokens * shown / now) if now > 0 else tokens

    def drift(self, scale: Scale) -> float:
        """Return how much larger than now some prune was shown, at least 1.

        What is scanned is shown as large, so that no prune is larger than its whole. No prune or undo changes this.
        """
        sizes = ((row.shown, scale.tokens(*row.withheld)) for row in self.rows.values() if not row.undone)
        return min(RANGE, max([1.0, *(shown / now for shown, now in sizes if now >= _LEAST_DRIFTING)]))

    def shown_edit(self, prun: int, edit: Edit, edits: Sequence[Edit]) -> int | None:
        """Return the part of a prune's shown amount that one of its edits has; None for a prune not folded."""
        row, whole = self.rows.get(prun), sum(one.tokens_saved for one in edits)
        return None if row is None or whole <= 0 else round(row.shown * edit.tokens_saved / whole)

    def _forget_moot(self, context: "Fold") -> None:
        """Make prunes free that were taken back before any request contained them."""
        for seq in sorted(self._unsent):
            prun = context.pruns.get(seq)
            edits = prun.event.edits if prun and isinstance(prun.event, PrunApplied) else ()
            if not any(context.in_force(seq, edit) for edit in edits):
                self._unsent.discard(seq)
                self.rows[seq] = replace(self.rows[seq], rewritten=0)

    def _sent(self, record: Record, context: "Fold") -> None:
        self._unsent.clear()
        last = context.last_response
        for seq in self._pending:
            self.rows[seq] = replace(
                self.rows[seq], idle_ms=None if last is None else record.timestamp - last
            )

    def _responded(self, record: Record, event: _Response, context: "Fold") -> None:
        """Record what the request of a response lacked."""
        counts, prunes = context.counts, tuple(self._pending)
        is_retried = isinstance(event, AttemptBilled) and event.reason == "cut"
        now, before = self._asked or counts.absent(self._fetched_by), self._answered
        self._asked, self._answered = now if is_retried else None, now
        read = event.usage.cache_read_input_tokens
        cold = read is not None and _is_cold(context, event.model, self._asked_at or record.timestamp, read)
        fresh = max(0, now.unsent - before.unsent)
        if self._head_end is not None:  # behind a new summary, all of it would be new
            fresh = now.pruned + now.unsent - counts.absent_upto(self._head_end)
        self._head_end = event.head_end if isinstance(event, CompactionApplied) else None
        if prunes:
            self._measure(event, context, cold=cold)
        self.lacked[record.seq] = Lacked(
            max(0, now.pruned),
            clearing_of(getattr(event, "applied_edits", None)).tokens,
            now.unsent,
            max(0, fresh),
            now.again,
            max(0, now.again - before.again),
            prunes,
            sum(self.rows[seq].rewritten for seq in prunes),
            cold,
        )

    def _measure(self, event: _Response, context: "Fold", *, cold: bool) -> None:
        """Compare with the cache reads the endpoint reported.

        Tokens that were not read are split among the prunes since the last request, in proportion to their estimates.
        After a cold cache, they would have been written without prunes, too.
        """
        rows = [self.rows[seq] for seq in self._pending]
        read = event.usage.cache_read_input_tokens
        if read is None:
            found = [replace(row, caches=False) for row in rows]
        else:
            stayed = self._reported - sum(row.tokens_before - row.tokens_after for row in rows)
            missed = max(0, min(stayed, event.usage.prompt_tokens) - read)
            is_known = not cold and self._reported > 0 and context.last_model == event.model
            weights = [row.rewritten for row in rows]
            shares = _shared(missed if is_known and any(weights) else 0, weights)
            found = [
                replace(row, rewritten=part, measured=True) for row, part in zip(rows, shares, strict=True)
            ]
        self.rows.update((row.seq, row) for row in found)
        self._pending = []
        self._unsent.clear()

    # Re-reads ------------------------------------------------------------------------------------------------

    def _take(self, entry: Entry) -> None:
        """Record that a result, or an exchange with its results, is now withheld."""
        if entry.exchange and entry.kind == "assistant":
            self._out.add(entry.seq)
            for result in entry.exchange.results:
                self._take(result)
            return
        self._out.add(entry.seq)
        if entry.call is None or entry.is_error:
            return
        if entry.touches and (entry.touches.changes or entry.touches.is_nothing):
            return  # repeating such a call re-reads nothing; a recall names its entry
        if shows_file(entry):
            self._reads.setdefault(file_of(entry), {})[entry.seq] = lines_shown(entry)
        else:
            self._calls.setdefault(_same(entry.call), set()).add(entry.seq)

    def _came(self, entry: Entry, context: "Fold") -> None:
        """Record a new result, and the part of it that was held back."""
        if entry.call is None:
            return
        self._look(entry, entry.call, context)
        spilled = entry.spilled
        if spilled and spilled.tokens:
            self._held[entry.seq] = spilled.tokens
            if shows_file(entry):
                self._rests.setdefault(file_of(entry), {})[entry.seq] = _lines_held(entry, spilled)

    def _look(self, entry: Entry, call: ToolUse, context: "Fold") -> None:
        """Find withheld content that a new result shows again.

        After a file changes, its earlier content is outdated, and so are the results of searches and commands.
        """
        if not self._out and not self._held:
            return
        if changes_files(entry):
            for lines in (self._reads, self._rests):
                if file := file_of(entry):
                    lines.pop(file, None)
                else:
                    lines.clear()
            self._calls.clear()
            return
        self._fetch(entry.seq, *self._fetched(entry, call), context)

    def _fetch(self, by: int, sent: set[int], rests: set[int], context: "Fold") -> None:
        """Record that entry `by` shows the sent part of some entries again, a re-read for each prune that withholds
        one of them, and of others the part that was held back."""
        weights: dict[int, int] = {}
        for seq in sent & self._out:
            if (prun := _taken_by(context, seq)) >= 0:
                self._out.discard(seq)
                weights[prun] = weights.get(prun, 0) + _result_tokens(context, seq)
        held = [seq for seq in sorted(rests & self._held.keys()) if _is_shown(context, seq)]
        if not weights and not held:
            return
        entry, pruned = context.entries[by], sum(weights.values())
        restored = pruned + sum(self._held[seq] for seq in held)
        came = _result_tokens(context, by) if entry.kind == "result" else restored
        self._note_fetch(entry, came, weights, held)
        tokens = context.counts.scale.tokens(came if entry.kind == "result" else pruned)
        for (prun, _), part in zip(weights.items(), _shared(tokens, list(weights.values())), strict=True):
            row = self.rows[prun]
            rereads = (*row.rereads, by)
            self.rows[prun] = replace(row, rereads=rereads, reread_tokens=row.reread_tokens + part)

    def _note_fetch(self, entry: Entry, raw: int, weights: dict[int, int], held: list[int]) -> None:
        """Record what an entry fetched again, of these prunes and of these results' held-back parts."""
        asked = entry.exchange
        back = raw if weights else min(raw, sum(self._held[seq] for seq in held))
        answer, calls = (asked.seq, len(asked.calls)) if asked else (-1, 0)
        self.fetches.append(Fetch(entry.seq, answer, calls, back))
        self._fetched_by[entry.seq] = back
        for seq in held:
            self._held[seq] -= raw
            if self._held[seq] <= 0:
                del self._held[seq]

    def _fetched(self, entry: Entry, call: ToolUse) -> tuple[set[int], set[int]]:
        """Return the earlier results whose sent part this result shows again, withheld or not, and those of which it
        shows the part that was held back."""
        if own_name(call.name) == "recall":
            wanted = call.input.get("entry")
            found = {wanted} if isinstance(wanted, int) else set[int]()
            return found, found
        if shows_file(entry):
            file = file_of(entry)
            return _meeting(entry, self._reads.get(file)), _meeting(entry, self._rests.get(file))
        return self._calls.get(_same(call), set()) if self._calls else set(), set()


def _is_cold(context: "Fold", model: str, at: int, read: int) -> bool:
    """Return whether a request found nothing of the conversation in the cache, not even the system prompt.

    A system prompt that is too short to be stored says nothing; then the time does.
    """
    used, base = context.cache.last_use(model), context.counts.scale.base
    was_forgotten = not used or at - used > TTL_MS[context.cache.ttl or "5m"]
    return 2 * read < max(1, base) and (base >= LEAST_CACHED or was_forgotten)


def _lines_held(entry: Entry, spilled: Spilled) -> Lines:
    """Return the lines of a file that a read held back: those after the shown lines."""
    shown = lines_shown(entry)
    count = plain_text(entry.content).count("\n") + 1
    return replace(
        shown, first=shown.first + spilled.shown.count("\n"), last=max(shown.last, shown.first + count - 1)
    )


def _meeting(entry: Entry, taken: Mapping[int, Lines] | None) -> set[int]:
    """Return the results with some of the lines that a read shows."""
    if not taken:
        return set()
    lines = lines_shown(entry)
    return {seq for seq, others in taken.items() if lines.meets(others)}


def _same(call: ToolUse) -> Hashable:
    """Return a key shared by calls with the same tool and arguments."""
    return call.name, canonical(dict(call.input))


def _result_tokens(context: "Fold", seq: int) -> int:
    """Return the raw tokens of a result, from the log; 0 for anything else, since counting may take long."""
    entry = context.entries[seq]
    return context.counts.tokens(entry) if entry.kind == "result" else 0


def _heads_of(event: PrunApplied | PrunReverted, context: "Fold") -> list[int]:
    """Return the items that this event changes, each once."""
    seqs = [edit.seq for edit in event.edits] if isinstance(event, PrunApplied) else list(event.seqs)
    for seq in tuple(seqs) if isinstance(event, PrunReverted) else ():
        undone = context.pruns[seq].event if seq in context.pruns else None
        seqs += [edit.seq for edit in undone.edits] if isinstance(undone, PrunApplied) else []
    return list(dict.fromkeys(_head(context.entries[seq]) for seq in seqs if seq in context.entries))


def _head(entry: Entry) -> int:
    return entry.exchange.seq if entry.exchange else entry.seq


def _is_shown(context: "Fold", seq: int) -> bool:
    """Return whether an entry belongs to this branch, and is not compacted."""
    entry = context.entries.get(seq)
    return entry is not None and context.is_shown(_head(entry))


def _taken_by(context: "Fold", seq: int) -> int:
    """Return the newest prune that currently withholds an entry, -1 if there is none."""
    if not _is_shown(context, seq):
        return -1
    head = _head(context.entries[seq])
    stacks = (*context.edits_of(head), *context.edits_of(seq))
    kinds = ("clear", "trim", "drop", *(("cut",) if seq == head else ()))
    return max((prun for prun, edit in stacks if edit.kind in kinds), default=-1)


def _shared(total: int, weights: list[int]) -> list[int]:
    """Split a total in proportion to the weights. If every weight is 0, the first part gets all."""
    whole = sum(weights)
    ends = [total * sum(weights[: index + 1]) // whole if whole else total for index in range(len(weights))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def revert_in_words(seqs: Sequence[int], prunes: Collection[int]) -> str:
    """Return a few words for an undo of these prunes, or a restore of these entries in place."""
    undone = [seq for seq in seqs if seq in prunes]
    back = [seq for seq in seqs if seq not in prunes]
    found = f"undid {_named(undone, 'prune', 'prunes')}" if undone else ""
    restored = f"restored {_named(back, 'entry', 'entries')} in place" if back else ""
    return ", ".join(filter(None, (found, restored)))


def _named(seqs: Sequence[int], one: str, many: str) -> str:
    """Return records by number, or their count if there are more than three."""
    if len(seqs) > _MOST_NAMED:
        return f"{len(seqs)} {many}"
    return f"{one if len(seqs) == 1 else many} {', '.join(map(str, seqs))}"
