"""The strategies' read-only view of the fold, with earlier proposals applied.

A view is made for each call and must not be kept.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from operator import attrgetter

from prunecli.context.cut import head
from prunecli.context.economics import Market, cold
from prunecli.context.exchange import Entry, Exchange, call_argument
from prunecli.context.expectations import Expectations
from prunecli.context.inputs import by_target
from prunecli.context.memo import Item, Measures, Memo, Value
from prunecli.context.state import RESTORED, Context
from prunecli.context.todo_list import CURRENT
from prunecli.context.tokens import Amount, total
from prunecli.model.edits import Edit
from prunecli.util.frozen import frozen

NEVER = 1 << 62
"""A seq greater than that of every entry."""

_ARGUMENT_CHARS = 80
_SEQ = attrgetter("seq")


@frozen
class View:
    """The working context as a strategy may read it.

    `window` is in tokens. `forced` (`/prune`): minimums count as zero and soft ratios as reached. `recall` adds
    handles to placeholders. `leaves_out`: a prune itself leaves out later thinking that it invalidates, instead of
    the endpoint dropping it. `pending` are earlier strategies' edits by target; all methods treat them as applied.
    `memo` replaces the context's memo. `market` has the time and the prices; without a time, no strategy waits for a
    cold cache. `expectations` are the fitted numbers, None if they were not loaded. `losing()` tells whether pruning
    has cost more than it saved in this session. `brief`: only the edits are needed, so a strategy without edits need
    not compute a note.
    """

    context: Context
    window: int
    forced: bool = False
    recall: bool = False
    leaves_out: bool = False
    pending: dict[int, Edit] = field(default_factory=dict)
    memo: Memo | None = None
    market: Market = Market()
    expectations: Expectations | None = None
    losing: Callable[[], bool] = bool
    brief: bool = False

    def after(self, edits: Sequence[Edit]) -> "View":
        """Return the view with these edits applied."""
        return replace(self, pending=by_target(edits, self.pending, self.context.text_edit))

    @property
    def estimator(self) -> str:
        """The name of the token counter in use."""
        return self.context.counts.counter.name

    @property
    def results(self) -> Sequence[Entry]:
        """The tool results and command outputs since the compaction boundary that are shown whole, oldest first."""
        live = self.context.live_results
        if not self.pending:
            return live
        return [
            entry for entry in live if entry.seq not in self.pending and not self._dropping(entry.exchange)
        ]

    def results_before(self, seq: int) -> Sequence[Entry]:
        results = self.results
        return results[: bisect_left(results, seq, key=_SEQ)]

    @property
    def uncleared(self) -> Sequence[Entry]:
        """`results`, plus those that are trimmed."""
        trimmed = self.context.trimmed_results
        found = (
            sorted([*self.context.live_results, *trimmed], key=_SEQ) if trimmed else self.context.live_results
        )
        if not self.pending:
            return found
        edits = ((entry, self.text_edit(entry)) for entry in found if self.shows(entry))
        return [entry for entry, edit in edits if edit is None or edit.kind == "trim"]

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The exchanges since the compaction boundary that are not dropped, oldest first."""
        live = self.context.live_exchanges
        return [exchange for exchange in live if not self._dropping(exchange)] if self.pending else live

    def shows(self, item: Entry | Exchange) -> bool:
        """Return whether an item is after the compaction boundary and not dropped; it may be cleared or trimmed."""
        exchange = item if isinstance(item, Exchange) else item.exchange
        return (exchange.seq if exchange else item.seq) > self.context.boundary and self.keeps(exchange)

    def keeps(self, exchange: Exchange | None) -> bool:
        """Return whether an exchange, if there is one, is not dropped."""
        return not exchange or not (self.context.dropped(exchange) or self._dropping(exchange))

    def live(self, item: Entry | Exchange) -> bool:
        """Return whether the original is shown: not dropped, cleared, trimmed or repaired."""
        return self.shows(item) and (isinstance(item, Exchange) or self.text_edit(item) is None)

    def measured(self, key: Hashable, make: Callable[[Item], Value]) -> Measures[Item, Value]:
        """Return the value of `make` for each result or exchange, cached until a record touches it.

        The value may depend on the item with its edits and locks, on recall and window, on the token counter, and on
        anything named in the key. Do not keep the result longer than the view.
        """
        return self._memo.measured(self.context, self.pending, self._key(key), make)

    def kept(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the object under this key until a compaction or rewind, made on first use.

        Use this for lasting decisions, and for answers that must not be requested twice.
        """
        return self._memo.kept(self._key(key), make)

    @property
    def _memo(self) -> Memo:
        return self.context.memo if self.memo is None else self.memo

    def _key(self, key: Hashable) -> Hashable:
        shelter = self._ends_shelter, self._ends_shelter and self.forced
        return key, self.recall, self.window, self.context.counts.factor, shelter

    @property
    def _ends_shelter(self) -> bool:
        """Whether what an undo restored may be pruned again: by the user, or because the cache is cold."""
        if not self.context.sheltered:
            return False
        return self.forced or (self.market.now is not None and bool(cold(self.context, self.market)))

    def _why_locked(self, seq: int) -> str:
        why = self.context.locked(seq)
        if why == RESTORED and self._ends_shelter and (self.forced or not self.context.spares(seq)):
            return ""
        return why

    @property
    def first_user(self) -> int:
        """The seq of the session's first user message, even if compacted; NEVER if there is none."""
        entries = self.context.entries.values()
        return next((entry.seq for entry in entries if entry.opens_turn), NEVER)

    def exchange_start(self, n: int) -> int:
        """Return the seq of the n-th live exchange from the end; NEVER for n <= 0, -1 if there are fewer."""
        if n <= 0:
            return NEVER
        for exchange in reversed(self.context.live_exchanges):
            n -= not self._dropping(exchange)
            if n == 0:
                return exchange.seq
        return -1

    def turn_start(self, n: int) -> int:
        """Return the seq of the user message n user turns from the end; NEVER for n = 0, -1 if there are fewer."""
        turns = self.context.user_turns
        if n <= 0:
            return NEVER
        return turns[-n] if n <= len(turns) else -1

    def locked(self, entry: Entry | Exchange) -> str:
        """Return why an entry can't be changed now (in progress, pinned, …), or "".

        The output of a `!cmd` is in progress until the model has answered it.
        """
        context = self.context
        if isinstance(entry, Exchange):
            seqs = [one.seq for one in entry.entries]
            if context.todo is not None and context.todo.exchange is entry:
                return next((why for seq in seqs if (why := self._why_locked(seq))), CURRENT)
            return next((why for seq in seqs if (why := self._why_locked(seq))), "")
        if entry.kind == "command" and self.in_progress(entry):
            return "in progress"
        home = entry.exchange.seq if entry.exchange else entry.seq
        return self._why_locked(entry.seq) or (self._why_locked(home) if home != entry.seq else "")

    def in_progress(self, item: Entry | Exchange) -> bool:
        """Return whether the model has not yet answered this item, pinned or not."""
        context = self.context
        if isinstance(item, Entry) and item.kind == "command":
            return not (context.exchanges and context.exchanges[-1].seq > item.seq)
        exchange = item if isinstance(item, Exchange) else item.exchange
        return exchange is not None and exchange is context.in_progress

    def tokens(self, entry: Entry) -> int:
        """Return the raw estimate of the entry's original."""
        return self.context.counts.tokens(entry)

    def told(self, raw: int) -> int:
        """Convert raw tokens to the endpoint's count, for the user and the model to read."""
        return self.context.counts.scale.tokens(raw)

    def told_of(self, entry: Entry) -> int:
        """Return the tokens of the entry's original as the endpoint counts them."""
        counts = self.context.counts
        return counts.scale.tokens(*counts.amount(entry))

    def about(self, raw: int, entry: Entry) -> int:
        """Convert an entry's raw tokens, images included, to the count of the model's family.

        This is for placeholders, which must not depend on the reports received so far.
        """
        images = min(raw, entry.image_tokens)
        return round(self.context.counts.factor * (raw - images)) + images

    def shown_tokens(self, exchange: Exchange) -> int:
        """Return the raw estimate of an exchange's current content."""
        counts, pending = self.context.counts, self.pending
        return sum(
            counts.shown_tokens(entry, pending.get(entry.seq) or self.context.text_edit(entry.seq))
            for entry in exchange.entries
        )

    def shown_amount(self, exchange: Exchange) -> Amount:
        """Return the amount of an exchange's current content."""
        counts, pending = self.context.counts, self.pending
        return total(
            counts.shown_amount(entry, pending.get(entry.seq) or self.context.text_edit(entry.seq))
            for entry in exchange.entries
        )

    def count(self, text: str) -> int:
        """Return the raw estimate of the text."""
        return self.context.counts.counter.count(text)

    def text_edit(self, entry: Entry) -> Edit | None:
        """Return the edit that replaces the entry's text; a pending one comes first."""
        pending = self.pending.get(entry.seq)
        return pending if pending and pending.text is not None else self.context.text_edit(entry.seq)

    def shown_chars(self, entry: Entry) -> int:
        """Return the characters of a result as shown now."""
        edit = self.text_edit(entry)
        return entry.chars if edit is None else len(edit.text or "")

    def total_chars(self, image_chars: int) -> int:
        """Return the characters of all messages, without system prompt and tools. Each image counts as
        `image_chars`."""
        counts, context = self.context.counts, self.context
        length = counts.length
        total = length.chars + image_chars * length.images
        for seq, edit in self.pending.items():
            entry = context.entries[seq]
            dropping = self._dropping(entry.exchange)
            if edit.text is None and not dropping:
                continue
            parts = entry.exchange.entries if entry.exchange and edit.kind == "drop" else [entry]
            for part in parts:
                if dropping and edit.kind != "drop":
                    continue  # dropped with its exchange
                current = context.text_edit(part.seq)
                total -= counts.shown_chars(part, current)
                total -= 0 if current else image_chars * part.images
                total += 0 if dropping else counts.shown_chars(part, edit)
        return total

    @property
    def fixed_tokens(self) -> int:
        """The raw estimate of system prompt, tools and user messages, which no strategy can remove."""
        counts, context = self.context.counts, self.context
        total = counts.fixed_tokens
        for seq, edit in self.pending.items():
            if edit.text is not None and (entry := context.entries[seq]).exchange is None:
                total += counts.shown_tokens(entry, edit) - counts.shown_tokens(entry, context.text_edit(seq))
        return total

    # Edits ---------------------------------------------------------------------------------------------------

    def replaced(self, kind: str, entry: Entry, text: str) -> Edit | None:
        """Return a clear or trim of a result, or None if it saves no tokens."""
        before = self.context.counts.shown_tokens(entry, self.text_edit(entry))
        use = entry.call.id if entry.call and entry.call.id else None
        after = self.context.counts.shown_tokens(entry, Edit("clear", entry.seq, use, text))
        if after >= before:
            return None
        return Edit("trim" if kind == "trim" else "clear", entry.seq, use, text, before, after)

    def drop(self, exchange: Exchange) -> Edit:
        return Edit("drop", exchange.seq, None, None, self.shown_tokens(exchange), 0)

    def drop_unless_locked(self, exchange: Exchange) -> Edit | None:
        """Return the edit that drops an exchange; None if it is locked or not sent."""
        return self.drop(exchange) if exchange.head.is_sent and not self.locked(exchange) else None

    def forbids(self, edit: Edit) -> str:
        """Return why no strategy may make this edit now, or ""."""
        entry = self.context.entries.get(edit.seq)
        if entry is None or edit.kind not in ("drop", "clear", "trim", "cut") or not entry.takes(edit):
            return "a strategy cannot edit this entry"
        target = entry.exchange if edit.kind == "drop" and entry.exchange else entry
        if not self.shows(target):
            return "not in the context"
        return self.locked(target)

    def keeping_thinking(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Return the edits, except a drop that would leave the open tool loop without its first thinking.

        With thinking enabled, the first assistant message with calls in that loop must begin with thinking. Costs
        O(drops).
        """
        context, last = self.context, self.context.in_progress
        dropped = {edit.seq for edit in edits if edit.kind == "drop"}
        if last is None or not dropped:
            return tuple(edits)
        turns, live = context.user_turns, context.live_exchanges
        turn = bisect_left(turns, last.seq)
        at = bisect_left(live, turns[turn - 1] if turn else -1, key=lambda exchange: exchange.seq)
        gone: list[Exchange] = []
        while at < len(live) and (
            live[at].seq in dropped or not live[at].head.is_sent or self._dropping(live[at])
        ):
            gone.append(live[at])
            at += 1
        if at == len(live) or live[at].begins_with_thinking or not live[at].calls:
            return tuple(edits)
        needed = next(
            (one.seq for one in reversed(gone) if one.begins_with_thinking and one.seq in dropped), -1
        )
        return tuple(edit for edit in edits if edit.seq != needed)

    def placeholder(self, entry: Entry, what: str) -> str:
        """Return a placeholder `[what | tool argument]`, with a handle for recall if that tool is enabled."""
        call = (entry.origin or entry).call
        argument = call_argument(call.input) if call else None
        shown = f' {argument[0]}="{head(argument[1], _ARGUMENT_CHARS)}"' if argument else ""
        handle = f" | recall {(entry.origin or entry).seq}" if self.recall else ""
        return f"[{what} | {entry.tool_name}{shown}{handle}]"

    def with_handle(self, entry: Entry, text: str) -> str:
        """Return a replacement with a handle for recall, if that tool is enabled.

        The handle is inside the bracket of a placeholder, otherwise on a last line.
        """
        if not self.recall:
            return text
        seq = (entry.origin or entry).seq
        if text.startswith("[") and text.endswith("]") and "\n" not in text:
            return f"{text[:-1]} | recall {seq}]"
        return f"{text}\n[recall {seq} for the full text]"

    def _dropping(self, exchange: Exchange | None) -> bool:
        edit = self.pending.get(exchange.seq) if exchange else None
        return edit is not None and edit.kind == "drop"
