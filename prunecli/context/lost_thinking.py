"""Thinking in the log that the model does not see: dropped by the endpoint or left out by an edit.

Its tokens are removed from the estimate of the context, answer by answer, in log order. Drops that an endpoint
reports are stored for the whole session, so that the user is notified of each block only once.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.item_order import is_edited_since
from prunecli.context.thoughts import left_out_by
from prunecli.context.tokens import total
from prunecli.model.claude import may_read
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    SessionStarted,
    SettingChanged,
)
from prunecli.model.messages import Json, thinking_blocks
from prunecli.model.requests import WireMessage, posted
from prunecli.util.figures import in_tokens
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.context.state import Context

EDITED, MODEL, ACCOUNT, PERSON = (
    f"{what}_binding_mismatch" for what in ("prefix", "model", "organization", "end_user")
)
SUMMARIZED = "summarized"
"""The reason for losses that the endpoint attributes to an edit, but that a compaction causes anyway."""
SWITCHED = "switched"
"""The same, for losses in a session that was never pruned: another model or system prompt causes them."""
_PATH = re.compile(r"messages\.(\d{1,9})\.content\.(\d{1,9})")
_NONE: frozenset[int] = frozenset()
_CHANGES = frozenset((PrunApplied, PrunReverted, CompactionApplied, SettingChanged, SessionStarted))


class ThinkingSum(NamedTuple):
    """A number of thinking blocks, and their tokens as the endpoint counts them."""

    blocks: int = 0
    tokens: int = 0

    def minus(self, other: "ThinkingSum") -> "ThinkingSum":
        """Return the difference, which is never negative."""
        return ThinkingSum(max(0, self.blocks - other.blocks), max(0, self.tokens - other.tokens))

    def __str__(self) -> str:
        count = f"{self.blocks} thinking block{'s' * (self.blocks != 1)}"
        return count + (f" (~{in_tokens(self.tokens)})" if self.tokens else "")


@frozen
class Loss:
    """The answers whose thinking was dropped from a request for one reason, and those that no earlier response
    reported as dropped."""

    reason: str
    answers: list[Entry]
    new: list[Entry]


class LostThinking:
    """The unseen thinking of a context.

    `dropped`: the answers whose thinking the endpoint drops from the next request. `moved`: the answers whose
    thinking was hidden or shown again, in that order. `losses`: the newest response's report, without reasons for
    which it drops the same as the one before.
    """

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._known: dict[int, tuple[str, Entry]] = {}
        self._reported = _NONE
        self._asked_with: tuple[WireMessage, ...] | None = None
        self._is_asked = self._is_edited = False
        self.moved: list[int] = []
        self.losses: tuple[Loss, ...] = ()
        self.clear()

    def clear(self) -> None:
        """Switch to another branch."""
        self.dropped = self._behind_summary = _NONE
        self._version = -1

    def lacks(self, seq: int) -> bool:
        """Return whether an answer's thinking is hidden from the model while the rest is shown."""
        if seq in self.dropped:
            return True
        entry = self._context.entries[seq]
        if entry.kind != "assistant" or not self._context.pruns or not self._context.is_shown(seq):
            return False
        edits = [edit for _, edit in self._context.edits_of(seq)]
        hidden = any(edit.kind == "drop" for edit in edits)
        return bool(edits) and not hidden and left_out_by(entry, edits)

    def told(self, model: str) -> list[str]:
        """Return the notices about the newest response's report; `model` is its model.

        A notice counts everything dropped from the request, as previews do, and what is reported for the first time.
        What the prunes before this request already announced is not told again.
        """
        why = {
            EDITED: "the earlier context was edited",
            SUMMARIZED: "the earlier context was summarized",
            SWITCHED: "the model or the system prompt was changed",
            MODEL: f"{model} can't read such thinking",
            ACCOUNT: "made for another account",
            PERSON: "made for another user",
        }
        foretold = self._foretold() if self.losses else 0
        return [
            f"The endpoint dropped {self._counted(loss)}: {why.get(loss.reason, loss.reason)}"
            for loss in self.losses
            if not (loss.reason == EDITED and self.blocks(loss.new) <= foretold > 0)
        ]

    def _foretold(self) -> int:
        """Return the number of thinking blocks that the prunes since the response before announced as lost."""
        answers = [entry.seq for entry in self._context.items if entry.kind == "assistant"]
        before = answers[-2] if len(answers) > 1 else -1
        prunes = (record.event for seq, record in self._context.pruns.items() if seq > before)
        return sum(event.thinking_blocks for event in prunes if isinstance(event, PrunApplied))

    def _counted(self, loss: Loss) -> str:
        lost, new = self.sum(loss.answers), self.blocks(loss.new)
        return str(lost) if new == lost.blocks else f"{lost}, {new or 'none'} for the first time"

    def cost_of_edits(self) -> ThinkingSum:
        """Return all thinking that edits cost in this session, each block once, even if it came back."""
        return self.sum([entry for reason, entry in self._known.values() if reason == EDITED])

    def sum(self, answers: list[Entry]) -> ThinkingSum:
        """Return the thinking of these answers."""
        if not answers:
            return ThinkingSum()
        counts = self._context.counts
        return ThinkingSum(self.blocks(answers), counts.scale.tokens(*total(map(counts.thinking, answers))))

    def blocks(self, answers: list[Entry]) -> int:
        """Return the number of thinking blocks of these answers."""
        events = [entry.event for entry in answers]
        return sum(thinking_blocks(event.content) for event in events if isinstance(event, AssistantMessage))

    # Following -----------------------------------------------------------------------------------------------

    def before(self, record: Record) -> None:
        """Prepare for a record that is about to be folded.

        Responses identify blocks by their positions in the request, so the positions are stored if the context
        changes while the answer is pending.
        """
        event = record.event
        if type(event) not in _CHANGES:
            return
        if isinstance(event, SessionStarted):
            self._context.thoughts.model(event.model)
        elif isinstance(event, SettingChanged) and event.key == "model.name":
            self._context.thoughts.model(str(event.value))
        if self._is_asked and self._asked_with is None:
            self._asked_with = self._context.messages()

    def requested(self, record: Record, model: str) -> None:
        thoughts = self._context.thoughts
        thoughts.model(model)
        self.update()
        thoughts.requested(record.seq)
        self._asked_with, self._is_asked = None, True

    def reported(self, event: AssistantMessage) -> None:
        """Handle a response about to be folded. Its report concerns its own request."""
        context = self._context
        found: dict[int, str] = {}
        places = posted(self._asked_with or context.messages()) if event.input_transformations else []
        for transformation in event.input_transformations or ():
            if (
                transformation.get("type") == "thinking_dropped"
                and (entry := self._entry(transformation, places)) is not None
            ):
                found.setdefault(entry.seq, self._reason(entry.seq, str(transformation.get("reason") or "")))
        if event.input_transformations is not None:
            foreign = {seq for seq, reason in found.items() if reason in (ACCOUNT, PERSON)}
            context.thoughts.reported(found, foreign)
        for seq in self.update():
            context.counts.as_sent(seq)
        self._asked_with, self._is_asked, self.losses = None, False, ()
        if found:
            self._lost(found)
        if event.input_transformations is not None:
            self._reported = frozenset(found)

    def _lost(self, found: Mapping[int, str]) -> None:
        """Handle the answers whose thinking was dropped, each with the reason."""
        new = {seq: reason for seq, reason in found.items() if seq not in self._known}
        fresh = dict.fromkeys(reason for seq, reason in found.items() if seq not in self._reported)
        self.losses = tuple(
            Loss(reason, self._entries(found, reason), self._entries(new, reason)) for reason in fresh
        )
        self._known |= {seq: (reason, self._context.entries[seq]) for seq, reason in new.items()}

    def _entries(self, dropped: Mapping[int, str], reason: str) -> list[Entry]:
        return [self._context.entries[seq] for seq, one in dropped.items() if one == reason]

    def _reason(self, seq: int, reported: str) -> str:
        """Return why an answer's thinking was dropped."""
        if reported != EDITED:
            return reported
        if seq in self._behind_summary:
            return SUMMARIZED
        return EDITED if self._is_edited else SWITCHED

    def _entry(self, one: Mapping[str, Json], places: Sequence[WireMessage | None]) -> Entry | None:
        """Return the answer at a position in the last request, which had these messages."""
        place = _PATH.fullmatch(str(one.get("path") or ""))
        if place is None:
            return None
        at, block = int(place[1]), int(place[2])
        message = places[at] if at < len(places) else None
        seq = message.seqs[block] if message and block < len(message.seqs) else None
        entry = None if seq is None else self._context.entries.get(seq)
        return entry if entry is not None and entry.kind == "assistant" else None

    def folded(self, record: Record) -> None:
        """Update for a record that was just folded."""
        if type(record.event) in _CHANGES:
            self._changed(record)
        if self._version != self._context.thoughts.version:
            self.update()

    def _changed(self, record: Record) -> None:
        if isinstance(record.event, CompactionApplied):
            self._summarized(record.seq, record.event.head_end)
        if isinstance(record.event, PrunApplied):
            self._is_edited = True
            for edit in record.event.edits:
                entry = self._context.entries.get(edit.seq)
                if entry is None or not has_thinking(entry):
                    continue
                if edit.kind == "strip":
                    self._known.setdefault(edit.seq, (self._reason(edit.seq, EDITED), entry))

    def _summarized(self, seq: int, head_end: int) -> None:
        """Note the answers whose thinking a new summary makes stale, unless the endpoint signed it."""
        items, is_signed = self._context.items, self._context.thought_place(seq) != seq
        kept = [item.seq for item in items if item.kind == "assistant" and item.seq > head_end]
        self._behind_summary = _NONE if is_signed else self._behind_summary.union(kept)

    def taken_back(self, seq: int) -> None:
        """Note the answers whose thinking depends on a summary that is taken back."""
        since = [item.seq for item in self._context.items if item.kind == "assistant" and item.seq > seq]
        self._behind_summary = self._behind_summary.union(since)

    def update(self) -> list[int]:
        """Recount and return the answers whose thinking was hidden or shown again."""
        context, thoughts = self._context, self._context.thoughts
        if thoughts.version == self._version:
            return []
        old, self.dropped, self._version = self.dropped, thoughts.dropped(), thoughts.version
        found = sorted(old ^ self.dropped)
        for seq in found:
            self.weigh(context.entries[seq])
        self.moved += found
        return found

    def weigh(self, head: Entry) -> None:
        """Recount an item as it is shown now."""
        context, exchange = self._context, head.exchange
        if not context.is_shown(head.seq):
            return
        countable = head.seq > context.boundary
        if not context.pruns and not self.dropped:
            context.counts.weigh(head, {}, [], hidden=False, countable=countable)
            return
        parts = exchange.entries if exchange else [head]
        edits = {part.seq: edit for part in parts if (edit := context.text_edit(part.seq))}
        silent = head.kind == "assistant" and self.lacks(head.seq)
        context.counts.weigh(
            head,
            edits,
            context.memos_at(exchange) if exchange else [],
            hidden=exchange is not None and context.dropped(exchange),
            countable=countable or is_edited_since(context, head),
            silent=silent,
            lost=silent and self._is_lost_by_edits(head),
        )

    def _is_lost_by_edits(self, head: Entry) -> bool:
        """Return whether a silent answer's thinking is gone because of edits, and not of a summary or the model."""
        can_read = isinstance(head.event, AssistantMessage) and may_read(
            self._context.thoughts.reader, head.event.model
        )
        return can_read and bool(self._context.pruns) and head.seq not in self._behind_summary


def has_thinking(entry: Entry) -> bool:
    """Return whether an entry is an answer with thinking that can be sent back."""
    return isinstance(entry.event, AssistantMessage) and thinking_blocks(entry.event.content) > 0
