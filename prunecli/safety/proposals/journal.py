"""The steps of applying, written down before the first: after a crash they are taken to the end, or back.

Each step tells by itself whether it was done: by what is at its path, which no two steps share.
"""

import json
from pathlib import Path
from typing import Any, Literal

from prunecli.util.frozen import frozen
from prunecli.util.private_file import write_private

NAME = "journal"
Kind = Literal["place", "remove", "mode", "fill"]
Pair = tuple[int, int]
"""Device and inode."""


@frozen
class Step:
    """One step at `path` below the root with this number.

    `kind`: "place" puts `new.N` there, "remove" takes away what is there, "mode" sets a mode, "fill" writes the
    content of `new.N` into the file there, which has other names. What was there goes to `old.N`. `before` is what
    was there, None for nothing, `new` what comes. `modes` are the old and the new mode.
    """

    kind: Kind
    number: int
    root: int
    path: str
    before: Pair | None = None
    new: Pair | None = None
    modes: tuple[int, int] = (0, 0)


@frozen
class Journal:
    """The steps, forwards or `back`. `roots` are the folders with the folder of what comes and goes for each. `over`:
    all were taken, and only that is left to remove."""

    roots: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...] = ()
    back: bool = False
    over: bool = False


def write(folder: str, journal: Journal) -> None:
    """Write the journal of a layer, durably. Raises OSError."""
    steps = [
        [step.kind, step.number, step.root, step.path, step.before, step.new, step.modes]
        for step in journal.steps
    ]
    data = {"roots": journal.roots, "steps": steps, "back": journal.back, "over": journal.over}
    write_private(Path(folder, NAME), json.dumps(data).encode(), sync=True)


def read(folder: str) -> Journal | None:
    """Return the journal of a layer, None if there is none. Raises OSError and ValueError."""
    try:
        data: Any = json.loads(Path(folder, NAME).read_bytes())
    except FileNotFoundError:
        return None
    steps = tuple(
        Step(kind, number, root, path, _pair(before), _pair(new), tuple(modes))
        for kind, number, root, path, before, new, modes in data["steps"]
    )
    return Journal(tuple((one, two) for one, two in data["roots"]), steps, data["back"], data["over"])


def _pair(given: list[int] | None) -> Pair | None:
    return (given[0], given[1]) if given else None
