"""Vim's motions: where a motion goes from an offset in a text. Pure.

The place after a line's last character belongs to the line: it is the offset of its line feed, or the text's end.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple
from unicodedata import combining, east_asian_width

SHIFT = 4
"""The cells of a tab, and of a shift by > and <."""

Kind = Literal["exclusive", "exact", "inclusive", "lines"]
"""`exact` is exclusive, and ends at the start of a line where it does so."""


class Goal(NamedTuple):
    """Where a motion ends, and whether an operator takes the character there, or whole lines."""

    at: int
    kind: Kind = "exclusive"


class Beep(Exception):  # vim's word for it
    """A command that cannot be done. It changes nothing, but a motion leaves the cursor `at` where it stopped."""

    def __init__(self, at: int | None = None) -> None:
        super().__init__()
        self.at = at


# Lines -------------------------------------------------------------------------------------------------------


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_char(text: str, at: int) -> int:
    """Return the offset of the line's last character, where the cursor stops outside of insert mode."""
    return max(line_start(text, at), line_end(text, at) - 1)


def indent(text: str, at: int) -> int:
    """Return the line's first character that is not blank, or its last one if all are."""
    start, end = line_start(text, at), last_char(text, at)
    while start < end and text[start] in " \t":
        start += 1
    return start


def in_indent(text: str, at: int) -> bool:
    return not text[line_start(text, at) : at].strip(" \t")


def row_of(text: str, at: int) -> int:
    return text.count("\n", 0, at)


def row_start(text: str, row: int) -> int:
    """Return where a row starts, at most the last."""
    start = 0
    for _ in range(row):
        end = line_end(text, start)
        if end == len(text):
            break
        start = end + 1
    return start


def down(text: str, at: int, rows: int) -> int:
    """Return the start of the line so many rows below, or above if negative. Raises Beep if there is none at all."""
    row, last = row_of(text, at), text.count("\n")
    if (rows > 0 and row == last) or (rows < 0 and row == 0):
        raise Beep
    return row_start(text, max(0, min(last, row + rows)))


def cell_of(text: str, at: int) -> int:
    """Return the last cell of the character here, from 0: a tab's end, and the first one of other wide characters."""
    cell = 0
    for char in text[line_start(text, at) : at]:
        cell += _width(char, cell)
    return cell + (SHIFT - 1 - cell % SHIFT if text[at : at + 1] == "\t" else 0)


def at_cell(text: str, start: int, cell: int) -> int:
    """Return the character at a cell of the line that starts here, or the line's end."""
    at, end, passed = start, line_end(text, start), 0
    while at < end and (passed := passed + _width(text[at], passed)) <= cell:
        at += 1
    return at


def _width(char: str, cell: int) -> int:
    if char == "\t":
        return SHIFT - cell % SHIFT
    return 1 if char.isascii() else 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


# Words -------------------------------------------------------------------------------------------------------

_SCRIPTS = "\u3040-\u309f", "\u30a0-\u30ff", "\u4e00-\u9fff", "\uac00-\ud7a3", "\U0001f000-\U0001faff"
"""Scripts without spaces, each of which is a kind of word: Hiragana, Katakana, Chinese, Hangul, emoji."""
_EMPTY = r"^(?=\n|\Z)"
_SMALL = "|".join(
    (
        *(f"[{one}]+" for one in _SCRIPTS),
        f"(?:[^\\W{''.join(_SCRIPTS)}][\u0300-\u036f]*)+",
        f"[^\\w\\s{_SCRIPTS[-1]}]+",
    )
)
_WORD = {
    True: re.compile(f"\\S+|{_EMPTY}", re.MULTILINE),
    False: re.compile(f"{_SMALL}|{_EMPTY}", re.MULTILINE),
}


def words(text: str, *, big: bool) -> list[tuple[int, int]]:
    """Return the first and last character of each word, also of signs in a row and of empty lines."""
    return [(one.start(), max(one.start(), one.end() - 1)) for one in _WORD[big].finditer(text)]


def is_word(text: str, at: int) -> bool:
    return bool(text[at : at + 1].strip())


def is_empty_line(text: str, at: int) -> bool:
    return at == line_start(text, at) == line_end(text, at)


def word(text: str, at: int, count: int = 1, *, big: bool, in_line: bool = False) -> int:
    """Move to the start of a word. `in_line`: the last step stays in its line, for an operator."""
    starts = [start for start, _ in words(text, big=big)]
    for left in reversed(range(count)):
        if at >= len(text):
            raise Beep(at)
        before, at = at, next((start for start in starts if start > at), len(text))
        if in_line and not left:
            at = min(at, max(line_end(text, before), before + 1))
    return at


def _backward(places: list[int], at: int, count: int, first: bool) -> int:
    """Move to an earlier one of these places; `first`: the text's start is one too, but no more follow."""
    for _ in range(count):
        if at == 0:
            raise Beep(at)
        at = next((place for place in reversed(places) if place < at), 0)
        if at == 0 and first:
            break
    return at


def word_back(text: str, at: int, count: int, *, big: bool) -> int:
    return _backward([start for start, _ in words(text, big=big)], at, count, text[:1] != "\n")


def word_end(
    text: str, at: int, count: int, *, big: bool, stays: bool = False, at_empty: bool = False
) -> int:
    """Move to the end of a word, or to the text's end if there is none. `stays`: the end of the word here counts;
    `at_empty`: so does an empty line."""
    if at >= len(text):
        raise Beep(at)
    ends = [end for _, end in words(text, big=big) if at_empty or not is_empty_line(text, end)]
    first = at if stays and is_word(text, at) else at + 1
    return next(iter([end for end in ends if end >= first][count - 1 : count]), len(text))


