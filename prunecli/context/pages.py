"""Parts of a long text that fit a number of tokens, and their names: `200-260`, or `7:4001-7` inside a line.

A line is cut only if it alone is too long, but never inside a character sequence or an escape sequence, nor inside an
element of JSON if one ends near. Positions are code points.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import takewhile

from prunecli.context import cut

Count = Callable[[str], int]

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])")
_LONGEST_ESCAPE = 256
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')
_QUOTE = re.compile(r'\\.|"')
_BREAK = re.compile(r"[ \t]*\r?\n")
_INDENT = re.compile(r"[ \t]*(?=[^\s])")
_NEAR_LINES = 8
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
"""Lenient: it takes NaN, which many programs print."""
_RANGE = re.compile(r"(?:lines? )?(\d+)(?::(\d+))?-(?:(\d+)(?::(\d+))?)?|(\d+)(?:[:,](\d+))?")


def is_json(text: str) -> bool:
    """Return whether the text is one JSON array or object."""
    complete, end = _value(text, 0)
    return complete and not text[end:].strip()


def json_reach(text: str) -> int:
    """Return how far the text is JSON: the end of its arrays and objects, or the place of the first error in one."""
    at, complete = 0, True
    while complete and at < len(text):
        complete, end = _value(text, at)
        at = max(at, end)
    return at


def _value(text: str, at: int) -> tuple[bool, int]:
    """Return whether an array or object is complete, and its end or the place of its error; 0 if none starts here."""
    space = _SPACE.match(text, at)
    start = space.end() if space else at
    if text[start : start + 1] not in ("{", "["):
        return False, 0
    try:
        return True, _DECODER.raw_decode(text, start)[1]
    except json.JSONDecodeError as error:
        return False, error.pos
    except (ValueError, RecursionError):  # a huge number, or deep nesting
        return False, 0


class Lines:
    """Text as lines, numbered from 1. A line includes its line end. An empty rest after the last line end is not a
    line."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """The start of each line."""
        found = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return found[:-1] if len(found) > 1 and found[-1] == len(self.text) else found

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.starts)

    def line_at(self, at: int) -> int:
        """Return the number of the line at this place."""
        return max(1, bisect_right(self.starts, at))

    def is_start(self, at: int) -> bool:
        """Return whether a line starts here, or the text ends."""
        return at >= len(self.text) or self.starts[self.line_at(at) - 1] == at

    def name(self, start: int, stop: int) -> str:
        """Return the name of this part, in the form that `part` parses."""
        first, last = self.line_at(start), self.line_at(stop - 1)
        begin, end = str(first), str(last)
        if not self.is_start(start):
            begin += f":{start - self.starts[first - 1] + 1}"
        if not self.is_start(stop):
            end += f":{stop - self.starts[last - 1]}"
        return begin if begin == end == str(first) else f"{begin}-{end}"

    def part(self, name: str) -> tuple[int, int]:
        """Return the start and the stop of a named part, limited to the text's end. Raises ValueError with the
        reason."""
        match = _RANGE.fullmatch(name.strip())
        if match is None:
            raise ValueError(f'lines is a range such as "200-260", not {name[:40]!r}')
        first, column, last, end, only, to = (
            None if group is None else int(group[:12]) for group in match.groups()
        )
        if only is not None:
            first, last = only, only if to is None else to
        assert first is not None  # noqa: S101  # one of the two forms has matched
        if not 1 <= first <= self.count:
            raise ValueError(f"lines starts at {first:,}, but there is no such line")
        start = self._place(first, column)
        stop = len(self.text)
        if last is not None and last <= self.count:
            stop = self._place(last, end) + 1 if end else self._place(last + 1, None)
        if stop <= start:
            raise ValueError(f"lines {name[:40]!r} selects nothing: it ends before it starts")
        return start, min(stop, len(self.text))

    def _place(self, line: int, column: int | None) -> int:
        if line > self.count:
            return len(self.text)
        return min(self.starts[line - 1] + max(1, column or 1) - 1, len(self.text))


def head_end(text: str, budget: int, count: Count, *, anywhere: bool = False) -> int:
    """Return the end of the longest head with at most `budget` tokens. `anywhere`: it may end inside a line of
    JSON."""
    at, used = 0, 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        tokens = count(text[at:end])
        if used + tokens > budget:
            if tokens > budget:
                at = _end_inside(text, at, end, budget - used, count, anywhere=anywhere)
            break
        at, used = end, used + tokens
    return at


def tail_start(text: str, budget: int, count: Count) -> int:
    """Return the start of the longest tail with at most `budget` tokens."""
    at, used = len(text), 0
    while at > 0:
        start = text.rfind("\n", 0, at - 1) + 1
        tokens = count(text[start:at])
        if used + tokens > budget:
            if tokens > budget:
                at = _start_inside(text, start, at, budget - used, count)
            break
        at, used = start, used + tokens
    return at


def _end_inside(text: str, start: int, stop: int, budget: int, count: Count, *, anywhere: bool) -> int:
    """Return the end of the longest head of this line that fits."""
    line = text[start:stop]
    length = _fitting(len(line), budget, lambda size: count(line[:size]))
    if not anywhere and is_json(line):
        return start + element_end(line, length)
    end = len(cut.head(line, length))
    if line[end:] == "\n":  # a line break is added after the head and would be mistaken for this one
        end = len(cut.head(line, end - 1))
    match = _escape_over(line, end)
    return start + (match.start() if match else end)


def _start_inside(text: str, start: int, stop: int, budget: int, count: Count) -> int:
    """Return the start of the longest tail of this line that fits."""
    line = text[start:stop]
    length = _fitting(len(line), budget, lambda size: count(line[len(line) - size :]))
    at = element_start(line, len(line) - length)
    if at > len(line) - length or is_json(line):
        return start + at
    at = len(line) - len(cut.tail(line, length))
    match = _escape_over(line, at)
    return start + (match.end() if match else at)


def _escape_over(line: str, at: int) -> re.Match[str] | None:
    """Return the escape sequence that a cut at this place would split."""
    begin = line.find("\x1b", max(0, at - _LONGEST_ESCAPE))
    found = _ESCAPE.finditer(line, begin) if begin >= 0 else iter(())
    return next((match for match in takewhile(lambda one: one.start() < at, found) if match.end() > at), None)


def _fitting(most: int, budget: int, tokens: Callable[[int], int]) -> int:
    """Return the largest size up to `most` whose tokens fit, to within a hundredth."""
    low, high = 0, min(most, max(0, budget) * 4)
    while high < most and tokens(high) <= budget:
        low, high = high, min(most, high * 2 + 1)
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if tokens(middle) <= budget else (low, middle)
    return low if high > most or tokens(high) > budget else high


def boundaries(text: str) -> Iterator[tuple[int, int]]:
    """Yield the end of each JSON element (after its comma, if it has one), with the depth of what contains it."""
    depth = 0
    for match in _STRUCTURE.finditer(text):
        mark = match.group()
        if mark == ",":
            yield match.end(), depth
        elif len(mark) == 1:
            depth += 1 if mark in "[{" else -1
            if depth == 0:
                yield match.end(), 0


def _ends_until(text: str, most: int) -> Iterator[tuple[int, int]]:
    return takewhile(lambda pair: pair[0] <= most, boundaries(text))


def element_end(text: str, most: int) -> int:
    """Return the end of a JSON element near this place: the outermost one in the second half, else the last one
    before it, else 0. A line break after it belongs to it."""
    found = list(_ends_until(text, most))
    late = [(depth, -at) for at, depth in found if at > most // 2]
    end = -min(late)[1] if late else found[-1][0] if found else 0
    return behind_break(text, end) if end else 0


def element_start(text: str, least: int) -> int:
    """Return the start of a JSON element near this place: the outermost one in the first half of the rest.

    If there is none, return the next one if the text is JSON, else `least`: the text may be a part of JSON.
    """
    begin, whole = 0, is_json(text)
    if not whole and json_reach(text) <= least:
        if text.rstrip()[-1:] not in ("}", "]"):
            return least
        quotes = [match.end() for match in _QUOTE.finditer(text, least) if match.group() == '"']
        begin = quotes[0] if len(quotes) % 2 else least  # the end is outside of strings
    found = [(depth, at) for at, depth in _commas(text, begin) if at >= least]
    near = [pair for pair in found if pair[1] <= (least + len(text)) // 2]
    if near or (whole and found):
        return behind_break(text, min(near)[1] if near else found[0][1])
    return len(text) if whole else least


def _commas(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Yield the places after the commas between JSON elements, with their depth."""
    ends = ((begin + at, depth) for at, depth in boundaries(text[begin:]))
    return ((at, depth) for at, depth in ends if text[at - 1] == ",")


