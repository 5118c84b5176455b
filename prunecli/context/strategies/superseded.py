"""superseded: clear results that a later one replaces: reads of what was read or changed since, repeated searches.

Source: PRUNING.md section 4; context/supersession.py has the rules.
"""

from dataclasses import dataclass

from prunecli.context.exchange import Entry
from prunecli.context.strategy import Proposal
from prunecli.context.supersession import Supersession
from prunecli.context.view import View
from prunecli.model.edits import Edit


@dataclass(frozen=True, slots=True)
class Options:
    """No options."""


def propose(view: View, options: Options) -> Proposal:
    """Clears of every result that a later one supersedes."""
    clears = view.follow("superseded", Clears)
    edits = clears.edits(view)
    return Proposal(tuple(edits), f"{len(edits)} results are superseded", lambda _: "not superseded")


class Clears(Supersession):
    """The superseded results with the edits made for them so far."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, tuple[int, Edit]] = {}

    def edits(self, view: View) -> list[Edit]:
        """The clears of now, oldest first. What would not get smaller is not looked at again until it moves."""
        for seq in self.moved:
            known, by, entry = self._made.pop(seq, None), self.by(seq), view.context.entries[seq]
            if by is None or view.locked(entry):
                continue
            edit = known[1] if known and known[0] == by else _cleared(view, entry, by)
            if edit is None:
                self.dismiss(seq)
            else:
                self._made[seq] = by, edit
        self.moved.clear()
        return [self._made[seq][1] for seq in sorted(self._made)]


def _cleared(view: View, entry: Entry, by: int) -> Edit | None:
    return view.replaced("clear", entry, view.placeholder(entry, f"superseded by entry {by}"))
