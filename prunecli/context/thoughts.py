"""Which thinking still fits the conversation before it.

Newer models bind each thinking block to all that stood before it when it was thought, byte for byte, and to the
thinking block before it. An endpoint drops (or refuses) blocks of which that no longer holds. `Thoughts` answers the
same question from the log alone: for now, and for edits that somebody thinks about.

How: only few entries ever look different than when they were written. Each of them has a history of its forms, in
log order. An answer fits where every entry before it has the form now that it had in the request of that answer.
An edit that is taken back gives an entry its old form again, and the old thinking fits again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from prunecli.context.exchange import Entry
from prunecli.model.claude import is_bound
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import RedactedThinking, Thinking

if TYPE_CHECKING:
    from prunecli.context.state import Context

Form: TypeAlias = object
"""What an entry shows, as a value that is equal where the bytes are; None as it was written."""

Place: TypeAlias = float
"""Where something stands that may look different: the seq of an entry, and a half more for a summary after it."""

PREAMBLE_PLACE: Place = -1
"""Where system prompt and tools stand: before every entry."""

_NEVER = -1


def thinks(context: "Context", seq: int) -> bool:
    """Whether the thinking of an answer is part of the request: nothing dropped, replaced or stripped it."""
    entry = context.entries[seq]
    if not context.is_shown(seq) or not entry.is_sent:
        return False
    if entry.exchange and context.dropped(entry.exchange):
        return False
    calls = entry.exchange is not None and bool(entry.exchange.calls)
    gone = ("strip",) if calls else ("strip", "repair")
    return all(edit.kind not in gone for _, edit in context.edits_of(seq))


def form_of(context: "Context", head: Entry, edits: Sequence[Edit] = ()) -> Form:
    """What an item with its results shows, thinking aside, once these edits were applied too."""
    parts = head.exchange.entries if head.exchange else [head]
    dropped = head.exchange is not None and context.dropped(head.exchange)
    texts = {part.seq: edit.text for part in parts if (edit := context.text_edit(part.seq))}
    texts |= {edit.seq: edit.text for edit in edits if edit.kind in ("clear", "trim", "repair")}
    memos = [memo.text for memo in context.memos_at(head.exchange)] if head.exchange else []
    memos += [edit.text for edit in edits if edit.kind == "memo"]
    dropped = dropped or any(edit.kind == "drop" for edit in edits)
    shown = None if dropped else tuple(sorted(texts.items()))
    return (shown, tuple(memos)) if dropped or texts or memos else None


def stale_after(context: "Context", edits: Iterable[Edit]) -> tuple[int, ...]:
    """The answers whose thinking would be sent and no longer fit, were these edits applied."""
    by_head: dict[int, list[Edit]] = {}
    for edit in edits:
        entry = context.entries[edit.seq]
        by_head.setdefault(entry.exchange.seq if entry.exchange else entry.seq, []).append(edit)
    forms: dict[Place, Form] = {
        head: form_of(context, context.entries[head], given)
        for head, given in by_head.items()
        if context.is_shown(head)
    }
    gone = {head for head, given in by_head.items() for edit in given if edit.kind in ("drop", "strip")}
    return context.thoughts.stale_with(forms, gone)


def bound_blocks(event: AssistantMessage) -> int:
    """How many blocks of bound thinking a response has."""
    if not is_bound(event.model):
        return 0
    return sum(
        isinstance(block, RedactedThinking) or (isinstance(block, Thinking) and bool(block.signature))
        for block in event.content
    )


@dataclass(frozen=True, slots=True)
class _Thought:
    """An answer with bound thinking: its seq, the record that it was asked for in, and the seq of the answer whose
    thinking came before, _NEVER where none did."""

    seq: int
    asked: int
    previous: int
    blocks: int


@dataclass(slots=True)
class Thoughts:
    """The bound thinking of a context. `sent(seq)`: whether the thinking of an answer is part of the request."""

    sent: Callable[[int], bool]
    _thoughts: list[_Thought] = field(default_factory=list)
    _forms: dict[Place, list[tuple[int, Form]]] = field(default_factory=dict)
    _stale: tuple[int, ...] | None = None
    _saw: dict[int, tuple[int, int]] = field(default_factory=dict)
    _last_request: int = _NEVER
    _last: int = _NEVER
    _changed: int = _NEVER

    def clear(self) -> None:
        """Forgets the answers and forms of a branch. What each answer saw stays, and the preamble's forms."""
        self._thoughts.clear()
        self._forms = {place: forms for place, forms in self._forms.items() if place == PREAMBLE_PLACE}
        self._stale = None

    def requested(self, seq: int) -> None:
        """A request was sent: what is answered next saw the context of this record."""
        self._last_request = seq

    def answered(self, seq: int, event: AssistantMessage) -> None:
        """A response was folded in."""
        blocks = bound_blocks(event)
        if not blocks:
            return
        self.stale()
        asked, previous = self._saw.setdefault(
            seq, (self._last_request if self._last_request >= 0 else seq, self._last)
        )
        self._thoughts.append(_Thought(seq, asked, previous, blocks))
        if asked > self._changed and previous == self._last and self.sent(seq):
            self._last = (
                seq  # nothing changed since it was asked for, so that it fits: no need to look at all
            )
        else:
            self._stale = None

    def changed(self, place: Place, at: int, form: Form) -> None:
        """From record `at` on what stands at `place` has this form; or its thinking is sent now, or no longer."""
        self._forms.setdefault(place, []).append((at, form))
        self._changed, self._stale = max(self._changed, at), None

    def stale(self) -> tuple[int, ...]:
        """The answers whose thinking is sent and no longer fits, oldest first."""
        if self._stale is None:
            self._stale, self._last = self._misfits({}, self.sent)
        return self._stale

    def stale_with(self, forms: Mapping[Place, Form], gone: Iterable[int] = ()) -> tuple[int, ...]:
        """As `stale`, if entries had these forms and the thinking of the answers `gone` were left out."""
        absent = frozenset(gone)
        return self._misfits(forms, lambda seq: seq not in absent and self.sent(seq))[0]

    def blocks(self, seqs: Iterable[int]) -> int:
        """How many thinking blocks these answers have."""
        wanted = set(seqs)
        return sum(thought.blocks for thought in self._thoughts if thought.seq in wanted)

    def _misfits(
        self, forms: Mapping[Place, Form], sent: Callable[[int], bool]
    ) -> tuple[tuple[int, ...], int]:
        """The answers whose thinking does not fit, and the last one whose thinking the model sees."""
        misplaced = self._misplaced(forms)
        last, found = _NEVER, list[int]()
        for index, thought in enumerate(self._thoughts):
            if not sent(thought.seq):
                continue
            follows = last in (_NEVER, thought.previous)
            if misplaced[index] or not follows:
                found.append(thought.seq)
            else:
                last = thought.seq
        return tuple(found), last

    def _misplaced(self, forms: Mapping[Place, Form]) -> list[bool]:
        """Of each answer, whether something before it has another form now than when it was asked for."""
        seqs, asked = [one.seq for one in self._thoughts], [one.asked for one in self._thoughts]
        edges = [0] * (len(seqs) + 1)
        for place in {*self._forms, *forms}:
            history = [(_NEVER, None), *self._forms.get(place, ())]
            now = forms[place] if place in forms else history[-1][1]
            first = bisect_right(seqs, place)
            for (since, form), (until, _) in pairwise([*history, (1 << 62, None)]):
                if form != now:
                    edges[max(first, bisect_left(asked, since))] += 1
                    edges[max(first, bisect_left(asked, until))] -= 1
        open_ranges, found = 0, list[bool]()
        for edge in edges[:-1]:
            open_ranges += edge
            found.append(open_ranges > 0)
        return found
