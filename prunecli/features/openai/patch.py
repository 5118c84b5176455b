"""Patches in the form that OpenAI's models are trained on: read, and applied to the text of a file. Pure.

*** Begin Patch
*** Update File: a.py          (also Add File, Delete File; *** Move to: b.py below an update)
@@ def f():                    (an optional line before the place)
 a line that stays
-a line that goes
+a line that comes
*** End Patch
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_FOLDS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
"""How lines are compared: exactly, then without white space at the end, then at both ends."""


@frozen
class Hunk:
    """Lines to find, and those to put there, after the line `anchor` if given. `at_end`: the end of the file."""

    anchor: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool


@frozen
class FilePatch:
    """What happens to one file. `content` is that of a new file, `move` the new path of an updated one."""

    kind: Literal["add", "delete", "update"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    content: str = ""
    move: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, self.move) if self.move else (self.path,)


def parsed(text: str) -> tuple[FilePatch, ...]:
    """Return the files of a patch. Raises ToolError that names the line."""
    lines = text.strip("\n").split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise ToolError(f"A patch begins with {_BEGIN!r} and ends with {_END!r}.")
    found: list[FilePatch] = []
    starts = [at for at, line in enumerate(lines) if line.startswith("*** ") and _head(line)]
    if not starts or starts[0] != 1:
        raise ToolError("Line 2 of the patch: expected *** Add File, *** Delete File or *** Update File.")
    for start, end in zip(starts, [*starts[1:], len(lines) - 1], strict=True):
        kind, path = _head(lines[start]) or ("", "")
        found.append(_file(kind, path, lines[start + 1 : end], start + 2))
    paths = [path for one in found for path in one.paths]
    if len(set(paths)) < len(paths):
        raise ToolError("The patch has the same file twice; put all its changes under one header.")
    return tuple(found)


def _head(line: str) -> tuple[str, str] | None:
    for kind in ("Add", "Delete", "Update"):
        if line.startswith(f"*** {kind} File: "):
            return kind.lower(), line.partition(": ")[2].strip()
    return None


def _file(kind: str, path: str, lines: Sequence[str], number: int) -> FilePatch:
    if kind == "delete":
        if any(line.strip() for line in lines):
            raise ToolError(f"Line {number} of the patch: a deleted file has no lines.")
        return FilePatch("delete", path)
    if kind == "add":
        wrong = next((at for at, line in enumerate(lines) if not line.startswith("+")), None)
        if wrong is not None:
            raise ToolError(f"Line {number + wrong} of the patch: each line of a new file begins with +.")
        return FilePatch("add", path, content="".join(f"{line[1:]}\n" for line in lines))
    move = ""
    if lines and lines[0].startswith("*** Move to: "):
        move, lines, number = lines[0].partition(": ")[2].strip(), lines[1:], number + 1
    hunks = tuple(_hunks(lines, number))
    if not hunks and not move:
        raise ToolError(f"Line {number} of the patch: {path} has no changes.")
    return FilePatch("update", path, hunks, move=move)


def _hunks(lines: Sequence[str], number: int) -> Iterator[Hunk]:
    anchor, old, new, at_end = "", list[str](), list[str](), False
    for at, line in enumerate([*lines, "@@"]):
        if line.startswith("@@"):
            if old or new:
                yield Hunk(anchor, tuple(old), tuple(new), at_end)
            anchor, old, new, at_end = line[2:].strip(), [], [], False
        elif line == _END_OF_FILE:
            at_end = True
        elif line[:1] in ("", " "):
            old.append(line[1:])
            new.append(line[1:])
        elif line[0] == "-":
            old.append(line[1:])
        elif line[0] == "+":
            new.append(line[1:])
        else:
            raise ToolError(f"Line {number + at} of the patch begins with none of space, +, - and @@.")


def patched(text: str, hunks: Sequence[Hunk], name: str) -> str:
    """Return a file's text with the hunks applied in order. Raises ToolError for lines that are not there."""
    newline = "\r\n" if "\r\n" in text and text.count("\n") == text.count("\r\n") else "\n"
    lines, out, at = text.replace(newline, "\n").split("\n"), list[str](), 0
    for hunk in hunks:
        start = at
        if hunk.anchor:
            start = 1 + _found(lines, (hunk.anchor,), start, name, at_end=False)
        if hunk.old:
            place = _found(lines, hunk.old, start, name, at_end=hunk.at_end)
        else:  # only new lines: after the anchor, else at the end
            place = start if hunk.anchor else len(lines) - (lines[-1] == "")
        out += (*lines[at:place], *hunk.new)
        at = place + len(hunk.old)
    return newline.join([*out, *lines[at:]])


def _found(lines: Sequence[str], wanted: Sequence[str], start: int, name: str, *, at_end: bool) -> int:
    last = len(lines) - len(wanted)
    ends = [place for place in (last, last - 1) if place >= start and (place == last or lines[-1] == "")]
    for fold in _FOLDS:
        folded = [fold(line) for line in wanted]
        for place in ends if at_end else range(start, last + 1):
            if [fold(line) for line in lines[place : place + len(wanted)]] == folded:
                return place
    shown = "\n".join(wanted[:5])
    raise ToolError(f"{name}: these lines of the patch were not found{' at the end' * at_end}:\n{shown}")
