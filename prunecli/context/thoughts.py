"""Predicts which thinking the model of the next request sees.

Newer models bind each thinking block, byte for byte, to everything before it in its request, including the previous
thinking block. An endpoint drops (or rejects) blocks whose context has changed, and blocks of another model that the
current model cannot read. `Thoughts` predicts this from the log alone, for the current state and for planned edits.

Only a few entries ever change after they were written. Each of these has a history of its forms, in log order. An
answer fits if every entry before it still has the same form as in that answer's request. Reverting an edit restores
the old form, so the old thinking fits again.

A summary that the endpoint made and signed changes nothing: the endpoint checks later thinking as if the replaced
messages were still there. A summary by the model, or the endpoint's summary sent as text, is a new beginning that no
earlier thinking fits.

The endpoint's reports take precedence over the prediction: after a report, an edit changes the set of dropped blocks
only by what it changes in the prediction.

Not every loss is caused by an edit. If a model wrote thinking while it could not read that of another model, going
back to that one invalidates the newer thinking. `lost_anyway` is what would be lost without any edit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from prunecli.context.exchange import Entry
from prunecli.model.claude import is_bound, may_read
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import thinking_blocks
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.context.item_order import Fold

Form: TypeAlias = object
"""The content of an entry, as a value that is equal if the bytes are equal; None if unedited."""

Place: TypeAlias = float
"""The position of something that may change: an entry's seq, plus a half for a summary after it, or a quarter for its
fixed sentences."""

PREAMBLE_PLACE: Place = -1
"""The position of system prompt and tools: before every entry."""

_SIGNED = "a summary by the endpoint"
"""The form of a prefix that began with a summary taken back since."""
_NEVER = -1
_NONE: frozenset[int] = frozenset()


def before_all(seq: int) -> Place:
    """Return the position of a summary by the endpoint: before every entry, each at its own position."""
    return PREAMBLE_PLACE - 1 - seq


def note_place(seq: int) -> Place:
    """Return the position of the fixed sentences of an entry."""
    return seq + 0.25


def _lasts(place: Place) -> bool:
    return place == PREAMBLE_PLACE or place % 1 == 0.25


def thinks(context: "Fold", seq: int) -> bool:
    """Return whether an answer's thinking is in the request: not dropped, replaced or stripped."""
    entry = context.entries[seq]
    if not context.is_shown(seq) or not entry.is_sent:
        return False
    edits = [edit for _, edit in context.edits_of(seq)]
    if not edits:  # as most have none
        return True
    return not any(edit.kind == "drop" for edit in edits) and not left_out_by(entry, edits)


def left_out_by(entry: Entry, edits: Iterable[Edit]) -> bool:
    """Return whether these edits of an answer leave out its thinking, possibly only that."""
    calls = entry.exchange is not None and bool(entry.exchange.calls)
    gone = ("strip",) if calls else ("strip", "repair")
    return any(edit.kind in gone for edit in edits)


def form(texts: Mapping[int, Edit], memos: Sequence[Edit], *, hidden: bool) -> Form:
    """Return the content of an item with its results, without thinking, under these edits of its parts."""
    shown = None if hidden else tuple(sorted((seq, edit.text) for seq, edit in texts.items()))
    return (shown, tuple(memo.text for memo in memos)) if hidden or texts or memos else None


def form_of(context: "Fold", head: Entry) -> Form:
    """Return the current content of an item with its results, without thinking."""
    parts = head.exchange.entries if head.exchange else [head]
    texts = {part.seq: edit for part in parts if (edit := context.text_edit(part.seq))}
    memos = context.memos_at(head.exchange) if head.exchange else []
    return form(texts, memos, hidden=head.exchange is not None and context.dropped(head.exchange))


@frozen
class _Thought:
    """An answer with thinking.

    It has its seq, the record of its request, the seq of the previous answer with thinking that the model saw (_NEVER
    if none), its number of thinking blocks, and the model that wrote it.
    """

    seq: int
    asked: int
    previous: int
    blocks: int
    writer: str


class _Fits(NamedTuple):
    """The answers whose thinking does not fit, those the model can't read, and the last one it sees."""

    stale: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    last: int = _NEVER


