"""Cuts long plain text, tool output and diffs, so that blocks stay small."""

from collections.abc import Iterator
from dataclasses import replace

from prunecli.front.presentation.entries import Diff, Output
from prunecli.tui.transcript.chunks import Chunk, Kind
from prunecli.tui.transcript.diff_rows import digits_of, parse
from prunecli.tui.transcript.highlight import CodeText
from prunecli.tui.transcript.parts import ChunkPart, DiffPart, Part, TextPart
from prunecli.util.lexing import LONGEST_LINE
from prunecli.util.sanitize import source as clean

PIECE_CHARS = 8_000
PIECE_LINES = 200
DIFF_LINES = 150
LONG_PROMPT_LINES, LONG_PROMPT_CHARS = 20, 3_000
"""Maximum lines and characters of a prompt that is shown in full at first."""
OPENING_LINES, OPENING_CHARS = 8, 800
"""Lines and characters that are shown of a longer prompt."""
LONG_DIFF_LINES, DIFF_OPENING_LINES = 40, 12
"""Maximum lines of a diff that is shown in full at first, and the lines that are shown of a longer one."""
MOST_CODE = 400_000
"""Maximum characters of tool output that is highlighted."""


def opening(text: str) -> tuple[str, str, bool]:
    """Split a long prompt into the start that is always shown and the rest ("" for a short prompt). Also return
    whether the rest continues a cut line."""
    if text.count("\n") < LONG_PROMPT_LINES and len(text) <= LONG_PROMPT_CHARS:
        return text, "", False
    lines = text[:OPENING_CHARS].split("\n", OPENING_LINES)
    end = len("\n".join(lines[:OPENING_LINES]))
    glued = text[end] != "\n"
    return text[:end], text[end if glued else end + 1 :], glued


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Split a long text into bounded pieces; also yield whether each continues a cut line."""
    start, glued = 0, False
    while True:
        end = min(len(text), start + PIECE_CHARS)
        if end < len(text):
            feed = text.rfind("\n", start, end)
            end = feed if feed >= start else end
        lines = text[start:end].split("\n", PIECE_LINES)
        if len(lines) > PIECE_LINES:
            end -= len(lines[-1]) + 1
        yield text[start:end], glued
        if end >= len(text):
            return
        glued = text[end] != "\n"
        start = end if glued else end + 1


def output_parts(output: Output) -> Iterator[Part]:
    if output.held is None:
        yield from _parts(output)
        return
    start, stop = output.held
    yield from _parts(replace(output, text=output.text[:start])) if output.text[:start] else ()
    for piece, glued in pieces(output.text[start:stop].rstrip("\n")):
        yield TextPart(piece, glued, held=True)
    yield from _parts(replace(output, text=output.text[stop:])) if output.text[stop:].strip("\n") else ()


def _parts(output: Output) -> Iterator[Part]:
    text = output.text.rstrip("\n")
    if not output.language or len(text) > MOST_CODE or max(map(len, text.split("\n"))) > LONGEST_LINE:
        for piece, glued in pieces(text):
            yield TextPart(piece, glued)
        return
    code = CodeText(output.language)
    lines = clean(text).split("\n")
    for start in range(0, len(lines), PIECE_LINES):
        piece = "\n".join(lines[start : start + PIECE_LINES])
        yield ChunkPart(Chunk(Kind.CODE, piece, part=code.add(piece), shared=code, indent=2), {})
    code.close()


def is_long(diff: Diff) -> bool:
    return diff.text.count("\n") > LONG_DIFF_LINES


def diff_opening(body: Output | Diff | None) -> tuple[Part, int] | None:
    """Return the start of a long diff, and the number of lines after it; None for any other content."""
    if not isinstance(body, Diff) or not is_long(body):
        return None
    lines = parse(body.text)
    shown = tuple(lines[:DIFF_OPENING_LINES])
    return DiffPart(body, shown, digits_of(lines)), len(lines) - len(shown)


def diff_parts(diff: Diff) -> Iterator[Part]:
    if diff.text.count("\n") < DIFF_LINES:
        yield DiffPart(diff)
        return
    lines = parse(diff.text)
    digits = digits_of(lines)
    for start in range(0, len(lines), DIFF_LINES):
        yield DiffPart(diff, tuple(lines[start : start + DIFF_LINES]), digits)
