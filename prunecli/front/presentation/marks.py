"""Tracks which edits apply to which records, for the marks on the screen.

Mirrors the session fold for the same events, but for display rather than for the request.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from prunecli.model.edits import Edit
from prunecli.util.figures import short

Saved: TypeAlias = Callable[[int, Edit], int]


class Marks:
    """The edits by target. A result belongs to the assistant message that made the call."""

    def __init__(self) -> None:
        self._stacks: dict[int, list[tuple[int, Edit]]] = {}
        self._targets: dict[int, tuple[int, ...]] = {}
        self._results: dict[int, list[int]] = {}
        self._heads: dict[int, int] = {}

    def answered(self, head: int, result: int) -> None:
        self._results.setdefault(head, []).append(result)
        self._heads[result] = head

    def prune(self, seq: int, edits: Iterable[Edit]) -> set[int]:
        """Apply a prune; return the records whose mark may have changed."""
        targets = []
        for edit in edits:
            if edit.kind != "memo":
                self._stacks.setdefault(edit.seq, []).append((seq, edit))
                targets.append(edit.seq)
        self._targets[seq] = tuple(targets)
        return self._touched(targets)

    def revert(self, seqs: Iterable[int]) -> set[int]:
        """Revert prunes or single targets; return the records whose mark may have changed."""
        touched: set[int] = set()
        for seq in seqs:
            if seq in self._targets:
                targets = self._targets[seq]
                for target in targets:
                    self._stacks[target] = [pair for pair in self._stacks.get(target, ()) if pair[0] != seq]
                touched |= self._touched(targets)
            else:
                self._stacks.pop(seq, None)
                touched |= self._touched([seq])
        return touched

    def is_undone(self, prun: int) -> bool:
        targets = self._targets[prun]
        stacks = (self._stacks.get(target, ()) for target in targets)
        return bool(targets) and not any(prun == seq for stack in stacks for seq, _ in stack)

    def _touched(self, targets: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for target in targets:
            found |= {target, *self._results.get(target, ())}
        return found

    def on(self, seq: int) -> tuple[int, Edit] | None:
        """Return the edit to show on a record, with its prune: a drop of its exchange, or else its own newest
        edit."""
        for where in (self._heads.get(seq), seq):
            stack = self._stacks.get(where, []) if where is not None else []
            dropping = [pair for pair in stack if pair[1].kind == "drop"]
            if dropping:
                return dropping[-1]
        stack = self._stacks.get(seq, [])
        return stack[-1] if stack else None


def raw_saved(prun: int, edit: Edit) -> int:  # noqa: ARG001  # the signature of `Saved`
    """Return the raw tokens that an edit saves."""
    return edit.tokens_saved


def label(made: tuple[int, Edit] | None, tokens: int | None, saved: Saved = raw_saved) -> str:
    """Return the text of a mark.

    `tokens` is the entry's own size, since a dropped exchange has several entries. `saved` returns the tokens that an
    edit of a prune saves.
    """
    if made is None:
        return ""
    match made[1].kind:
        case "drop":
            return f"pruned ~{short(tokens)}" if tokens else "pruned"
        case "repair":
            return "repaired"
        case "strip":
            return "not sent again"
        case _:
            return f"pruned ~{short(saved(*made))}"
