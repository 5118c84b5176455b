"""Takes the steps of a journal, forwards or back: from descriptor to descriptor, never through a link.

Whether a step was taken is read from the disk, so that each can be repeated after a crash.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from prunecli.safety.proposals.journal import Journal, Pair, Step
from prunecli.safety.proposals.staging import write_over
from prunecli.safety.proposals.states import READ
from prunecli.safety.sandbox.real_folders import opened
from prunecli.util.errors import ToolError
from prunecli.util.file_systems import sync_file
from prunecli.util.frozen import frozen

Tick = Callable[[], None]
"""Called before each change of the disk; tests end the program there, or fill the disk."""
_SEEN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


def forward(plan: Journal, tick: Tick = lambda: None) -> None:
    """Take all steps. Raises OSError or ToolError at the first that is not possible."""
    with _opened(plan, tick) as places:
        for step in plan.steps:
            with places.at(step) as here:
                tick()
                _DO[step.kind](step, here)


def backward(plan: Journal, tick: Tick = lambda: None) -> None:
    """Take back the steps that were taken. Raises ToolError with the paths where that is not possible."""
    lost = list[str]()
    with _opened(plan, tick) as places:
        for step in reversed(plan.steps):
            try:
                with places.at(step) as here:
                    tick()
                    if step.kind in ("place", "remove") or here.pair() == step.before:
                        _UNDO[step.kind](step, here)
            except (OSError, ToolError):
                lost.append(os.path.join(plan.roots[step.root][0], step.path))
    if lost:
        kept = ", ".join(place for _, place in plan.roots if os.path.exists(place))
        raise ToolError(f"what was at {', '.join(lost)} could not be brought back; it is in {kept}")


@frozen
class _Here:
    """Where a step is taken: the open folder, the name in it, and the open folder of what comes and goes."""

    folder: int
    name: str
    place: int
    tick: "Tick"

    def pair(self) -> Pair | None:
        return _pair(self.name, self.folder)


class _Places:
    def __init__(self, plan: Journal, stack: ExitStack, tick: Tick) -> None:
        self._tick = tick
        self._roots = [root for root, _ in plan.roots]
        self._places = {
            number: stack.enter_context(opened(plan.roots[number][1]))
            for number in {step.root for step in plan.steps}
        }

    @contextmanager
    def at(self, step: Step) -> Iterator[_Here]:
        root = self._roots[step.root]
        folder, _, name = step.path.rpartition("/")
        with opened(os.path.join(root, folder), below=root) as above:
            yield _Here(above, name or ".", self._places[step.root], self._tick)


@contextmanager
def _opened(plan: Journal, tick: Tick) -> Iterator[_Places]:
    with ExitStack() as stack:
        yield _Places(plan, stack, tick)


def _pair(name: str, folder: int) -> Pair | None:
    try:
        status = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _place(step: Step, here: _Here) -> None:
    old, new, found = f"old.{step.number}", f"new.{step.number}", here.pair()
    if found == step.new:
        return
    if step.before and found == step.before:
        _keep(old, here)
    elif found is not None or (step.before and _pair(old, here.place) != step.before):
        raise _changed(step)
    here.tick()
    os.rename(new, here.name, src_dir_fd=here.place, dst_dir_fd=here.folder)


def _keep(old: str, here: _Here) -> None:
    """Keep what will be replaced, without a moment in which the name is missing if the disk allows it."""
    try:
        os.link(here.name, old, src_dir_fd=here.folder, dst_dir_fd=here.place, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError:
        os.rename(here.name, old, src_dir_fd=here.folder, dst_dir_fd=here.place)


def _unplace(step: Step, here: _Here) -> None:
    old, new, found = f"old.{step.number}", f"new.{step.number}", here.pair()
    if _pair(new, here.place) == step.new:  # it was not placed
        if found is None and step.before and _pair(old, here.place) == step.before:
            os.rename(old, here.name, src_dir_fd=here.place, dst_dir_fd=here.folder)
    elif found != step.new:
        raise _changed(step)
    elif step.before is None:
        os.rename(here.name, new, src_dir_fd=here.folder, dst_dir_fd=here.place)
    else:
        os.rename(old, here.name, src_dir_fd=here.place, dst_dir_fd=here.folder)


def _remove(step: Step, here: _Here) -> None:
    old, found = f"old.{step.number}", here.pair()
    if _pair(old, here.place) == step.before:
        return
    if found != step.before:
        raise _changed(step)
    os.rename(here.name, old, src_dir_fd=here.folder, dst_dir_fd=here.place)


def _bring_back(step: Step, here: _Here) -> None:
    old = f"old.{step.number}"
    if _pair(old, here.place) is None:
        return  # it was not taken away
    if here.pair() is not None:
        raise _changed(step)
    os.rename(old, here.name, src_dir_fd=here.place, dst_dir_fd=here.folder)


def _set_mode(mode: int, step: Step, here: _Here) -> None:
    descriptor = os.open(here.name, _SEEN, dir_fd=here.folder)
    try:
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) != step.before:
            raise _changed(step)
        os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


def _fill(source: str, step: Step, here: _Here) -> None:
    target = os.open(here.name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here.folder)
    try:
        status = os.fstat(target)
        if (status.st_dev, status.st_ino) != step.before:
            raise _changed(step)
        given = os.open(source, READ, dir_fd=here.place)
        try:
            write_over(given, target)
            sync_file(target)
        finally:
            os.close(given)
    finally:
        os.close(target)


def _changed(step: Step) -> ToolError:
    return ToolError(f"{step.path} was changed meanwhile")


_Taking = Callable[[Step, _Here], None]
_DO: dict[str, _Taking] = {
    "place": _place,
    "remove": _remove,
    "fill": lambda step, here: _fill(f"new.{step.number}", step, here),
    "mode": lambda step, here: _set_mode(step.modes[1], step, here),
}
_UNDO: dict[str, _Taking] = {
    "place": _unplace,
    "remove": _bring_back,
    "fill": lambda step, here: _fill(f"old.{step.number}", step, here),
    "mode": lambda step, here: _set_mode(step.modes[0], step, here),
}
