"""The fold: the working context after each record, kept up to date in O(new records).

`Context.apply` is the only writer. Strategies read the context through `view.View`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, assert_never

from prunecli.context.cache import Cache
from prunecli.context.counted import FactorOf
from prunecli.context.counting import TokenCounts, clearing_of
from prunecli.context.exchange import (
    Entry,
    Exchange,
    assistant_entry,
    result_entry,
    user_entry,
    why_held,
)
from prunecli.context.fixed import Fixed
from prunecli.context.inputs import shown_edit
from prunecli.context.item_order import refile
from prunecli.context.lineage import Lineage
from prunecli.context.lost_thinking import LostThinking
from prunecli.context.memo import Memo
from prunecli.context.prompts import Prompts
from prunecli.context.prune_history import PruneHistory
from prunecli.context.summarized import Ahead, Replaced, compact, take_back
from prunecli.context.thoughts import PREAMBLE_PLACE, Place, Thoughts, before_all, form_of, thinks
from prunecli.context.todo_list import newest
from prunecli.context.tokens import TokenCounter
from prunecli.model.edits import Edit
from prunecli.model.events import (
    SUMMARY_UNDO,
    AssistantMessage,
    AttemptBilled,
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
    Unknown,
    UserMessage,
)
from prunecli.model.messages import Json
from prunecli.model.requests import PREAMBLE, Preamble, WireMessage, tool_names
from prunecli.model.searches import SEARCHES, preamble_of

KEPT, RESTORED = "kept by a summary", "restored by undo"
"""Protected from strategies and the model, but not from the user; what an undo restored only for a while."""


_Stacks: TypeAlias = dict[int, list[tuple[int, Edit]]]
"""Edits by target, each with the seq of its PrunApplied."""


def _even(_: str) -> float:
    return 1.0


class Context:
    """The working context of one session. Public attributes are read-only; only `apply` changes it.

    Unless `billed`, the figures of past requests and prunes stay empty (`prune_history`).
    """

    def __init__(self, counter: TokenCounter, factor_of: FactorOf = _even, *, billed: bool = True) -> None:
        self._billed = billed
        self.settings: dict[str, Json] = {}
        self.preamble = Preamble((), ())
        self.tool_names: tuple[str, ...] | None = None
        self.started: SessionStarted | None = None
        self.last_response: int | None = None
        self.last_model, self.requested, self.caches = "", "", True
        self.last_message = ""
        """The endpoint's id of the last response, if it was recorded."""
        self.counts, self.thoughts = TokenCounts(counter, factor_of), Thoughts(partial(thinks, self))
        self.prune_history, self.unseen, self.cache = PruneHistory(), LostThinking(self), Cache(self)
        self.prompts, self.fixed, self.ahead = Prompts(), Fixed(self), Ahead()
        self._lineage, self._preamble_digest = Lineage(), self.preamble.digest()
        self._clear()

    def _clear(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.items: list[Entry] = []
        self.exchanges: list[Exchange] = []
        self.live_exchanges: list[Exchange] = []
        self.live_results: list[Entry] = []
        self.trimmed_results: list[Entry] = []
        self.user_turns: list[int] = []
        self.turns, self.requests, self.boundary = 0, 0, -1
        self.pinned: set[int] = set()
        self.again: dict[int, int] = {}
        self.sheltered: dict[int, int] = {}
        self.summaries: list[Replaced] = []
        self._restored_at: dict[int, int] = {}
        self.pruns: dict[int, Record] = {}
        self.model_pruns: list[int] = []
        self.todo: Entry | None = None
        self._edits: dict[int, list[tuple[int, Edit]]] = {}
        self._memos: dict[int, list[tuple[int, Edit]]] = {}
        self._drops: dict[int, set[int]] = {}
        self._calls: dict[str, Exchange] = {}
        self._wire_ids: set[str] = set()
        self.places: dict[int, int] = {}
        self.beside: list[Entry] = []
        self.words: dict[int, list[Entry]] = {}
        self.wire, self.memo, self.signed = self.fixed.wire(), Memo(), set[int]()
        for part in (self.thoughts, self.unseen, self.counts, self.cache, self.fixed):
            part.clear()

    # Reading -------------------------------------------------------------------------------------------------

    def messages(self) -> tuple[WireMessage, ...]:
        """Return the messages of the next request. Calls without a result get a derived one."""
        return self.wire.messages()

    def sha256(self) -> str:
        """Return the hash chain over preamble and messages, as `RequestSent` records it."""
        return self.wire.digest(self._preamble_digest).hex()

    def digests(self) -> tuple[bytes, ...]:
        """Return the hash chain: after the preamble, and after each message."""
        return self.wire.digests(self._preamble_digest)

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is currently left out."""
        return exchange.seq in self._edits and any(one.kind == "drop" for _, one in self._edits[exchange.seq])

    def text_edit(self, seq: int) -> Edit | None:
        """Return the newest clear, trim or repair that replaces this entry's text, or the cuts of an answer."""
        return shown_edit(self._edits.get(seq, ()))

    def edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        """Return all live edits of a target, oldest first, each with the seq of its PrunApplied."""
        return list(self._edits.get(seq, ()))

    def in_force(self, prun: int, edit: Edit) -> bool:
        """Return whether this edit of that PrunApplied is still live. A memo lives as long as one of its drops."""
        if edit.kind == "memo":
            return bool(self._drops.get(prun)) and (prun, edit) in self._memos.get(edit.seq, ())
        return (prun, edit) in self._edits.get(edit.seq, ())

    def memos_at(self, exchange: Exchange) -> list[Edit]:
        """Return the memos that currently precede this exchange."""
        return [edit for prun, edit in self._memos.get(exchange.seq, ()) if self._drops.get(prun)]

    def words_after(self, seq: int) -> Sequence[Entry]:
        """Return the endpoint's summaries whose user messages follow this item."""
        return self.words.get(seq, ())

    def memos_of(self, seq: int) -> list[tuple[int, Edit]]:
        """Return all memos recorded at an exchange, in effect or not, each with the seq of its PrunApplied."""
        return list(self._memos.get(seq, ()))

    def spares(self, seq: int) -> bool:
        """Return whether an undo still protects this target when the cache gets cold: no answer followed it yet."""
        return self._restored_at.get(seq, -1) > (self.exchanges[-1].seq if self.exchanges else -1)

    @property
    def in_progress(self) -> Exchange | None:
        """The last exchange, if it has calls whose results the model has not seen."""
        last = self.exchanges[-1] if self.exchanges else None
        return last if last and last.calls else None

    def locked(self, seq: int) -> str:
        """Return why neither a strategy nor a prun may change this target now, or ""."""
        if seq in self.pinned:
            return "pinned"
        if seq < self.boundary:
            return KEPT
        if self.sheltered.get(seq, -1) >= self.turns:
            return RESTORED
        return why_held(self.entries.get(seq), self.in_progress)

    def live_pruns(self) -> list[Record]:
        """Return the PrunApplied records with an edit of something that is not compacted, oldest first."""
        stacks = [stack for seq, stack in self._edits.items() if self.is_shown(self._head(seq).seq)]
        return [self.pruns[seq] for seq in sorted({prun for stack in stacks for prun, _ in stack})]

    def thought_place(self, head: int) -> Place:
        """Return the position of this item for thinking that depends on what precedes it."""
        return before_all(head) if head in self.signed else head

    def is_shown(self, seq: int) -> bool:
        """Return whether this user message, assistant message or summary is among `items`."""
        return seq in self.places

    def position(self, seq: int) -> int:
        """Return the index in `items` of a shown user message, assistant message or summary."""
        return self.places[seq]

    # Writing -------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Fold in one record. Unknown targets, orphaned results and unknown events have no effect."""
        if self._billed:
            self.prune_history.before(record, self)
        self.unseen.before(record)
        self.prompts.apply(record)
        self.ahead.apply(record)
        match record.event:
            case Rewound(to_seq):
                self._rewind(record.seq, to_seq)
            case RequestSent(model):
                self._lineage.append(record)
                self.requested = model
                self._fold(record)
            case SettingChanged(key, value):
                self._set(key, value, record.seq)
            case SessionStarted() as started:
                self.started = started
                self.counts.model(started.model, record.seq)
            case AttemptBilled() | FilesSaved() | RunEnded():  # of the bill, files or the run: of no branch
                self.last_response = self.cache.billed(record) or self.last_response
            case _:
                self._lineage.append(record)
                self._fold(record)
        if self._billed:
            self.prune_history.after(record, self)

    def _rewind(self, seq: int, to_seq: int) -> None:
        reader, foreign, last = self.thoughts.reader, self.thoughts.foreign, self.last_response
        self._clear()
        for earlier in self._lineage.rewind(seq, to_seq):
            self._fold(earlier)
        self.counts.rewound()
        self.last_response = self.cache.last_use(self.requested) or last
        self.thoughts.back(reader, foreign)
        self.unseen.update()

    def _fold(self, record: Record) -> None:
        touched = self.memo.touched_by(record, self)
        match record.event:
            case UserMessage() as event:
                self._add(user_entry(record, event, self.entries))
                self.again.update(dict.fromkeys(event.restores, record.seq))
                self.pinned = self.pinned.union([record.seq] if event.restores else ())
            case RequestSent(model, cache_marks=marks):
                self._sent(record, model, marks)
            case AssistantMessage() as event:
                self.counts.answering()
                self.unseen.reported(event)
                self._add(assistant_entry(record, event, self._wire_ids))
                self._responded(record, event)
                self.thoughts.answered(record.seq, event)
            case ToolStarted(tool_use_id, touches=touches):
                if exchange := self._calls.get(tool_use_id):
                    exchange.started[tool_use_id] = touches
            case ToolResult() as event:
                self._answer(record, event)
            case PrunApplied() as event:
                self._prune(record, event)
            case PrunReverted(seqs, requires):
                if SUMMARY_UNDO in requires:
                    take_back(self, *seqs[:1], at=record.seq)
                else:
                    self._revert(seqs, record.seq)
            case Pinned(seqs, pinned):
                self.pinned = self.pinned.union(seqs) if pinned else self.pinned.difference(seqs)
            case CompactionApplied() as event:
                compact(self, record, event)
            case SessionStarted() | SettingChanged() | AttemptBilled() | FilesSaved() | RunEnded():
                pass  # not part of the conversation
            case Rewound() | Unknown():
                pass
            case _:
                assert_never(record.event)
        self.memo.forget(self, touched)
        self.unseen.folded(record)

    def _sent(self, record: Record, model: str, marks: tuple[int, ...]) -> None:
        if self.sheltered and self.cache.is_cold(model, record.timestamp):
            self.sheltered = {seq: turn for seq, turn in self.sheltered.items() if self.spares(seq)}
        self.cache.sent(marks)
        self.unseen.requested(record, model)
        self.counts.sent()

    def _responded(self, record: Record, event: AssistantMessage) -> None:
        self.counts.reported(event.usage.prompt_tokens, clearing_of(event.applied_edits), record.seq)
        if event.usage.prompt_tokens:
            self.requests += 1
            self.last_response, self.last_model = record.timestamp, event.model
            self.last_message = event.message_id
            self.caches = self.cache.answered(event.model, event.usage, record.timestamp)

    def _set(self, key: str, value: Json, at: int) -> None:
        self.settings[key] = value
        if key == "model.name":
            self.counts.model(str(value), at)
        if key == SEARCHES:
            self.wire.remake_answers()
        self.fixed.set(key, at)
        if key in (PREAMBLE, SEARCHES) and isinstance(recorded := self.settings.get(PREAMBLE), dict):
            self.tool_names = tool_names(recorded) if any(map(recorded.get, ("system", "tools"))) else None
            self.preamble = preamble_of(recorded, searches=self.settings.get(SEARCHES) is not False)
            self._preamble_digest = self.preamble.digest()
            self.counts.preamble(self.preamble)
            self.thoughts.changed(PREAMBLE_PLACE, at, self._preamble_digest)
        self.unseen.update()

    def _add(self, entry: Entry) -> None:
        self.counts.enter(entry)
        self.entries[entry.seq], self.places[entry.seq] = entry, len(self.items)
        self.items.append(entry)
        if entry.opens_turn:
            self.user_turns.append(entry.seq)
            self.turns += 1
        if entry.prunable:
            self.live_results.append(entry)
        if exchange := entry.exchange:
            self.exchanges.append(exchange)
            self.live_exchanges.append(exchange)
            self._wire_ids |= exchange.claim(self._calls)
        self.fixed.entered(entry)
        self.wire.append(entry)
        self.unseen.weigh(entry)

    def _answer(self, record: Record, event: ToolResult) -> None:
        exchange = self._calls.get(event.tool_use_id)
        calls = [call for call in exchange.unanswered if call.id == event.tool_use_id] if exchange else []
        if exchange is None or not calls:
            return
        entry = result_entry(record, event, exchange, calls[0], self.entries)
        self.counts.enter(entry, event.tokens)
        self.entries[entry.seq], self.todo = entry, newest(self.todo, entry)
        exchange.results.append(entry)
        if exchange.seq > self.boundary and not self.dropped(exchange):
            self.live_results.append(entry)
        if not self.wire.append_result(exchange, entry):
            self._relay([exchange.seq])
        self.unseen.weigh(exchange.head)

    def _prune(self, record: Record, event: PrunApplied) -> None:
        self.pruns[record.seq] = record
        if event.source == "model":
            self.model_pruns.append(record.seq)
        touched: list[int] = []
        for edit in event.edits:
            entry = self.entries.get(edit.seq)
            if entry is None or not entry.takes(edit):
                continue
            stacks = self._memos if edit.kind == "memo" else self._edits
            stacks.setdefault(edit.seq, []).append((record.seq, edit))
            if edit.kind == "drop":
                self._drops.setdefault(record.seq, set()).add(edit.seq)
            touched.append(edit.seq)
        self._changed(touched, record.seq)

    def _revert(self, seqs: Iterable[int], at: int) -> None:
        touched, stacks = list[int](), (self._edits, self._memos, self._drops)
        for seq in seqs:
            if seq in self.pruns:
                event = self.pruns.pop(seq).event
                targets = [edit.seq for edit in event.edits] if isinstance(event, PrunApplied) else []
                _take_back(*stacks, self.pruns, targets, only=seq)
                self.sheltered.update(dict.fromkeys(targets, self.turns + 1))
                self._restored_at.update(dict.fromkeys(targets, at))
                touched += targets
            elif seq in self.entries:
                touched += [seq, *_take_back(*stacks, self.pruns, [seq])]
                self.pinned = self.pinned | {seq}
        self._changed(touched, at)

    def _changed(self, targets: Iterable[int], at: int) -> None:
        heads = dict.fromkeys(self._head(seq) for seq in sorted(targets) if seq in self.entries)
        for head in heads:
            refile(self, head)
            self.unseen.weigh(head)
            if head.seq in self.places:
                self.thoughts.changed(self.thought_place(head.seq), at, form_of(self, head))
        self._relay([head.seq for head in heads])

    def _head(self, seq: int) -> Entry:
        entry = self.entries[seq]
        return entry.exchange.head if entry.exchange else entry

    def _relay(self, heads: Iterable[int]) -> None:
        if places := [self.places[seq] for seq in heads if seq in self.places]:
            self.wire.rebuild(start=min(places), stop=max(places) + 1)


def _take_back(
    edits: _Stacks,
    memos: _Stacks,
    drops: Mapping[int, set[int]],
    pruns: Mapping[int, Record],
    targets: Iterable[int],
    only: int | None = None,
) -> list[int]:
    """Remove the edits of these targets (optionally of one prune).

    Returns the positions of memos that may be removed with them.
    """
    places: list[int] = []
    for seq in targets:
        for stacks in (edits,) if only is None else (edits, memos):
            gone = [(prun, edit) for prun, edit in stacks.get(seq, ()) if only in (None, prun)]
            stacks[seq] = [pair for pair in stacks.get(seq, ()) if pair not in gone]
            for prun, edit in gone:
                if edit.kind == "drop":
                    drops[prun].discard(seq)
                    applied = pruns[prun].event if prun in pruns else None
                    if isinstance(applied, PrunApplied):
                        places += [memo.seq for memo in applied.edits if memo.kind == "memo"]
    return places
