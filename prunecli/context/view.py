"""What a strategy sees: a read-only view of the fold, with the proposals of strategies before it as applied.

Everything asked for is answered from an index of the fold, so that a strategy costs O(new entries). It is made
anew for each question and must not be kept.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prunecli.context.exchange import Entry, Exchange, call_argument
from prunecli.context.state import Context
from prunecli.model.edits import Edit

NEVER = 1 << 62
"""A seq after every entry."""

_ARGUMENT_CHARS = 80


@dataclass(frozen=True, slots=True)
class View:
    """The working context as a strategy may read it. `window` is in tokens; `forced` means that minimums count
    as zero and soft ratios as reached (`/prune`); `recall` adds handles to placeholders."""

    context: Context
    window: int
    forced: bool = False
    recall: bool = False
    pending: dict[int, Edit] = field(default_factory=dict)

    def after(self, edits: Sequence[Edit]) -> "View":
        """The view with these edits as applied."""
        return replace(self, pending={**self.pending, **{e.seq: e for e in edits if e.kind != "memo"}})

    @property
    def estimator(self) -> str:
        """The name of the token counter in use."""
        return self.context.tally.counter.name

    @property
    def results(self) -> Sequence[Entry]:
        """Tool results and command outputs since the compaction boundary that show their original, oldest first."""
        live = self.context.live_results
        if not self.pending:
            return live
        return [
            entry for entry in live if entry.seq not in self.pending and not self._dropping(entry.exchange)
        ]

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Exchanges since the compaction boundary that are not dropped, oldest first."""
        live = self.context.live_exchanges
        return [exchange for exchange in live if not self._dropping(exchange)] if self.pending else live

    def turn_start(self, n: int) -> int:
        """The seq of the user message that begins the n-th user turn from the end; NEVER for n = 0, -1 where
        there are fewer."""
        turns = self.context.user_turns
        if n <= 0:
            return NEVER
        return turns[-n] if n <= len(turns) else -1

    def locked(self, entry: Entry | Exchange) -> str:
        """Why nothing may touch this now (in progress, pinned, …), or ""."""
        context = self.context
        if isinstance(entry, Exchange):
            seqs = [one.seq for one in entry.entries]
            return next((why for seq in seqs if (why := context.locked(seq))), "")
        head = entry.exchange.seq if entry.exchange else entry.seq
        return context.locked(entry.seq) or (context.locked(head) if head != entry.seq else "")

    def tokens(self, entry: Entry) -> int:
        """Raw estimate of the entry's original."""
        return self.context.tally.tokens(entry)

    def shown_tokens(self, exchange: Exchange) -> int:
        """Raw estimate of what the working context holds of an exchange now."""
        tally, pending = self.context.tally, self.pending
        return sum(
            tally.shown_tokens(entry, pending.get(entry.seq) or self.context.text_edit(entry.seq))
            for entry in exchange.entries
        )

    def count(self, text: str) -> int:
        """Raw estimate of a text."""
        return self.context.tally.counter.count(text)

    def since(self, seq: int) -> int:
        """The index of the first of `results` that is not before `seq`."""
        return bisect_left(self.results, seq, key=lambda entry: entry.seq)

    def kept_between(self, first: Exchange, second: Exchange) -> bool:
        """Whether the next request shows something between two exchanges."""
        context = self.context
        between = context.items[context.position(first.seq) + 1 : context.position(second.seq)]
        return any(item.exchange is None or not context.dropped(item.exchange) for item in between)

    # Edits ---------------------------------------------------------------------------------------------------

    def replaced(self, kind: str, entry: Entry, text: str) -> Edit | None:
        """A clear or trim of a result, or None where the replacement has no fewer tokens."""
        before = self.tokens(entry)
        current = self.context.text_edit(entry.seq)
        if current is not None:
            before = self.context.tally.shown_tokens(entry, current)
        use = entry.call.id if entry.call and entry.call.id else None
        after = self.context.tally.shown_tokens(entry, Edit("clear", entry.seq, use, text))
        if after >= before:
            return None
        return Edit("trim" if kind == "trim" else "clear", entry.seq, use, text, before, after)

    def drop(self, exchange: Exchange) -> Edit:
        """The edit that drops an exchange."""
        return Edit("drop", exchange.seq, None, None, self.shown_tokens(exchange), 0)

    def placeholder(self, entry: Entry, what: str) -> str:
        """`[what | tool argument]`, with the handle for recall where that tool is enabled."""
        argument = call_argument(entry.call.input) if entry.call else None
        shown = f' {argument[0]}="{argument[1][:_ARGUMENT_CHARS]}"' if argument else ""
        handle = f" | recall {entry.seq}" if self.recall else ""
        return f"[{what} | {entry.tool_name}{shown}{handle}]"

    def _dropping(self, exchange: Exchange | None) -> bool:
        edit = self.pending.get(exchange.seq) if exchange else None
        return edit is not None and edit.kind == "drop"