def word_goal(text: str, at: int, count: int, operator: str, *, big: bool) -> Goal:
    """Return where w goes. Changing a word leaves the blanks behind it, and an operator stays in the last line."""
    if operator == "c" and is_word(text, at):
        return Goal(word_end(text, at, count, big=big, stays=True), "inclusive")
    try:
        to = word(text, at, count, big=big, in_line=bool(operator))
    except Beep:
        if not operator:
            raise
        to = len(text)
    at_end = to > at and to > line_start(text, to) and to == line_end(text, to)
    return Goal(to - 1, "inclusive") if at_end else Goal(to)


def word_end_back(text: str, at: int, count: int, *, big: bool) -> int:
    ends = [end for _, end in words(text, big=big)]
    return _backward(ends, at, count, 0 not in ends)


# Characters, brackets and paragraphs -----------------------------------------------------------------------------


def find(text: str, at: int, key: str, char: str, count: int, *, again: bool = False) -> Goal:
    """Find a character in the line by f, t, F or T. `again`: a t that would not move looks further."""
    step = 1 if key in "ft" else -1
    start, end, till = line_start(text, at), line_end(text, at), key in "tT"
    to = at + step if again and till and count == 1 else at
    for _ in range(count):
        to += step
        while start <= to < end and text[to] != char:
            to += step
        if not start <= to < end:
            raise Beep
    return Goal(to - step * till, "inclusive" if step > 0 else "exclusive")


_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {close: opened for opened, close in _PAIRS.items()}


def unmatched(text: str, at: int, wanted: str, other: str, step: int) -> int:
    """Return the bracket that is open at this place, looking from the next character on. Raises Beep."""
    depth = 0
    at += step
    while 0 <= at < len(text):
        if text[at] == wanted:
            if depth == 0:
                return at
            depth -= 1
        elif text[at] == other:
            depth += 1
        at += step
    raise Beep


def matching(text: str, at: int) -> Goal:
    """Return the partner of the first bracket in the rest of the line."""
    for found in range(at, line_end(text, at)):
        char = text[found]
        if char in _PAIRS:
            return Goal(unmatched(text, found, _PAIRS[char], char, 1), "inclusive")
        if char in _CLOSING:
            return Goal(unmatched(text, found, _CLOSING[char], char, -1), "inclusive")
    raise Beep


def paragraph(text: str, at: int, count: int, step: int) -> Goal:
    """Move to the empty line after or before the paragraph, or to the end of the text."""
    lines = text.split("\n")
    row = row_of(text, at)
    for left in reversed(range(count)):
        passed = False
        while True:
            passed |= bool(lines[row])
            if not 0 <= row + step < len(lines):
                if left:
                    raise Beep
                break
            row += step
            if passed and not lines[row]:
                break
    start = row_start(text, row)
    if step > 0 and row == len(lines) - 1 and lines[row]:
        return Goal(len(text) - 1, "inclusive")
    return Goal(start)


# Simple ones by key ----------------------------------------------------------------------------------------------


def _to_row(text: str, row: int) -> Goal:
    return Goal(indent(text, row_start(text, row)), "lines")


def _line_of_below(text: str, at: int, rows: int) -> int:
    return down(text, at, rows) if rows else at


def _line_end(text: str, at: int, count: int) -> Goal:
    return Goal(last_char(text, _line_of_below(text, at, count - 1)), "inclusive")


def _last_word(text: str, at: int, count: int) -> Goal:
    below = _line_of_below(text, at, count - 1)
    start, line = line_start(text, below), text[line_start(text, below) : line_end(text, below)]
    return Goal(start + max(0, len(line.rstrip(" \t")) - 1), "inclusive")


def _column(text: str, at: int, count: int) -> Goal:
    return Goal(min(at_cell(text, line_start(text, at), count - 1), last_char(text, at)))


SIMPLE: dict[str, Callable[[str, int, int], Goal]] = {
    "0": lambda text, at, _: Goal(line_start(text, at)),
    "home": lambda text, at, _: Goal(line_start(text, at)),
    "^": lambda text, at, _: Goal(indent(text, at)),
    "$": _line_end,
    "end": _line_end,
    "g_": _last_word,
    "|": _column,
    "_": lambda text, at, count: Goal(indent(text, _line_of_below(text, at, count - 1)), "lines"),
    "+": lambda text, at, count: Goal(indent(text, down(text, at, count)), "lines"),
    "-": lambda text, at, count: Goal(indent(text, down(text, at, -count)), "lines"),
    "gg": lambda text, _, count: _to_row(text, count - 1),
    "b": lambda text, at, count: Goal(word_back(text, at, count, big=False)),
    "B": lambda text, at, count: Goal(word_back(text, at, count, big=True)),
    "e": lambda text, at, count: Goal(word_end(text, at, count, big=False), "inclusive"),
    "E": lambda text, at, count: Goal(word_end(text, at, count, big=True), "inclusive"),
    "ge": lambda text, at, count: Goal(word_end_back(text, at, count, big=False), "inclusive"),
    "gE": lambda text, at, count: Goal(word_end_back(text, at, count, big=True), "inclusive"),
    "%": lambda text, at, _: matching(text, at),
    "}": lambda text, at, count: paragraph(text, at, count, 1),
    "{": lambda text, at, count: paragraph(text, at, count, -1),
}
"""The motions that need no more than a count. The others (h l j k w G f ;) need the engine's memory."""