def nearest_end(text: str, start: int, end: int) -> int:
    """Return the best end in the second half of this part: of the outermost JSON element, or before an item that is
    indented less than its parts, such as one of YAML or a function. Return `end` if there is none.

    JSON begins where the text or the line begins.
    """
    for first in (0, text.rfind("\n", 0, end) + 1):
        if first < end <= first + json_reach(text[first:]):
            middle = max(start, (start + end) // 2) - first
            late = [(depth, -at) for at, depth in _ends_until(text[first:], end - first) if at > middle]
            return behind_break(text, first - min(late)[1]) if late else end
    return _before_item(text, (start + end) // 2, end) if text[end - 1 : end] == "\n" else end


def _before_item(text: str, least: int, end: int) -> int:
    """Return the start of the least indented line among the last ones, if the line at `end` is indented more."""
    best, at, indent = end, end, _indent(text, end)
    for _ in range(_NEAR_LINES):
        at = text.rfind("\n", 0, at - 1) + 1
        if at <= least:
            break
        if 0 <= _indent(text, at) < indent:
            best, indent = at, _indent(text, at)
    return best


def _indent(text: str, at: int) -> int:
    """Return the width of the blanks before a line's first character, -1 for an empty line."""
    match = _INDENT.match(text, at)
    return -1 if match is None else match.end() - at


def behind_break(text: str, at: int) -> int:
    """Return the start of the next line if only blanks are left of this one, else `at`."""
    match = _BREAK.match(text, at)
    return match.end() if match else at
