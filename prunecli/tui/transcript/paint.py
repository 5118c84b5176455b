"""Lays marks over drawn rows: selection, search hits, cursor and pill."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from prunecli.tui.transcript.palette import mix
from prunecli.tui.transcript.rows import Dress, width_of


class Mark(NamedTuple):
    """A style over a range of a row's characters, gutter included; later marks lie on top."""

    start: int
    end: int
    style: Style


def marked(segments: Sequence[Segment], marks: Sequence[Mark]) -> list[Segment]:
    """Return the segments with the marks applied. The row's own strip stays unchanged, so its ANSI codes stay
    cached."""
    edges = sorted({edge for mark in marks for edge in (mark.start, mark.end)})
    out: list[Segment] = []
    start = 0
    for text, style, _ in segments:
        cuts = [start, *[edge for edge in edges if start < edge < start + len(text)], start + len(text)]
        for low, high in pairwise(cuts):
            look = style or Style()
            for mark in marks:
                if mark.start <= low and high <= mark.end:
                    look = mix(look, mark.style)
            out.append(Segment(text[low - start : high - start], look))
        start += len(text)
    return out


def with_pill(strip: Strip, label: str, style: Style, dress: Dress) -> tuple[Strip, tuple[int, int]]:
    """Return a strip with a label over its right end, and the cells of the label."""
    width = strip.cell_length
    cells = width_of(label)
    if cells + 2 > width:
        return strip, (0, 0)
    left = strip.crop(0, width - cells - 1)
    segments = dress.on([Segment(label, style), Segment(" ", dress.plain)])
    return Strip([*left, *segments], width), (width - cells - 1, width - 1)