@dataclass(slots=True)
class Thoughts:
    """The thinking of a context.

    `sent(seq)` returns whether an answer's thinking is in the request. `reader` is the model of the next request, and
    `last_request` the record of the last one. `foreign` are the answers whose thinking belongs to another account or
    user. `version` increases whenever `dropped` may change.
    """

    sent: Callable[[int], bool]
    reader: str = ""
    version: int = 0
    last_request: int = _NEVER
    _thoughts: list[_Thought] = field(default_factory=list)
    _writers: set[str] = field(default_factory=set)
    _forms: dict[Place, list[tuple[int, Form]]] = field(default_factory=dict)
    _fits: _Fits | None = None
    _foretold: frozenset[int] | None = None
    _changed_at: int = _NEVER
    _saw: dict[int, tuple[int, int]] = field(default_factory=dict)
    _at_request: frozenset[int] = _NONE
    _last_seen: int = _NEVER
    _reported: frozenset[int] | None = None
    _foreseen: frozenset[int] = _NONE
    foreign: frozenset[int] = _NONE

    # Writing -------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Reset the answers, forms and reports of a branch.

        Keeps the context that each answer saw, and the forms of what is no entry's own: the preamble and fixed
        sentences.
        """
        self._thoughts.clear()
        self._writers.clear()
        self._forms = {place: forms for place, forms in self._forms.items() if _lasts(place)}
        self._changed_at = max([at for forms in self._forms.values() for at, _ in forms], default=_NEVER)
        self._reported = None
        self._moved()

    def model(self, name: str) -> None:
        if name != self.reader:
            self.reader = name
            self._moved()

    def back(self, reader: str, foreign: frozenset[int]) -> None:
        """Forget the reports after a switch of branch: they describe requests with another prompt, model or
        account."""
        self._reported = None
        self.reader, self.foreign = reader, foreign
        self._moved()

    def requested(self, seq: int) -> None:
        """Record a sent request: the next answer saw the context of this record."""
        self.last_request, self._at_request = seq, self._predicted()
        self._last_seen = self._fitting().last

    def reported(self, dropped: Iterable[int], foreign: Iterable[int] = ()) -> None:
        """Record the endpoint's report of the answers whose thinking it dropped from the last request.

        Of those, `foreign` belong to another account or user.
        """
        found, others = frozenset(dropped), frozenset(foreign)
        given = None if found == self._at_request else found  # as predicted
        if given is not None or self._reported is not None or others != self.foreign:
            self._reported, self._foreseen, self.foreign = given, self._at_request, others
            self._moved()

    def answered(self, seq: int, event: AssistantMessage) -> None:
        """Record a response that was folded in."""
        blocks = thinking_blocks(event.content)
        if not blocks:
            return
        fits = self._fitting()
        asked = self.last_request if self.last_request >= 0 else seq
        saw = self._saw.setdefault(seq, (asked, self._last_seen if asked < seq else fits.last))
        thought = _Thought(seq, *saw, blocks, event.model)
        self._thoughts.append(thought)
        self._writers.add(event.model)
        if not self.sent(seq):
            return
        self._fits = self._added(fits, thought)
        if self._fits.last != seq:
            self._foretold = None
            self.version += 1

    def _added(self, fits: _Fits, thought: _Thought) -> _Fits:
        """Return what fits after an answer was added."""
        if not may_read(self.reader, thought.writer):
            return fits._replace(unread=(*fits.unread, thought.seq))
        binds = is_bound(self.reader) and is_bound(thought.writer)
        is_next = fits.last in (_NEVER, thought.previous)
        if binds and (not is_next or self._is_misplaced(thought)):
            return fits._replace(stale=(*fits.stale, thought.seq))
        return fits._replace(last=thought.seq)

    def changed(self, place: Place, at: int, form: Form) -> None:
        """Record a change at record `at`: the content at `place` now has this form, or its thinking is now sent or
        not."""
        self._forms.setdefault(place, []).append((at, form))
        self._changed_at = max(self._changed_at, at)
        self._moved()

    def knows(self, place: Place) -> bool:
        """Return whether a change at this place was recorded."""
        return place in self._forms

    def form_before(self, place: Place, seq: int) -> Form:
        """Return the form of the content at this place before a record."""
        return next((form for at, form in reversed(self._forms.get(place, ())) if at < seq), None)

    def ended(self, place: Place, at: int) -> None:
        """Record that the endpoint's summary at this place was taken back at record `at`.

        Thinking of before it fits again, as it did under it. Thinking that followed it does not.
        """
        history = [(since, form or _SIGNED) for since, form in self._forms.get(place, ())]
        self._forms[place] = history
        self.changed(place, at, None)

    def _moved(self) -> None:
        self._fits = self._foretold = None
        self.version += 1

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def is_any(self) -> bool:
        """Whether any answer of this branch has thinking."""
        return bool(self._thoughts)

    def stale(self) -> tuple[int, ...]:
        """Return the answers whose thinking is sent and no longer fits, oldest first."""
        return self._fitting().stale

    def stale_with(
        self, forms: Callable[[], Mapping[Place, Form]], sent: Callable[[int], bool], reader: str
    ) -> tuple[int, ...]:
        """Return what `stale` would be if entries had these forms, these answers' thinking were sent, and `reader`
        were the model."""
        return self._misfits(forms, sent, reader).stale

    def dropped(self) -> frozenset[int]:
        """Return the answers whose thinking the endpoint will drop from the next request."""
        return self._calibrated(self._predicted(), self.sent)

    def dropped_with(
        self, forms: Callable[[], Mapping[Place, Form]], sent: Callable[[int], bool], reader: str
    ) -> frozenset[int]:
        """Return `dropped` for the same case as `stale_with`."""
        fits = self._misfits(forms, sent, reader)
        return self._calibrated(frozenset((*fits.stale, *fits.unread)), sent)

    def blocks(self, seqs: Iterable[int]) -> int:
        """Return the number of thinking blocks of these answers."""
        wanted = set(seqs)
        return sum(thought.blocks for thought in self._thoughts if thought.seq in wanted) if wanted else 0

    def _predicted(self) -> frozenset[int]:
        if self._foretold is None:
            fits = self._fitting()
            self._foretold = frozenset((*fits.stale, *fits.unread))
        return self._foretold

    def _calibrated(self, now: frozenset[int], sent: Callable[[int], bool]) -> frozenset[int]:
        """Return the blocks that the endpoint drops, given this prediction: the last report plus later changes."""
        if self._reported is None:
            return now
        found = (self._reported - (self._foreseen - now)) | (now - self._foreseen)
        return frozenset(seq for seq in found if sent(seq))

    def _fitting(self) -> _Fits:
        if self._fits is None:
            self._fits = self._misfits(dict, self.sent, self.reader)
        return self._fits

    def _misfits(
        self,
        forms: Callable[[], Mapping[Place, Form]],
        sent: Callable[[int], bool],
        reader: str,
    ) -> _Fits:
        blind = {writer for writer in self._writers if not may_read(reader, writer)}
        binding = {writer for writer in self._writers if is_bound(writer)} if is_bound(reader) else set[str]()
        if not blind and not binding and not self.foreign:
            return _Fits(last=next((one.seq for one in reversed(self._thoughts) if sent(one.seq)), _NEVER))
        misplaced = self._misplaced(forms()) if binding else [False] * len(self._thoughts)
        stale, unread, last = list[int](), list[int](), _NEVER
        for thought, moved in zip(self._thoughts, misplaced, strict=True):
            if not sent(thought.seq):
                continue
            if thought.writer in blind or thought.seq in self.foreign:
                unread.append(thought.seq)
            elif thought.writer in binding and (moved or last not in (_NEVER, thought.previous)):
                stale.append(thought.seq)
            else:
                last = thought.seq
        return _Fits(tuple(stale), tuple(unread), last)

    def _is_misplaced(self, thought: _Thought) -> bool:
        """Return whether any content before an answer has changed since its request."""
        if thought.asked > self._changed_at:
            return False
        for place, history in self._forms.items():
            if place < thought.seq:
                then = next((form for since, form in reversed(history) if since <= thought.asked), None)
                if then != history[-1][1]:
                    return True
        return False

    def _misplaced(self, forms: Mapping[Place, Form]) -> list[bool]:
        """Return for each answer whether any content before it has changed since its request."""
        seqs, asked = (
            [thought.seq for thought in self._thoughts],
            [thought.asked for thought in self._thoughts],
        )
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
