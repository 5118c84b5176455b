"""Vim's text objects: the words, quotes, brackets and paragraphs around an offset. Pure."""

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


def _word(text: str, at: int, count: int, *, around: bool, big: bool) -> Span:
    start = _run_start(text, at, big=big)
    end, takes_blanks = start, False
    for nth in range(count):
        if nth and end >= len(text):
            raise Beep
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
            raise Beep
    if takes_blanks and is_word(text, end - 1) and start > line_start(text, start):
        before = _run_start(text, start - 1, big=big)
        if not is_word(text, before) and before > line_start(text, before):
            start = before
    return Span(start, end)


def _quoted(text: str, at: int, quote: str, *, around: bool) -> Span:
    base, line = line_start(text, at), text[line_start(text, at) : line_end(text, at)]
    column = at - base
    if line[column : column + 1] == quote:
        start, end = _pair_here(line, column, quote)
    else:
        start = _quote_before(line, column, quote)
        if start < 0:
            start = _quote_from(line, column, quote)
        end = _quote_from(line, start + 1, quote)
    if not around:
        return Span(base + start + 1, base + end)
    end += 1
    if line[end : end + 1] in (" ", "\t"):
        end += len(line[end:]) - len(line[end:].lstrip(" \t"))
    else:
        start -= len(line[:start]) - len(line[:start].rstrip(" \t"))
    return Span(base + start, base + end)


def _pair_here(line: str, column: int, quote: str) -> tuple[int, int]:
    """Pair the quotes from the line's start on, and return the pair of the one here."""
    end = -1
    while True:
        start = _quote_from(line, end + 1, quote)
        end = _quote_from(line, start + 1, quote)
        if start > column:
            raise Beep
        if column <= end:
            return start, end


def _quote_from(line: str, column: int, quote: str) -> int:
    while column < len(line):
        if line[column] == "\\":
            column += 1
        elif line[column] == quote:
            return column
        column += 1
    raise Beep


def _quote_before(line: str, column: int, quote: str) -> int:
    while column > 0:
        column -= 1
        slashes = column - len(line[:column].rstrip("\\"))
        if slashes % 2:
            column -= slashes
        elif line[column] == quote:
            return column
    return -1


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


def _paragraph(text: str, at: int, count: int, *, around: bool) -> Span:
    lines = text.split("\n")
    row = row_of(text, at)

    def is_blank(one: int) -> bool:
        return not lines[one].strip(" \t")

    def run_end(one: int) -> int:
        kind = is_blank(one)
        while one < len(lines) and is_blank(one) == kind:
            one += 1
        return one

    first, starts_blank = row, is_blank(row)
    while first and is_blank(first - 1) == starts_blank:
        first -= 1
    end = run_end(row)
    for nth in range(count * 2 if around else count):
        if nth == 0:
            continue
        if end < len(lines):
            end = run_end(end)
        elif around and not starts_blank and nth == count * 2 - 1 and first:
            while first and is_blank(first - 1):
                first -= 1
        elif not (around and not starts_blank and nth == count * 2 - 1):
            raise Beep
    return Span(row_start(text, first), row_start(text, end - 1), lines=True)
