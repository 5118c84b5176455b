"""The fold: the working context as it stands after each record, kept up to date in O(new records).

`Context.apply` is the only writer. It always equals the slow, obvious `project` (a property test says so).
Strategies read it through `view.View`.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from functools import partial

from prunecli.context.changes import Changes
from prunecli.context.exchange import (
    Entry,
    Exchange,
    assistant_entry,
    result_entry,
    summary_entry,
    user_entry,
)
from prunecli.context.lineage import Lineage
from prunecli.context.placing import refile, with_summary
from prunecli.context.prune_history import PruneHistory
from prunecli.context.shown import shown
from prunecli.context.thoughts import PREAMBLE_PLACE, Thoughts, form_of, thinks
from prunecli.context.token_counts import TokenCounts
from prunecli.context.tokens import TokenCounter
from prunecli.context.wire import Wire
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    FilesSaved,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Json
from prunecli.model.requests import PREAMBLE, Preamble, WireMessage

RESTORED = "restored by undo"  # strategies leave it alone for a while; the user may prune it again at once


def _seq(entry: Entry) -> int:
    return entry.seq


class Context:
    """The working context of one session. Everything public is for reading; `apply` alone changes it."""

    def __init__(self, counter: TokenCounter, factor_of: Callable[[str], float] = lambda _: 1.0) -> None:
        self.settings: dict[str, Json] = {}
        self.preamble = Preamble((), ())
        self.started: SessionStarted | None = None
        self.run_ended: RunEnded | None = None
        self.last_response: int | None = None
        self.last_model = ""
        self.requested = ""
        self.caches = True
        self.counts = TokenCounts(counter, factor_of)
        self.prune_history = PruneHistory()
        self.thoughts = Thoughts(partial(thinks, self))
        self._lineage = Lineage()
        self._preamble_digest = self.preamble.digest()
        self._clear()

    def _clear(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.items: list[Entry] = []
        self.exchanges: list[Exchange] = []
        self.live_exchanges: list[Exchange] = []
        self.live_results: list[Entry] = []
        self.trimmed_results: list[Entry] = []
        self.user_turns: list[int] = []
        self.turns = 0
        self.requests = 0
        self.boundary = -1
        self.pinned: set[int] = set()
        self.sheltered: dict[int, int] = {}
        self.pruns: dict[int, Record] = {}
        self._model_pruns: list[int] = []
        self._edits: dict[int, list[tuple[int, Edit]]] = {}
        self._memos: dict[int, list[tuple[int, Edit]]] = {}
        self._drops: dict[int, set[int]] = {}
        self._calls: dict[str, Exchange] = {}
        self._wire_ids: set[str] = set()
        self._positions: dict[int, int] = {}
        self.wire = Wire(partial(shown, self))
        self.changes = Changes()
        self.thoughts.clear()
        self.counts.clear()

    # Reading -------------------------------------------------------------------------------------------------

    def messages(self) -> tuple[WireMessage, ...]:
        """The messages of the next request; calls without a result are answered by a derived one."""
        return self.wire.messages()

    def sha256(self) -> str:
        """The hash chain over preamble and messages, as `RequestSent` records it."""
        return self.wire.digest(self._preamble_digest).hex()

    def dropped(self, exchange: Exchange) -> bool:
        """Whether the exchange is left out now."""
        stack = self._edits.get(exchange.seq)
        return bool(stack) and any(edit.kind == "drop" for _, edit in stack or ())

    def text_edit(self, seq: int) -> Edit | None:
        """The clear, trim or repair that stands for this entry's text now: the newest one."""
        for _, edit in reversed(self._edits.get(seq, ())):
            if edit.kind in ("clear", "trim", "repair"):
                return edit
        return None

    def edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        """All live edits of a target, oldest first, each with the seq of its PrunApplied."""
        return list(self._edits.get(seq, ()))

    def in_force(self, prun: int, edit: Edit) -> bool:
        """Whether this edit of that PrunApplied was not taken back; a memo only while one of its drops lives."""
        if edit.kind == "memo":
            return bool(self._drops.get(prun)) and (prun, edit) in self._memos.get(edit.seq, ())
        return (prun, edit) in self._edits.get(edit.seq, ())

    def memos_at(self, exchange: Exchange) -> list[Edit]:
        """The memos that stand before this exchange now."""
        return [edit for prun, edit in self._memos.get(exchange.seq, ()) if self._drops.get(prun)]

    def memos_of(self, seq: int) -> list[tuple[int, Edit]]:
        """All memos recorded at an exchange, each with the seq of its PrunApplied, those out of force too."""
        return list(self._memos.get(seq, ()))

    @property
    def in_progress(self) -> Exchange | None:
        """The last exchange if it has calls: the model has not seen its results."""
        last = self.exchanges[-1] if self.exchanges else None
        return last if last and last.calls else None

    def locked(self, seq: int) -> str:
        """Why no strategy and no prun may touch this target now, or ""."""
        if seq in self.pinned:
            return "pinned"
        if seq < self.boundary:
            return "kept by a compaction"
        if self.sheltered.get(seq, -1) >= self.turns:
            return RESTORED
        entry = self.entries.get(seq)
        exchange = entry.exchange if entry else None
        if exchange and exchange is self.in_progress:
            return "in progress"
        return ""

    def model_pruns_since(self, seq: int) -> int:
        """How many of the model's own prunes were applied after this seq."""
        return sum(1 for prun in self._model_pruns if prun > seq)

    def live_pruns(self) -> list[Record]:
        """The PrunApplied records that have not been reverted as a whole, oldest first."""
        return [self.pruns[seq] for seq in sorted(self.pruns)]

    def group_of(self, seq: int) -> int:
        """The index of the first message that shows something of this entry or of later ones."""
        head = self._head(seq).seq
        return self.wire.group_at(self._positions[head]) if head in self._positions else 0

    def is_shown(self, seq: int) -> bool:
        """Whether a user message, assistant message or summary has its place among `items`."""
        return seq in self._positions

    def position(self, seq: int) -> int:
        """The index among `items` of a user message, assistant message or summary that is shown."""
        return self._positions[seq]

    # Writing -------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Folds one record in. Unknown targets, orphaned results and unknown events have no effect."""
        self.prune_history.before(record, self)
        match record.event:
            case Rewound(to_seq):
                lineage = self._lineage.rewind(record.seq, to_seq)
                self._clear()
                for earlier in lineage:
                    self._fold(earlier)
            case RequestSent(model):
                self._lineage.append(record)
                self.requested = model
                self.wire.sent()
                self.counts.sent()
                self.thoughts.requested(record.seq)
            case SettingChanged(key, value):
                self._set(key, value, record.seq)
            case SessionStarted() as started:
                self.started = started
                self.counts.model(started.model)
            case RunEnded() as ended:
                self.run_ended = ended
            case FilesSaved():
                pass  # of the files, not of the conversation: no branch has it
            case _:
                self._lineage.append(record)
                self._fold(record)
        self.prune_history.after(record, self)

    def _fold(self, record: Record) -> None:
        self.changes.note(record, self)
        match record.event:
            case UserMessage() as event:
                self._add(user_entry(record, event))
            case RequestSent():
                self.counts.sent()
            case AssistantMessage() as event:
                self.counts.answering()
                self._add(assistant_entry(record, event, self._wire_ids))
                self._responded(record, event)
                self.thoughts.answered(record.seq, event)
            case ToolStarted(tool_use_id):
                if exchange := self._calls.get(tool_use_id):
                    exchange.started.add(tool_use_id)
            case ToolResult() as event:
                self._answer(record, event)
            case PrunApplied() as event:
                self._prune(record, event)
            case PrunReverted(seqs):
                self._revert(seqs, record.seq)
            case Pinned(seqs, pinned):
                self.pinned = self.pinned.union(seqs) if pinned else self.pinned.difference(seqs)
            case CompactionApplied() as event:
                self._compact(record, event)
            case _:
                pass

    def _responded(self, record: Record, event: AssistantMessage) -> None:
        self.counts.reported(event.usage.prompt_tokens)
        if event.usage.prompt_tokens:
            self.requests += 1
            self.last_response, self.last_model = record.timestamp, event.model
            self.caches = event.usage.cache_read_input_tokens is not None

    def _set(self, key: str, value: Json, at: int) -> None:
        self.settings[key] = value
        self.counts.setting(key, value)
        if key == PREAMBLE and isinstance(value, dict):
            self.preamble = Preamble.of(tuple(value.get("system", ())), tuple(value.get("tools", ())))
            self._preamble_digest = self.preamble.digest()
            self.counts.preamble(self.preamble)
            self.thoughts.changed(PREAMBLE_PLACE, at, self._preamble_digest)

    def _add(self, entry: Entry) -> None:
        self.entries[entry.seq] = entry
        self._positions[entry.seq] = len(self.items)
        self.items.append(entry)
        if entry.kind in ("user", "command"):
            self.user_turns.append(entry.seq)
            self.turns += 1
        if entry.kind == "command":
            self.live_results.append(entry)
        if exchange := entry.exchange:
            self.exchanges.append(exchange)
            self.live_exchanges.append(exchange)
            self._wire_ids |= exchange.claim(self._calls)
        self.wire.append(entry)
        self._weigh(entry)

    def _answer(self, record: Record, event: ToolResult) -> None:
        exchange = self._calls.get(event.tool_use_id)
        if exchange is None or all(call.id != event.tool_use_id for call in exchange.unanswered):
            return
        entry = result_entry(record, event, exchange, self.entries)
        self.counts.recorded(entry, event.tokens)
        self.entries[entry.seq] = entry
        exchange.results.append(entry)
        if exchange.seq > self.boundary and not self.dropped(exchange):
            if not self.live_results or self.live_results[-1].seq < entry.seq:
                self.live_results.append(entry)
            else:
                insort(self.live_results, entry, key=_seq)
        if not self.wire.append_result(exchange, entry):
            self._relay([exchange.seq])
        self._weigh(exchange.head)

    def _prune(self, record: Record, event: PrunApplied) -> None:
        self.pruns[record.seq] = record
        if event.source == "model":
            self._model_pruns.append(record.seq)
        touched: list[int] = []
        for edit in event.edits:
            entry = self.entries.get(edit.seq)
            if entry is None or not entry.takes(edit.kind):
                continue
            stacks = self._memos if edit.kind == "memo" else self._edits
            stacks.setdefault(edit.seq, []).append((record.seq, edit))
            if edit.kind == "drop":
                self._drops.setdefault(record.seq, set()).add(edit.seq)
            touched.append(edit.seq)
        self._changed(touched, record.seq)

    def _revert(self, seqs: Iterable[int], at: int) -> None:
        touched: list[int] = []
        for seq in seqs:
            if seq in self.pruns:
                event = self.pruns.pop(seq).event
                targets = [edit.seq for edit in event.edits] if isinstance(event, PrunApplied) else []
                self._take_back(targets, only=seq)
                self.sheltered.update(dict.fromkeys(targets, self.turns + 1))
                touched += targets
            elif seq in self.entries:
                touched += [seq, *self._take_back([seq])]
                self.pinned = self.pinned | {seq}
        self._changed(touched, at)

    def _take_back(self, targets: Iterable[int], only: int | None = None) -> list[int]:
        """Removes edits of these targets (of one prune only); the places of memos that may vanish with them."""
        places: list[int] = []
        for seq in targets:
            for stacks in (self._edits, self._memos):
                if stacks is self._memos and only is None:
                    continue
                gone = [(prun, edit) for prun, edit in stacks.get(seq, ()) if only in (None, prun)]
                stacks[seq] = [pair for pair in stacks.get(seq, ()) if pair not in gone]
                for prun, edit in gone:
                    if edit.kind == "drop":
                        self._drops[prun].discard(seq)
                        applied = self.pruns[prun].event if prun in self.pruns else None
                        if isinstance(applied, PrunApplied):
                            places += [memo.seq for memo in applied.edits if memo.kind == "memo"]
        return places

    def _compact(self, record: Record, event: CompactionApplied) -> None:
        summary = summary_entry(record, event)
        self.entries[summary.seq] = summary
        self.boundary = record.seq
        self.items = with_summary(self.items, summary, event, record.seq)
        self._positions = {item.seq: index for index, item in enumerate(self.items)}
        self.live_exchanges, self.live_results, self.trimmed_results, self.user_turns = [], [], [], []
        self.wire.rebuild(self.items)
        self.counts.keep(self._positions)
        self._weigh(summary)
        self.thoughts.changed(event.head_end + 0.5, record.seq, (event.summary, event.tail_start))

    # What an edit changes ------------------------------------------------------------------------------------

    def _changed(self, targets: Iterable[int], at: int) -> None:
        heads = sorted({self._head(seq).seq for seq in targets if seq in self.entries})
        for head in heads:
            refile(self, self.entries[head])
            self._weigh(self.entries[head])
            if head in self._positions:
                self.thoughts.changed(head, at, form_of(self, self.entries[head]))
        self._relay(heads)

    def _head(self, seq: int) -> Entry:
        entry = self.entries[seq]
        return entry.exchange.head if entry.exchange else entry

    def _relay(self, heads: list[int]) -> None:
        places = [self._positions[seq] for seq in heads if seq in self._positions]
        if places:
            self.wire.rebuild(start=min(places), stop=max(places) + 1)

    def _weigh(self, head: Entry) -> None:
        if head.seq in self._positions:
            parts = head.exchange.entries if head.exchange else [head]
            hidden = head.exchange is not None and self.dropped(head.exchange)
            edits = {e.seq: edit for e in parts if e.seq in self._edits and (edit := self.text_edit(e.seq))}
            memos = self.memos_at(head.exchange) if head.exchange else []
            self.counts.weigh(head, edits, memos, hidden=hidden, countable=head.seq > self.boundary)
