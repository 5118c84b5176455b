"""Summaries in the fold: what a summary replaces, and taking the newest one back."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from prunecli.context.exchange import Entry, summary_entry
from prunecli.context.item_order import Fold, covers, in_order, refile, replaced, words_behind, words_left
from prunecli.context.thoughts import Place, Thoughts, before_all, form_of
from prunecli.model.claude import is_bound
from prunecli.model.events import AttemptBilled, CompactionApplied, Record


class Replaced(NamedTuple):
    """What a summary in effect replaced, and the boundary and the summaries with user messages before it."""

    summary: Entry
    items: Sequence[Entry]
    boundary: int
    beside: Sequence[Entry]


class Ahead:
    """The summary that was prepared last, with what it cost, until another one is in effect.

    `is_used`: each one that was prepared so far was used, on any branch.
    """

    def __init__(self) -> None:
        self.billed: AttemptBilled | None = None
        self.is_used = True

    def apply(self, record: Record) -> None:
        """Follow one more record."""
        match record.event:
            case AttemptBilled(prepared=CompactionApplied()) as billed:
                self.billed, self.is_used = billed, False
            case CompactionApplied(summary, usage=usage):
                ready = self.billed.prepared if self.billed else None
                paid = ready is not None and ready.summary == summary and not usage.prompt_tokens
                self.is_used |= paid
                self.billed = None
            case _:
                pass


class _Weighing(Protocol):
    """What a summary needs of the record of lost thinking."""

    def weigh(self, head: Entry) -> None: ...

    def taken_back(self, seq: int) -> None: ...


class Context(Fold, Protocol):
    """The parts of the fold that a summary changes."""

    summaries: list[Replaced]
    beside: list[Entry]
    words: dict[int, list[Entry]]
    places: dict[int, int]
    signed: set[int]
    user_turns: list[int]
    thoughts: Thoughts

    @property
    def unseen(self) -> _Weighing: ...

    def thought_place(self, head: int) -> Place: ...


def compact(context: Context, record: Record, event: CompactionApplied) -> None:
    """Fold a summary: it takes the place of its range, and what it keeps is protected."""
    context.cache.summarized(event.model, event.usage, record.timestamp)
    summary = context.entries[record.seq] = summary_entry(record, event)
    gone = [item for item in context.items if covers(event, item)]
    context.summaries.append(Replaced(summary, gone, context.boundary, context.beside))
    for item in gone:
        item.forget_wire()
    rest = [item for item in context.items if not covers(event, item)]
    context.boundary, context.items = record.seq, in_order([*rest, summary])
    left = words_left(event, context.beside)
    context.beside, summary.beside = (
        [*left, *[summary] * bool(summary.words)],
        replaced(left, context.items),
    )
    _lay_out(context)
    context.counts.keep(context.places)
    context.unseen.weigh(summary)
    if summary.block and is_bound(event.model) and context.items[0] is summary:
        context.signed.add(summary.seq)
        context.thoughts.changed(before_all(summary.seq), record.seq, None)  # later thinking stays valid
    else:
        context.thoughts.changed(event.head_end + 0.5, record.seq, (event.summary, event.tail_start))


def take_back(context: Context, seq: int = -1, *, at: int) -> None:
    """Fold the undo of the newest summary, at record `at`: what it replaced is shown again, under the edits made so
    far. Any other seq has no effect."""
    if not context.summaries or context.summaries[-1].summary.seq != seq:
        return
    summary, gone, context.boundary, beside = context.summaries.pop()
    context.beside = list(beside)
    rest = [item for item in context.items if item is not summary]
    context.items = in_order([*rest, *gone])
    _lay_out(context)
    thoughts, event = context.thoughts, summary.event
    if summary.seq in context.signed:
        context.signed.discard(summary.seq)
        thoughts.ended(before_all(summary.seq), at)
    elif isinstance(event, CompactionApplied):
        place = event.head_end + 0.5
        thoughts.changed(place, at, thoughts.form_before(place, summary.seq))
    for head in gone:  # its edits may have changed while it was summarized
        place, now = context.thought_place(head.seq), form_of(context, head)
        if now != thoughts.form_before(place, at):
            thoughts.changed(place, at, now)
    context.counts.keep(context.places)
    context.unseen.taken_back(seq)
    for item in context.items:
        context.unseen.weigh(item)


def _lay_out(context: Context) -> None:
    """Bring everything up to date that follows from the items and the boundary."""
    context.words = words_behind(context.items, context.beside)
    context.places = {item.seq: index for index, item in enumerate(context.items)}
    since = [item for item in context.items if item.seq > context.boundary]
    context.live_exchanges, context.live_results, context.trimmed_results = [], [], []
    context.user_turns = [item.seq for item in since if item.opens_turn]
    for item in since:
        refile(context, item)
    context.wire.rebuild(context.items)
    context.cache.replaced()
