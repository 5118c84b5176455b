"""superseded: prune results that a later one replaces, such as outdated reads and repeated searches.

A read or an attachment is superseded by a later one of the same path that covers its lines, by a later write of the
whole file, and, unless it is the newest read before it, by a later edit. A listing or search is superseded by a later
one with the same input. Both results must have succeeded. Reads, listings and searches count only while they show
their original; edits and writes count while their exchange is there, because the call shows what was written.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
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
from prunecli.util.frozen import frozen

Kind: TypeAlias = Literal["shows", "changes part", "changes all"]

_SEQ = attrgetter("seq")
_WHOLE = Lines(1, END, END, (1, END))


@frozen
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


@frozen
class _Fact:
    """A result that supersedes others or may be superseded. `about` is its file or search."""

    seq: int
    entry: Entry
    about: Hashable
    kind: Kind
    lines: Lines = _WHOLE


class _Groups:
    """All facts in log order, by file or search."""

    def __init__(self) -> None:
        self._facts: list[_Fact] = []
        self._by_subject: dict[Hashable, _Group] = {}

    def superseded(self, facts: list[_Fact]) -> list[tuple[Entry, Entry]]:
        """Return the superseded results, each with the one that supersedes it.

        Only new facts are examined, unless an earlier one was added or removed.
        """
        known = len(self._facts)
        if facts[:known] != self._facts:
            known, self._by_subject = 0, {}
        self._facts = facts
        for fact in facts[known:]:
            self._by_subject.setdefault(fact.about, _Group()).add(fact)
        return [pair for group in self._by_subject.values() for pair in group.superseded.items()]


class _Group:
    """The facts about one file or search.

    `superseded`: for each superseded result, the newest one that supersedes it. `open`: the reads that are not
    superseded.
    """

    def __init__(self) -> None:
        self.superseded: dict[Entry, Entry] = {}
        self._open: list[_Fact] = []

    def add(self, fact: _Fact) -> None:
        """Add a later fact."""
        if fact.kind == "changes part":
            gone, left = self._open[:-1], self._open[-1:]
        elif fact.kind == "changes all":
            gone, left = self._open, []
        else:
            gone = [other for other in self._open if fact.lines.covers(other.lines)]
            left = [*(other for other in self._open if other not in gone), fact]
        if gone:
            by = dict.fromkeys([other.entry for other in gone], fact.entry)
            self.superseded = {one: by.get(last, last) for one, last in self.superseded.items()} | by
        self._open = left


def superseded(view: View) -> list[tuple[Entry, Entry]]:
    """Return the superseded results, each with the result that supersedes it."""
    known: Mapping[Exchange, list[_Fact]] = view.measured(
        "superseded: facts", lambda exchange: _facts(view, exchange.results)
    )
    facts = [fact for exchange in view.exchanges for fact in known[exchange]]
    facts += _facts(
        view, (result for result in view.results if result.exchange is None and result.is_attached)
    )
    facts.sort(key=_SEQ)
    return view.kept("superseded: groups", _Groups).superseded(facts)


class _Known(dict[Entry, _Fact | None]):
    """The facts about results while they show their original, computed on first lookup."""

    def __missing__(self, entry: Entry) -> _Fact | None:
        fact = self[entry] = _fact(entry)
        return fact


def _facts(view: View, results: Iterable[Entry]) -> list[_Fact]:
    known = view.kept("superseded: known", _Known)
    facts = [fact for result in results if (fact := known[result])]
    return [fact for fact in facts if fact.kind != "shows" or view.text_edit(fact.entry) is None]


def _fact(entry: Entry) -> _Fact | None:
    call, touches = entry.call, entry.touches
    if call is None or touches is None or touches.runs or entry.is_error:
        return None
    path = file_of(entry)
    if changes_files(entry):
        kind: Kind = "changes part" if touches.reads else "changes all"
        return _Fact(entry.seq, entry, path, kind) if path else None
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
    replaced = (
        exchange
        for exchange in view.exchanges
        if first < exchange.seq < current.seq and _holds_only_lists(exchange)
    )
    drops = [drop for one in replaced if (drop := view.drop_unless_locked(one))]
    return [edit for edit in view.keeping_thinking(drops) if edit.seq not in {one.seq for one in edits}]


def _holds_only_lists(exchange: Exchange) -> bool:
    event = exchange.head.event
    words = isinstance(event, AssistantMessage) and any(isinstance(one, Text) for one in event.content)
    return bool(exchange.calls) and not words and all(call.name == TOOL for call in exchange.calls)
