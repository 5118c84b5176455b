"""superseded: clear results that a later one replaces, such as outdated reads and repeated searches.

A read or an attachment is superseded by a later one of the same path that covers its lines, by a later write of the
whole file, and, unless it is the newest read before it, by a later edit. A listing or search is superseded by a later
one with the same input. Both results must have succeeded. Reads, listings and searches count only while they show
their original; edits and writes count while their exchange is there, because the call shows what was written.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.reads import END, Lines, changes_files, file_of, lines_shown, shows_file
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.codec import canonical
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Text
from prunecli.model.todos import TOOL

Kind: TypeAlias = Literal["shows", "changes part", "changes all"]

_SEQ = attrgetter("seq")
_WHOLE = Lines(1, END, END, (1, END))


@dataclass(frozen=True, slots=True)
class Options:
    """No options."""


def propose(view: View, options: Options) -> Proposal:
    """Clear every result that a later one supersedes."""
    edits: list[Edit] = []
    unnamed: tuple[Entry | None, Edit | None] = (None, None)
    clears = view.measured("superseded: clears", lambda _: unnamed)
    for entry, by in superseded(view):
        named, edit = clears[entry]
        if named is not by and (edit or named is None):  # don't retry a clear that saves nothing
            edit = _cleared(view, entry, by.seq)
            clears[entry] = by, edit
        if edit:
            edits.append(edit)
    edits = sorted([*edits, *outdated_lists(view, edits)], key=_SEQ)
    return Proposal(tuple(edits), f"{len(edits)} results are superseded", lambda _: "not superseded")


def _cleared(view: View, entry: Entry, by: int) -> Edit | None:
    if view.locked(entry):
        return None
    return view.replaced("clear", entry, view.placeholder(entry, f"superseded by entry {by}"))


@dataclass(frozen=True, slots=True)
class _Fact:
    """A result that supersedes others or may be superseded. `about` is its file or search."""

    seq: int
    entry: Entry
    about: Hashable
    kind: Kind
    lines: Lines = _WHOLE


class _Group:
    """The facts about one file or search, in log order.

    `open`: the reads that are not superseded. `by` maps a read to the later fact that superseded it, which may itself
    be superseded by now.
    """

    def __init__(self) -> None:
        self._facts: list[_Fact] = []
        self._open: list[_Fact] = []
        self._by: dict[Entry, Entry] = {}

    def superseded(self, facts: list[_Fact]) -> Mapping[Entry, Entry]:
        """Map each superseded result to the one that supersedes it.

        Only new facts are examined, unless an earlier one was added or removed.
        """
        known = len(self._facts)
        if facts == self._facts:
            return self._by
        if facts[:known] != self._facts:
            known, self._open, self._by = 0, [], {}
        for fact in facts[known:]:
            self._add(fact)
        self._facts = facts
        for entry in self._by:
            self._by[entry] = self._newest(entry)
        return self._by

    def _add(self, fact: _Fact) -> None:
        if fact.kind == "changes part":
            gone, left = self._open[:-1], self._open[-1:]
        elif fact.kind == "changes all":
            gone, left = self._open, []
        else:
            gone = [other for other in self._open if fact.lines.covers(other.lines)]
            left = [*(other for other in self._open if other not in gone), fact]
        self._by.update((other.entry, fact.entry) for other in gone)
        self._open = left

    def _newest(self, entry: Entry) -> Entry:
        while entry in self._by:
            entry = self._by[entry]
        return entry


def superseded(view: View) -> list[tuple[Entry, Entry]]:
    """Return the superseded results, each with the result that supersedes it."""
    known: Mapping[Exchange, list[_Fact]] = view.measured(
        "superseded: facts", lambda exchange: _facts(view, exchange)
    )
    facts = [fact for exchange in view.exchanges for fact in known[exchange]]
    facts += [fact for one in view.results if one.is_attached and (fact := _fact(view, one))]
    facts.sort(key=_SEQ)
    about: defaultdict[Hashable, list[_Fact]] = defaultdict(list)
    for fact in facts:
        about[fact.about].append(fact)
    groups = view.kept("superseded: groups", lambda: defaultdict[Hashable, _Group](_Group))
    return [pair for key, those in about.items() for pair in groups[key].superseded(those).items()]


def _facts(view: View, exchange: Exchange) -> list[_Fact]:
    return [fact for result in exchange.results if (fact := _fact(view, result))]


def _fact(view: View, entry: Entry) -> _Fact | None:
    call, touches = entry.call, entry.touches
    if call is None or touches is None or touches.runs or entry.is_error:
        return None
    path = file_of(entry)
    if changes_files(entry):
        return (
            _Fact(entry.seq, entry, path, "changes part" if touches.reads else "changes all")
            if path
            else None
        )
    if view.text_edit(entry) is not None:
        return None
    if shows_file(entry):
        return _Fact(entry.seq, entry, path, "shows", lines_shown(entry)) if path else None
    if touches.is_nothing:
        return None
    return _Fact(entry.seq, entry, (call.name, canonical(dict(call.input))), "shows")


def outdated_lists(view: View, edits: Sequence[Edit]) -> list[Edit]:
    """Return the drops of replaced lists after the first of these edits.

    Only exchanges that consist of such calls, without text by the model, are dropped.
    """
    current = view.context.todo.exchange if view.context.todo else None
    if current is None or not edits:
        return []
    first = min(edit.seq for edit in edits)
    replaced = (one for one in view.exchanges if first < one.seq < current.seq and _holds_only_lists(one))
    drops = [drop for one in replaced if (drop := view.drop_unless_locked(one))]
    return [edit for edit in view.keeping_thinking(drops) if edit.seq not in {one.seq for one in edits}]


def _holds_only_lists(exchange: Exchange) -> bool:
    event = exchange.head.event
    words = isinstance(event, AssistantMessage) and any(isinstance(one, Text) for one in event.content)
    return bool(exchange.calls) and not words and all(call.name == TOOL for call in exchange.calls)
