"""Which results say nothing any more that a later one does not say better (PRUNING.md section 4, `superseded`).

A read is superseded by a later read of the same path that covers its lines, by a later write of the whole file, and,
unless it is the newest read before it, by a later edit. A listing or search is by a later one with the same input.
Only results that succeeded count, on both sides; reads, listings and searches only while they show their original,
edits and writes while their exchange is there, because it is the call that shows what was written.
"""

from bisect import insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from prunecli.context.exchange import Entry
from prunecli.context.reads import END, Lines, file_of, lines_shown
from prunecli.context.view import View
from prunecli.model.codec import canonical

READ, EDIT, WRITE = "read", "edit", "write"
SEARCHES = ("ls", "find", "grep")

_WHOLE = Lines(1, END, END, (1, END))


@dataclass(slots=True, eq=False)
class _Group:
    """Results about one file, or of one search. `open` are those that nothing supersedes, oldest first.

    `by` leads from a result to a later one that superseded it, which may itself have been superseded since;
    `standing` are those of its results that show their original and that nobody has dismissed.
    `broken`: something in the middle came or went. `thinned`: something superseded went.
    """

    shown: dict[int, Lines] = field(default_factory=dict)
    edits: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    by: dict[int, int] = field(default_factory=dict)
    standing: set[int] = field(default_factory=set)
    last: int = -1
    broken: bool = False
    thinned: bool = False

    def read(self, seq: int, lines: Lines) -> list[int]:
        """A result came that is newer than all here; those that it supersedes."""
        gone = [other for other in self.open if lines.covers(self.shown[other])]
        return self._supersede(gone, seq, [*(other for other in self.open if other not in gone), seq])

    def edited(self, seq: int) -> list[int]:
        """An edit came that is newer than all here; those that it supersedes."""
        return self._supersede(self.open[:-1], seq, self.open[-1:])

    def written(self, seq: int) -> list[int]:
        """A write came that is newer than all here; those that it supersedes."""
        return self._supersede(self.open, seq, [])

    def _supersede(self, gone: list[int], seq: int, left: list[int]) -> list[int]:
        self.by.update(dict.fromkeys(gone, seq))
        self.open, self.last = left, seq
        return gone

    def settle(self) -> bool:
        """Works everything out again where what is left may owe its state to what came or went; whether so."""
        again = self.broken or (self.thinned and len(self.shown) > len(self.open))
        if self.thinned and not again:
            self.by.clear()
        self.broken = self.thinned = False
        if again:
            self._rebuild()
            self.standing = self.by.keys() & self.shown.keys()
        return again

    def _rebuild(self) -> None:
        self.open, self.by, self.last = [], {}, -1
        for seq in sorted((*self.shown, *self.edits, *self.writes)):
            if seq in self.shown:
                self.read(seq, self.shown[seq])
            elif seq in self.edits:
                self.edited(seq)
            else:
                self.written(seq)

    def newest(self, seq: int) -> int:
        """The result that supersedes this one and is not itself superseded."""
        passed = []
        while seq in self.by:
            passed.append(seq)
            seq = self.by[seq]
        self.by.update(dict.fromkeys(passed, seq))
        return seq


class Supersession:
    """Follows the fold: which results show their original and need not.

    `moved` are the seqs of those of which that, or what supersedes them, or what locks them may have changed;
    whoever reads it empties it.
    """

    def __init__(self) -> None:
        self.moved: set[int] = set()
        self._groups: dict[Hashable, _Group] = {}
        self._home: dict[int, _Group] = {}

    def by(self, seq: int) -> int | None:
        """The entry that supersedes a result; None where none does, or the result was dismissed."""
        group = self._home[seq]
        return group.newest(seq) if seq in group.standing else None

    def dismiss(self, seq: int) -> None:
        """A superseded result is not to be named any more until it is touched or its group is worked out again."""
        self._home[seq].standing.discard(seq)

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        groups = dict[_Group, None]()
        for entry in touched:
            if entry.kind != "result" or entry.is_error or (key := _key(entry)) is None:
                continue
            group = self._home.setdefault(entry.seq, self._groups.setdefault(key, _Group()))
            groups[group] = None
            self.moved.add(entry.seq)
            group.standing.discard(entry.seq)
            changes = entry.tool_name in (EDIT, WRITE)
            group.standing.update((_changed if changes else _moved)(view, entry, group))
        for group in groups:
            self.moved |= group.standing
            if group.settle():
                self.moved |= group.shown.keys()


def _moved(view: View, entry: Entry, group: _Group) -> list[int]:
    """Notes what became of a read or a search; the entries of its group that are superseded now, itself too."""
    seq, live = entry.seq, view.live(entry)
    if live and seq in group.shown:
        return [seq] if seq in group.by else []
    if live:
        group.shown[seq] = lines_shown(entry) if entry.tool_name == READ else _WHOLE
        if seq > group.last and not group.broken:
            return group.read(seq, group.shown[seq])
        group.broken = True
    elif group.shown.pop(seq, None):
        group.broken |= seq in group.open
        group.thinned = True
    return []


def _changed(view: View, entry: Entry, group: _Group) -> list[int]:
    """Notes that a file was edited or written, or that the exchange which did so came or went; what that
    supersedes."""
    seq, present = entry.seq, view.shows(entry)
    where = group.edits if entry.tool_name == EDIT else group.writes
    if present and seq > group.last and not group.broken:
        where.append(seq)
        return group.edited(seq) if entry.tool_name == EDIT else group.written(seq)
    if present != (seq in where):
        group.broken = True
        if present:
            insort(where, seq)
        else:
            where.remove(seq)
    return []


def _key(entry: Entry) -> Hashable | None:
    """What a result is about: a file, or a search; None for anything else."""
    call = entry.call
    if call is None:
        return None
    if call.name in SEARCHES:
        return call.name, canonical(dict(call.input))
    if call.name not in (READ, EDIT, WRITE):
        return None
    return file_of(entry) or None
