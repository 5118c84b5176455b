"""Finds the lines of a command's output that report failures, anywhere in it.

Most test runners list failures at the end, but `go test` and compilers report each one where it happens. Such lines
in a held-back part are quoted with their numbers, as `grep -n` does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from prunecli.context import cut

_TESTS = (
    r"\s*--- FAIL: |FAIL\t|FAIL: \S|FAILED \S+::|test \S.* \.\.\. FAILED$|\S.* > .* FAILED$"
    r"|\s*(?:FAIL|❯|×|✕|✖|✗|●)\s+\S.*(?:[./›>]|\d ?ms)|.*\*\*\*(?:Failed|Exception|Timeout|Not Run)\b"
    r"|thread '.*' .*panicked at |panic: |\s*not ok \d+(?!.*# (?:TODO|SKIP)\b)|#\s+Failed test\b"
    r"|\s*(?:<testcase\b.*)?<(?:failure|error)\b"
)
"""A failed test in the words of a test runner. It counts regardless of the exit code, which `| tee log` changes."""
_ERRORS = (
    r"\s*(?:fatal )?error(?:\[\w+\])?: |\S.*?(?::\d+|\)): (?:fatal )?error(?: \w+)?: |\S+:\d+:\d+ - error \w+: "
    r"|\s+\d+:\d+\s+error\s|\[ERROR\] \S|ERROR: \S|ERROR \S+::|E {3,}\S|\s+\d+\) \S"
    r"|\S*make(?:\[\d+\])?: \*\*\* |.*: undefined reference to |[\w.]*(?:Error|Exception)(?:: |$)"
)
"""An error in the output of a command that failed."""
_FOLLOWS = r"\s*(?:--- FAIL: |<)"
"""A failure of go or JUnit. Lines before it explain it."""
_BEFORE = r"\s+\S+\.go:\d+: |\s*<testcase\b.*[^/]>"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_FOLLOWING, _PRECEDING = 2, 3
"""Maximum lines after and before a failure that are quoted as its explanation."""
_LONGEST = 400
"""Maximum characters of a quoted line."""
OPENING = " | failures in them:]"
_CLOSING = re.compile(r"^\[end of failures(?:; [\d,]+ more lines)?\]$", re.MULTILINE)


class Quoted(NamedTuple):
    """Quoted lines, with their places in the text; `left` more did not fit."""

    lines: Sequence[tuple[int, str]]
    left: int = 0

    def behind(self, place: int) -> "Quoted":
        """Return the quoted lines that begin at this place or later."""
        return Quoted([line for line in self.lines if line[0] >= place], self.left)

    @property
    def text(self) -> str:
        """The quoted lines with the line that closes them."""
        more = f"; {self.left:,} more lines" if self.left else ""
        return "".join(f"\n{line}" for _, line in self.lines) + f"\n[end of failures{more}]"


def quoted_end(shown: str, start: int) -> int:
    """Return the end of the quotes that follow a note ending at `start`; `start` itself if there are none."""
    if not shown.endswith(OPENING, 0, start):
        return start
    closing = _CLOSING.search(shown, start)
    return closing.end() if closing else start


def failures(
    text: str, start: int, stop: int, budget: int, count: Callable[[str], int], *, failed: bool
) -> Quoted:
    """Return the first lines about failures in this part of the text that fit. `failed`: the command failed."""
    found, used, left = list[tuple[int, str]](), 0, 0
    number = text.count("\n", 0, start)
    lines = [f"{line}\n" for line in text[start:stop].split("\n")]
    places = [start]
    for line in lines:
        places.append(places[-1] + len(line))
    for at in _about(lines, failed=failed):
        words = uncolored(lines[at]).replace("\0", "")
        line = f"{number + at + 1}: {cut.head(words, _LONGEST)}"
        used += count(f"{line}\n")
        if used > budget:
            left += 1
        else:
            found.append((places[at], line))
    return Quoted(found, left)


def uncolored(line: str) -> str:
    """Return a line without colors and line end."""
    return _ESCAPE.sub("", line).rstrip("\r\n") if line else line


def _about(lines: Sequence[str], *, failed: bool) -> Iterator[int]:
    """Yield the places of lines about failures, and of lines that explain them."""
    last = -1
    for at, raw in enumerate(lines):
        line = uncolored(raw)
        if not (re.match(_TESTS, line) or (failed and re.match(_ERRORS, line))):
            continue
        first = at
        while first > at - _PRECEDING and re.match(_FOLLOWS, line) and re.match(_BEFORE, lines[first - 1]):
            first -= 1
        end = at + 1
        while end < len(lines) and end <= at + _FOLLOWING and _explains(lines[end], line):
            end += 1
        yield from range(max(first, last + 1), max(end, last + 1))
        last = max(last, end - 1)


def _explains(line: str, failure: str) -> bool:
    """Return whether a line belongs to the failure before it: it is indented more, or follows a colon."""
    indent = len(line) - len(line.lstrip())
    return bool(line.strip()) and (
        indent > len(failure) - len(failure.lstrip()) or failure.rstrip().endswith(":")
    )
