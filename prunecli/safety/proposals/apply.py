"""Applies a proposal to the folders below its layer, whole or not at all, and only if they are as they were.

First everything new is copied beside (`staging.py`), then the steps are written down (`journal.py`), then they are
taken (`steps.py`). Where one fails, those before it are taken back.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from prunecli.safety.proposals import journal, steps
from prunecli.safety.proposals.changes import Change, Proposal
from prunecli.safety.proposals.journal import Journal, Kind, Pair, Step
from prunecli.safety.proposals.layer import remove
from prunecli.safety.proposals.staging import Staging
from prunecli.safety.proposals.states import FOLDER, State, identity_of
from prunecli.safety.proposals.steps import Tick
from prunecli.safety.sandbox.real_folders import opened
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MARK = ".prunecli-applying-"
"""The beginning of the name of a folder in a workspace, where the layer is on another disk."""
_WRITE = 0o300


@frozen
class Applied:
    """The paths that were changed."""

    paths: tuple[str, ...]


@frozen
class Stale:
    """The paths that were changed since the commands saw them: nothing was applied."""

    paths: tuple[str, ...]


def apply(proposal: Proposal, tick: Tick = lambda: None) -> Applied | Stale:
    """Apply a proposal. Raises ToolError with everything as before, or with the paths where that could not be had."""
    if proposal.refused:
        path, why = proposal.refused[0]
        raise ToolError(f"Nothing was applied: {path} {why}.")
    gone = {change.full for change in proposal.changes if change.after is None}
    stale = [*proposal.stale, *(one.full for one in proposal.changes if not _is_based(one, gone))]
    if stale:
        return Stale(tuple(dict.fromkeys(stale)))
    folder = proposal.layer.folder
    places = [(root, _place(folder, root, number)) for number, root in enumerate(proposal.layer.roots)]
    plan = Journal(tuple(places))
    try:
        tick()
        journal.write(folder, plan)  # so that what a crash leaves is found
        plan = _prepared(proposal, plan, tick)
        tick()
        journal.write(folder, plan)
        steps.forward(plan, tick)
        _check_gone(plan, gone)
    except (OSError, ToolError) as error:
        _take_back(folder, plan, tick)
        why = f"{error.filename or ''} {error.strerror}".strip() if isinstance(error, OSError) else str(error)
        raise ToolError(f"Nothing was applied: {why.rstrip('.')}.") from error
    end(folder, plan, tick)
    return Applied(tuple(dict.fromkeys(change.full for change in proposal.changes)))


def _take_back(folder: str, plan: Journal, tick: Tick) -> None:
    back = replace(plan, back=True)
    with suppress(OSError):  # a full disk; then a crash now is carried forward
        tick()
        journal.write(folder, back)
    steps.backward(back, tick)
    end(folder, back, tick)


def end(folder: str, plan: Journal, tick: Tick = lambda: None) -> None:
    """Remove what the steps of a layer left behind, then forget them."""
    with suppress(OSError):  # a full disk; then a crash now repeats steps that are done
        tick()
        journal.write(folder, replace(plan, over=True))
    for _, place in plan.roots:
        tick()
        remove(place)
    tick()
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, journal.NAME))


def _is_based(change: Change, gone: set[str]) -> bool:
    """Return whether the path is still what the frozen change is based on."""
    folder, _, name = change.path.rpartition("/")
    try:
        with opened(os.path.join(change.root, folder), below=change.root) as above:
            status = os.lstat(name or ".", dir_fd=above)
    except OSError:  # missing, or in a folder that is missing or new
        return change.before is None
    if change.before is None:
        return change.full in gone
    return identity_of(status) == change.before.identity


def _place(folder: str, root: str, number: int) -> str:
    """Return the path for what comes to a root and what goes: in the layer if that is on the same mount."""
    here, there = os.open(folder, FOLDER), os.open(root, FOLDER)
    try:
        if _mount(here) == _mount(there):
            return os.path.join(folder, f"{number}.moves")
        return os.path.join(root, MARK + os.path.basename(folder))
    finally:
        os.close(here)
        os.close(there)


def _mount(descriptor: int) -> tuple[int, str]:
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
        return os.fstat(descriptor).st_dev, next(line for line in file if line.startswith("mnt_id:"))


def _prepared(proposal: Proposal, plan: Journal, tick: Tick) -> Journal:
    """Copy everything new, and return the steps."""
    found = list[Step]()
    for number, (root, place) in enumerate(plan.roots):
        changes = [change for change in proposal.changes if change.root == root]
        if not changes:
            continue
        tick()
        os.mkdir(place, 0o700)
        tick()
        with ExitStack() as stack:
            upper = stack.enter_context(opened(proposal.layer.upper(root), flags=FOLDER))
            staging = Staging(stack.enter_context(opened(place, flags=FOLDER)), upper, root)
            found += _Plan(number, root, changes, staging, len(found)).steps()
            staging.finish()
            tick()
    return Journal(plan.roots, tuple(found))


class _Plan:
    """The steps for one root, numbered from `first` on."""

    def __init__(self, root: int, path: str, changes: Sequence[Change], staging: Staging, first: int) -> None:
        self._root, self._path, self._changes = root, path, changes
        self._staging, self._next = staging, first
        self._below = defaultdict[str, list[Change]](list)
        """What is new in each new folder."""
        self._new = {
            one.path for one in changes if one.before is None and one.after and one.after.what == "folder"
        }
        self._gone = {one.path for one in changes if one.after is None}
        for change in changes:
            if change.before is None and _above(change.path) in self._new:
                self._below[_above(change.path)].append(change)

    def steps(self) -> list[Step]:
        """Return the steps in order: what goes, what comes, then modes, those of inner folders first."""
        places = [self._placed(one) for one in self._changes if self._comes(one)]
        removes = [self._step("remove", one) for one in self._changes if self._goes(one)]
        modes = [self._mode(one) for one in self._changes if _changes_mode(one)]
        shut = [self._mode(one, new=step.new) for step, one in places if _is_shut(one.after)]
        first = list(self._opened([*removes, *(step for step, _ in places)]))
        done = {step.path for step in modes}
        back = [replace(step, modes=step.modes[::-1]) for step in first if step.path not in done]
        last = sorted((*modes, *shut, *back), key=lambda step: step.path.count("/") + bool(step.path))
        return [*first, *removes, *(step for step, _ in places), *reversed(last)]

    def _goes(self, change: Change) -> bool:
        return change.after is None and _above(change.path) not in self._gone

    def _comes(self, change: Change) -> bool:
        inside = change.before is None and _above(change.path) in self._new
        return change.after is not None and not inside and not change.is_mode

    def _step(self, kind: Kind, change: Change) -> Step:
        self._next += 1
        pair = change.before.identity[:2] if change.before else None
        return Step(kind, self._next, self._root, change.path, pair)

    def _placed(self, change: Change) -> tuple[Step, Change]:
        step = self._step("fill" if change.in_place else "place", change)
        name = f"new.{step.number}"
        with self._staging.source(change.path) as upper:
            self._staging.bring(name, upper, change, self._below)
        if change.in_place:
            self._staging.keep(f"old.{step.number}", change)
        status = os.lstat(name, dir_fd=self._staging.folder)
        if _is_shut(change.after):  # its owner could not move it
            os.chmod(name, status.st_mode & 0o7777 | 0o700, dir_fd=self._staging.folder)
        return replace(step, new=(status.st_dev, status.st_ino)), change

    def _mode(self, change: Change, new: Pair | None = None) -> Step:
        modes = [state.mode if state else 0o700 for state in (change.before, change.after)]
        step = self._step("mode", change)
        return replace(step, before=new or step.before, modes=(modes[0], modes[1]))

    def _opened(self, moves: Sequence[Step]) -> Iterator[Step]:
        """Yield steps that open what moves and the folders that it moves in, where their owner can't write."""
        gone = [step.path for step in moves if step.kind == "remove"]
        for path in dict.fromkeys((*(_above(step.path) for step in moves), *gone)):
            folder, _, name = path.rpartition("/")
            with opened(os.path.join(self._path, folder), below=self._path) as above:
                status = os.lstat(name or ".", dir_fd=above)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISDIR(status.st_mode) and mode & _WRITE != _WRITE and os.geteuid() != 0:
                pair, self._next = (status.st_dev, status.st_ino), self._next + 1
                yield Step("mode", self._next, self._root, path, pair, None, (mode, mode | 0o700))


def _changes_mode(change: Change) -> bool:
    return change.is_mode or (
        change.in_place
        and change.before is not None
        and change.after is not None
        and change.before.mode != change.after.mode
    )


def _is_shut(state: State | None) -> bool:
    return state is not None and state.what == "folder" and state.mode & _WRITE != _WRITE


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _check_gone(plan: Journal, gone: set[str]) -> None:
    """Raise ToolError if a folder that was taken away held something that was not shown."""
    for step in plan.steps:
        if step.kind == "remove":
            root, place = plan.roots[step.root]
            top = os.path.join(place, f"old.{step.number}")
            for path, folders, files in os.walk(top):
                here = os.path.join(root, step.path) + path.removeprefix(top)
                for name in (*folders, *files):
                    if os.path.join(here, name) not in gone:
                        raise ToolError(f"{os.path.join(here, name)} was made meanwhile")
