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
from prunecli.model.events import PrunApplied

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

    def uncleared(self, before: int) -> list[Entry]:
        """Results before a seq that show their text, whole or trimmed, oldest first."""
        live = [entry for entry in self.results if entry.seq < before]
        trimmed = [
            entry
            for entry in self.context.trimmed_results
            if entry.seq < before and not self._cleared(entry) and not self._dropping(entry.exchange)
        ]
        pending = [
            entry
            for entry in self.context.live_results
            if entry.seq < before and (edit := self.pending.get(entry.seq)) and edit.kind == "trim"
        ]
        return (
            sorted([*live, *trimmed, *pending], key=lambda entry: entry.seq) if trimmed or pending else live
        )

    def text_edit(self, entry: Entry) -> Edit | None:
        """The edit that stands for the entry's text, a pending one first."""
        pending = self.pending.get(entry.seq)
        return pending if pending and pending.text is not None else self.context.text_edit(entry.seq)

    def shown_chars(self, entry: Entry) -> int:
        """Characters that a result shows now."""
        edit = self.text_edit(entry)
        return entry.chars if edit is None else len(edit.text or "")

    def total_chars(self, image_chars: int) -> int:
        """Characters of all messages as they stand, without system prompt and tools; an image counts as given."""
        tally = self.context.tally
        total = tally.chars + image_chars * tally.images
        for seq, edit in self.pending.items():
            entry = self.context.entries[seq]
            if edit.kind == "drop" and entry.exchange:
                total -= sum(
                    tally.shown_chars(part, self.context.text_edit(part.seq))
                    for part in entry.exchange.entries
                )
            elif edit.text is not None:
                total += len(edit.text) - tally.shown_chars(entry, self.context.text_edit(seq))
        return total

    @property
    def fixed_tokens(self) -> int:
        """Raw estimate of system prompt, tools and everything of the user's: what no strategy can remove."""
        return self.context.tally.fixed_tokens

    def last_cleared_by(self, strategy: str) -> int:
        """The seq of the newest result that this strategy cleared and that still is, -1 for none."""
        cleared = [
            edit.seq
            for record in self.context.live_pruns()
            if isinstance(record.event, PrunApplied) and record.event.strategy == strategy
            for edit in record.event.edits
            if edit.kind == "clear" and self.context.text_edit(edit.seq) is not None
        ]
        return max(cleared, default=-1)

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
        return self.with_handle(entry, f"[{what} | {entry.tool_name}{shown}]")

    def with_handle(self, entry: Entry, text: str) -> str:
        """A replacement with the handle for recall where that tool is enabled: inside the bracket of a
        placeholder, as a last line of anything else."""
        if not self.recall:
            return text
        if text.startswith("[") and text.endswith("]") and "\n" not in text:
            return f"{text[:-1]} | recall {entry.seq}]"
        return f"{text}\n[recall {entry.seq} for the full text]"

    def _cleared(self, entry: Entry) -> bool:
        edit = self.pending.get(entry.seq)
        return edit is not None and edit.kind == "clear"

    def _dropping(self, exchange: Exchange | None) -> bool:
        edit = self.pending.get(exchange.seq) if exchange else None
        return edit is not None and edit.kind == "drop"
