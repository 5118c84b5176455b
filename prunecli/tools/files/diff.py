"""The change made by an edit, as a unified diff of bounded length."""

import io
from typing import TYPE_CHECKING

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")


CONTEXT = 3
MAX_LINES = 400
MAX_CHARACTERS = 500
_MAX_COMPARISONS = 4_000_000


@frozen
class Change:
    """Lines added and removed, the first changed line (from 1, in the new text), and the diff's text."""

    added: int
    removed: int
    first_line: int
    diff: str

    def details(self, path: str) -> dict[str, Json]:
        return {
            "path": well_formed(path),
            "added": self.added,
            "removed": self.removed,
            "first_line": self.first_line,
            "diff": well_formed(self.diff),
        }


def change(old: str, new: str) -> Change:
    """Return the change from one text to another; equal starts and ends are not compared line by line."""
    before, after = list(io.StringIO(old)), list(io.StringIO(new))
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    window = max(0, start - CONTEXT)
    tail = max(0, end - CONTEXT)
    a, b = before[window : len(before) - tail], after[window : len(after) - tail]
    if (len(a) + 1) * (len(b) + 1) > _MAX_COMPARISONS:
        lead, trail = start - window, end - tail
        groups = [_whole(lead, len(a), len(b), trail)]
    else:
        groups = list(difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT))
    added = sum(j2 - j1 for group in groups for tag, _, _, j1, j2 in group if tag != "equal")
    removed = sum(i2 - i1 for group in groups for tag, i1, i2, _, _ in group if tag != "equal")
    return Change(added, removed, start + 1, _text(a, b, groups, window))


_Opcodes = list[tuple[str, int, int, int, int]]


def _whole(lead: int, old: int, new: int, trail: int) -> _Opcodes:
    """Return one hunk that replaces everything between the equal lines."""
    return [
        ("equal", 0, lead, 0, lead),
        ("replace", lead, old - trail, lead, new - trail),
        ("equal", old - trail, old, new - trail, new),
    ]


def _text(a: list[str], b: list[str], groups: list[_Opcodes], window: int) -> str:
    lines = list[str]()
    for group in groups:
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        lines.append(f"@@ -{_range(window + i1, i2 - i1)} +{_range(window + j1, j2 - j1)} @@")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += (_line(" ", line) for line in a[i1:i2])
                continue
            lines += (_line("-", line) for line in a[i1:i2])
            lines += (_line("+", line) for line in b[j1:j2])
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"… {len(lines) - MAX_LINES} more lines"]
    return "\n".join(lines)


def _range(start: int, length: int) -> str:
    """Return a hunk's position in diff's notation: an empty hunk names the line before it."""
    return f"{start + 1 if length else start},{length}"


def _line(mark: str, line: str) -> str:
    text = line.removesuffix("\n")
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + "…"
    return mark + text + ("" if line.endswith("\n") else "\n\\ No newline at end of file")
