"""Draws a file change: line numbers, signs, highlighted code, and the changes within a line."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from rich.style import Style

from prunecli.tui.transcript.highlight import highlight
from prunecli.tui.transcript.markdown import Sheet
from prunecli.tui.transcript.palette import Inks, mix
from prunecli.tui.transcript.rows import NO_GUTTER, Gutter, Row, Run, flow
from prunecli.util.lexing import language_of
from prunecli.util.sanitize import source

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")

_LONGEST_COMPARED = 400
"""Maximum line length for marking changes within a line."""


class DiffLine(NamedTuple):
    """A line of a diff.

    `sign` is " ", "+", "-", "@" between hunks, or a backslash for a remark about the line above (no line feed at the
    end of the file). `number` is the line number in its own file.
    """

    sign: str
    number: int
    text: str


def parse(text: str) -> list[DiffLine]:
    """Parse the lines of a unified diff, without file headers. Anything else becomes context."""
    out: list[DiffLine] = []
    old = new = 1
    left = (0, 0)  # lines left in the hunk, so that a removed "-- x" is not read as a file header
    for line in source(text).split("\n"):
        if match := _HUNK.match(line):
            old, new = int(match[1]), int(match[3])
            left = int(match[2] or 1), int(match[4] or 1)
            if out or match[5]:
                out.append(DiffLine("@", new, match[5]))
        elif left <= (0, 0) and line.startswith(("--- ", "+++ ", "diff ", "index ")):
            continue
        elif line.startswith("\\ "):
            out.append(DiffLine("\\", new, line[2:]))
        elif line[:1] == "+":
            out.append(DiffLine("+", new, line[1:]))
            new, left = new + 1, (left[0], left[1] - 1)
        elif line[:1] == "-":
            out.append(DiffLine("-", old, line[1:]))
            old, left = old + 1, (left[0] - 1, left[1])
        else:
            out.append(DiffLine(" ", new, line[1:]))
            old, new, left = old + 1, new + 1, (left[0] - 1, left[1] - 1)
    while out and out[-1].sign == " " and not out[-1].text and left[0] < 0:
        out.pop()  # the empty rest after the last line feed
        left = 0, 0
    return out


def digits_of(lines: Sequence[DiffLine]) -> int:
    return max([3, *[len(str(line.number)) for line in lines]])


def diff_rows(
    lines: Sequence[DiffLine], path: str, sheet: Sheet, gutter: Gutter = NO_GUTTER, digits: int = 0
) -> list[Row]:
    """Lay out some lines of this file's diff. For a piece of a longer diff, `digits` gives the width of the
    numbers."""
    inks = sheet.inks
    digits = digits or digits_of(lines)
    colored = _colors(lines, language_of(path), inks)
    changed = _changes(lines)
    looks = {
        " ": (inks.code_muted, inks.code, None, inks.code),
        "+": (inks.added_sign, inks.added, inks.added_ground, inks.added_strong),
        "-": (inks.removed_sign, inks.removed, inks.removed_ground, inks.removed_strong),
    }
    out: list[Row] = []
    for number, line in enumerate(lines):
        if line.sign in "@\\":
            mark = "⋯" if line.sign == "@" else ""
            margin = gutter.then(f"{mark:>{digits}}   ", inks.code_muted)
            flow([(line.text, inks.code_muted)], sheet.width, out, margin, margin, fill=inks.code)
            continue
        sign, plain, ground, strong = looks[line.sign]
        first = gutter.then(f"{line.number:>{digits}} {line.sign} ", sign)
        rest = gutter.then(" " * (digits + 3), sign)
        runs = [(text, _on(style, ground, plain, inks)) for text, style in colored[number]]
        if number in changed:
            runs = _marked(runs, changed[number], strong)
        flow(runs or [("", plain)], sheet.width, out, first, rest, hard=True, fill=plain, lead=line.sign)
    return out


def _on(style: Style, ground: Style | None, plain: Style, inks: Inks) -> Style:
    if ground is None:
        return style
    return plain if style is inks.code else mix(style, ground)


def _colors(lines: Sequence[DiffLine], language: str, inks: Inks) -> list[list[Run]]:
    """Highlight the lines. The old and the new text are lexed separately, each with the shared context."""
    out: list[list[Run]] = [[] for _ in lines]
    for sign in "-+":
        numbers = [number for number, line in enumerate(lines) if line.sign in (" ", sign)]
        found = highlight("\n".join([lines[number].text for number in numbers]), language, inks)
        for number, runs in zip(numbers, found, strict=False):
            out[number] = runs
    return out


def _changes(lines: Sequence[DiffLine]) -> dict[int, list[tuple[int, int]]]:
    """Return the changed ranges in removed lines and in the added lines that replace them."""
    out: dict[int, list[tuple[int, int]]] = {}
    real = [number for number, line in enumerate(lines) if line.sign != "\\"]
    at = 0
    while at < len(real):
        start = at
        while at < len(real) and lines[real[at]].sign == "-":
            at += 1
        middle = at
        while at < len(real) and lines[real[at]].sign == "+":
            at += 1
        if middle > start and at - middle == middle - start:
            for old, new in zip(real[start:middle], real[middle:at], strict=True):
                pair = _changed(lines[old].text, lines[new].text)
                if pair:
                    out[old], out[new] = pair
        at = max(at, start + 1)
    return out


def _changed(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Return the ranges of words where two lines differ; None if too much differs to be worth marking."""
    if max(len(old), len(new)) > _LONGEST_COMPARED:
        return None
    words_old, words_new = re.findall(r"\w+|\s+|.", old), re.findall(r"\w+|\s+|.", new)
    matcher = SequenceMatcher(None, words_old, words_new, autojunk=False)
    if matcher.ratio() < 0.5:
        return None
    ranges: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for kind, *places in matcher.get_opcodes():
        if kind != "equal":
            for side, words, (low, high) in zip(
                ranges, (words_old, words_new), (places[:2], places[2:]), strict=True
            ):
                start = len("".join(words[:low]))
                if high > low:
                    side.append((start, start + len("".join(words[low:high]))))
    return ranges


def _marked(runs: Sequence[Run], ranges: Sequence[tuple[int, int]], strong: Style) -> list[Run]:
    """Apply `strong` to ranges of the runs."""
    edges = sorted({edge for pair in ranges for edge in pair})
    out: list[Run] = []
    start = 0
    for text, style in runs:
        cuts = [start, *[edge for edge in edges if start < edge < start + len(text)], start + len(text)]
        for low, high in pairwise(cuts):
            inside = any(a <= low and high <= b for a, b in ranges)
            out.append((text[low - start : high - start], mix(style, strong) if inside else style))
        start += len(text)
    return out
