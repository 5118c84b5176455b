"""Vim's text objects: the words, quotes, brackets and paragraphs around an offset. Pure."""

import re
from itertools import groupby
from typing import NamedTuple

from prunecli.tui.vim.motions import (
    Beep,
    in_indent,
    is_empty_line,
    is_word,
    line_end,
    line_start,
    row_of,
    row_start,
    unmatched,
    word,
    word_end,
    words,
)


class Span(NamedTuple):
    """The text from `start` to before `end`, or all lines that it touches."""

    start: int
    end: int
    lines: bool = False


_BRACKETS = {key: pair for pair in ("()b", "[]", "{}B", "<>") for key in pair}


def text_object(text: str, at: int, key: str, count: int, *, around: bool) -> Span:
    """Return the object of this name. Raises Beep if there is none here."""
    if key in "wW":
        return _word(text, at, count, around=around, big=key == "W")
    if key in "\"'`":
        return _quoted(text, at, key, around=around)
    if key in _BRACKETS:
        return _block(text, at, _BRACKETS[key], count, around=around)
    if key == "p":
        return _paragraph(text, at, count, around=around)
    raise Beep


def selected(text: str, anchor: int, at: int, key: str, count: int, *, around: bool) -> tuple[int, int]:
    """Return the ends of a selection after an object: the object, the next brackets around it, or more words."""
    first, last = sorted((anchor, at))
    if key in "\"'`" and "\n" in text[first:last]:
        raise Beep
    if key in "wW" and anchor < at:
        end = _word(text, at, count, around=around, big=key == "W", more=True).end
        return anchor, end if end < len(text) and end == line_start(text, end) else end - 1
    span = text_object(text, first, key, count, around=around)
    if key == "p":
        return min(span.start + at - line_start(text, at), line_end(text, span.start)), span.end
    if first < last and first <= span.start and span.end - 1 <= last:
        span = text_object(text, first, key, count + 1, around=around)
    return span.start, span.end if span.lines else max(span.start, span.end - 1)


def _run_start(text: str, at: int, *, big: bool) -> int:
    """Return the start of the word or the blanks here, within the line."""
    before = [one for one in words(text, big=big) if one[0] <= at]
    if is_word(text, at):
        return before[-1][0]
    ends = [end + 1 for _, end in before if not is_empty_line(text, end)]
    return max([line_start(text, at), *ends[-1:]])


def _next_word(text: str, at: int, *, big: bool) -> int:
    """Return the end of the run that starts here and of the blanks behind it, within the line."""
    try:
        end = word(text, at, big=big, in_line=True)
    except Beep:
        return len(text)
    return end - (end == line_start(text, end) > at)


def _word(text: str, at: int, count: int, *, around: bool, big: bool, more: bool = False) -> Span:
    start = at if more else _run_start(text, at, big=big)
    end, takes_blanks = start + more, False
    for nth in range(more, count + more):
        if nth and end >= len(text):
            raise Beep(len(text))
        if nth and text[end] == "\n":
            end += 1
        blank = not is_word(text, end)
        if around and not blank:
            end, takes_blanks = _next_word(text, end, big=big), True
        elif blank and not around:
            if is_empty_line(text, end):
                end += nth > 0
            else:
                while end < len(text) and text[end] in " \t\xa0":
                    end += 1
        elif (last := word_end(text, end, 1, big=big, stays=True, at_empty=True)) < len(text):
            end = last + 1
        else:
            raise Beep(len(text))
    if not more and takes_blanks and is_word(text, end - 1) and start > line_start(text, start):
        before = _run_start(text, start - 1, big=big)
        if not is_word(text, before) and before > line_start(text, before):
            start = before
    return Span(start, end)


def _quoted(text: str, at: int, quote: str, *, around: bool) -> Span:
    """On a quote, those of a line are paired from its start; elsewhere the quote before opens, else the next one."""
    base, line = line_start(text, at), text[line_start(text, at) : line_end(text, at)]
    column = at - base
    places = [one.start() for one in re.finditer(rf"\\.|{quote}", line) if one[0] == quote]
    if line[column : column + 1] == quote:
        first = (sum(place <= column for place in places) - 1) // 2 * 2
    else:
        first = max(0, sum(place < column for place in places) - 1)
    if first < 0 or len(places) < first + 2:
        raise Beep
    start, end = places[first : first + 2]
    if not around:
        return Span(base + start + 1, base + end)
    end += 1
    if line[end : end + 1] in (" ", "\t"):
        end += len(line[end:]) - len(line[end:].lstrip(" \t"))
    else:
        start -= len(line[:start]) - len(line[:start].rstrip(" \t"))
    return Span(base + start, base + end)


def _block(text: str, at: int, pair: str, count: int, *, around: bool) -> Span:
    opening, closing = pair[0], pair[1]
    start = at
    while opening == "{" and in_indent(text, start + 1) and start < line_end(text, start) - 1:
        start += 1
    start += text[start : start + 1] == opening
    inside = _is_open(text, start, opening, closing)
    for _ in range(count):  # outside of all brackets, the next ones are meant
        start = unmatched(text, start, opening, closing, -1 if inside else 1)
    end = unmatched(text, start, closing, opening, 1)
    if around:
        return Span(start, end + 1)
    start += 1
    if text[start] == "\n":
        start += 1
    if in_indent(text, end) and opening == "{" and line_start(text, end) >= start:
        end = line_start(text, end)
    if end > start and end == line_start(text, end):
        if in_indent(text, start):
            return Span(start, end - 1, lines=True)
        end -= 1
    return Span(start, max(start, end))


def _is_open(text: str, at: int, opening: str, closing: str) -> bool:
    try:
        return unmatched(text, at, opening, closing, -1) >= 0
    except Beep:
        return False


def _runs(text: str) -> list[tuple[int, int, bool]]:
    """Return the first and last row of each run of blank lines and of others, and whether it is blank."""
    groups = groupby(enumerate(text.split("\n")), lambda row: not row[1].strip(" \t"))
    rows = [([row for row, _ in group], blank) for blank, group in groups]
    return [(run[0], run[-1], blank) for run, blank in rows]


def _paragraph(text: str, at: int, count: int, *, around: bool) -> Span:
    runs, row = _runs(text), row_of(text, at)
    first = next(nth for nth, one in enumerate(runs) if row <= one[1])
    end = first + count * (1 + around)
    if end > len(runs):
        if not around or runs[first][2] or end > len(runs) + 1:
            raise Beep
        first = max(0, first - 1)  # the blank lines before it instead
    return Span(
        row_start(text, runs[first][0]), row_start(text, runs[min(end, len(runs)) - 1][1]), lines=True
    )
