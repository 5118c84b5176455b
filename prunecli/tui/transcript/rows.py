"""Rows of the screen, and wrapping styled text into them.

A row records its width and the text that joins it to the row above, so that text is copied as written, not as
wrapped.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import category

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import BLACK, Color
from textual.filter import LineFilter
from textual.strip import Strip

Run = tuple[str, Style]
"""Text in one style, without a line feed."""

# Characters that always take one cell, so that the length is the width. Rich's own list is shorter: it lacks the
# typographic quotes and dashes that models often write.
_NARROW = "\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u0391-\u03a1"
_NARROW += "\u03a3-\u0482\u048a-\u052f"
_NARROW += "\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u2199\u2200-\u22ff\u2500-\u25fc\ufffd"
_NOT_NARROW = re.compile(f"[^{_NARROW}]")

# Characters that may not begin a row, in scripts without spaces between words.
_CLOSING = frozenset("。，、．！？；：）」』】〉》〕］｝…‥ー・々’”!?,.:;)]}%")


class Gutter(NamedTuple):
    """The prefix of a row: bars, bullets, indentation. Drawn but never selected."""

    segments: tuple[Segment, ...] = ()
    cells: int = 0
    chars: int = 0

    def then(self, text: str, style: Style) -> "Gutter":
        return Gutter(
            (*self.segments, Segment(text, style)), self.cells + cell_len(text), self.chars + len(text)
        )


NO_GUTTER = Gutter()


class Dress:
    """How to finish strips: the style of empty cells, and the application's filters (NO_COLOR, sixteen colors).

    Filters work on segments, before a strip is made, because a second strip for each row would cost too much.
    """

    def __init__(self, plain: Style, filters: Sequence[LineFilter] = (), background: Color = BLACK) -> None:
        self.plain = plain
        self.filters = tuple(filters)
        self.background = background

    def on(self, segments: list[Segment]) -> list[Segment]:
        shown = segments
        for line_filter in self.filters:
            shown = line_filter.apply(shown, self.background)
        if all(new.style is old.style for new, old in zip(shown, segments, strict=False)):
            return segments
        return shown


class WholeStrip(Strip):
    """A strip without a cached reference to itself.

    Dividing a strip at its end would cache such a reference, and only the garbage collector frees such cycles.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Divide the strip as `Strip` does, but return the strip itself if the only cut is at its end."""
        cuts = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


@dataclass(slots=True, eq=False)
class Written:
    """The source of one Markdown element's `rows` rows, which share the object.

    For code, only the surrounding `fence`, the common `indent` and the lines with tabs are stored: by their text
    with spaces, the line and the columns cut off in front. `alone`: copy the source even if nothing else is selected.
    """

    source: str = ""
    rows: int = 0
    fence: str = ""
    indent: int = 0
    alone: bool = False
    tabs: dict[str, tuple[str, int]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Row:
    """One row. It is mutable: its strip is made when first painted, and its place is set when it joins a block.

    `join` is inserted between the row above and this one when copied: None for a line feed, " " where wrapping
    removed a space, "" where it cut a word. `lead` is copied in front of the row ("- " for a bullet). `hot` is a
    range of clickable cells. `place` is the number of the block's characters before this row, including joins and
    line feeds. `written` is the source before layout.
    """

    segments: Sequence[Segment]
    cells: int
    gutter: int = 0
    join: str | None = None
    fill: Style | None = None
    lead: str = ""
    hot: tuple[int, int] | None = None
    place: int = 0
    written: Written | None = None
    marked: tuple[object, Strip] | None = field(default=None, repr=False)
    """The last strip drawn with marks, and the marks."""
    _strip: Strip | None = field(default=None, repr=False)
    _apply_look: Dress | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The drawn text, gutter included."""
        return "".join([segment.text for segment in self.segments])

    @property
    def body(self) -> str:
        """The selectable text, without the gutter."""
        return self.text[self.gutter :]

    def looks_like(self, other: "Row") -> bool:
        """Return whether another row is drawn the same way; if so, reuse its strip."""
        if (
            self.cells != other.cells
            or self.fill != other.fill
            or list(self.segments) != list(other.segments)
        ):
            return False
        if self._strip is None:
            self._strip, self._apply_look = other._strip, other._apply_look
        return True

    def exactly(self, width: int, plain: Style) -> list[Segment]:
        if self.cells > width:
            return list(Strip(self.segments, self.cells).crop(0, width))
        if self.cells < width:
            return [*self.segments, Segment(" " * (width - self.cells), self.fill or plain)]
        return self.segments if isinstance(self.segments, list) else list(self.segments)

    def strip(self, width: int, dress: Dress) -> Strip:
        """Return the strip of exactly `width` cells; always the same object, so its ANSI codes stay cached."""
        strip = self._strip
        if strip is None or self._apply_look is not dress or strip.cell_length != width:
            strip = self._strip = WholeStrip(dress.on(self.exactly(width, dress.plain)), width)
            self._apply_look = dress
        return strip


def blank() -> Row:
    return Row((), 0)


def width_of(text: str) -> int:
    """Return the cells of the text without line feeds."""
    return cell_len(text) if _NOT_NARROW.search(text) else len(text)


def clip(text: str, width: int) -> str:
    """Cut text to at most `width` cells, with an ellipsis if anything was cut."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return "…"[: max(0, width)]
    end, used = 0, 0
    for start, stop, cells in clusters(text):
        if used + cells > width - 1:
            break
        end, used = stop, used + cells
        del start
    return text[:end] + "…"


def clusters(text: str) -> Iterable[tuple[int, int, int]]:
    """Yield (start, end, cells) of each displayed unit: a character with its marks, an emoji sequence."""
    start, size = 0, len(text)
    while start < size:
        end = start + 1
        while end < size:
            char = text[end]
            if char not in "\u200d\ufe0f" and text[end - 1] != "\u200d" and _begins(char):
                break
            end += 1
        yield (
            start,
            end,
            get_character_cell_size(text[start]) if end == start + 1 else cell_len(text[start:end]),
        )
        start = end


def _begins(char: str) -> bool:
    """Return whether a character begins a unit. Spacing marks and skin tones take a cell in some terminals."""
    if not get_character_cell_size(char):
        return False
    return category(char) != "Mc" and not "\U0001f3fb" <= char <= "\U0001f3ff"


def breaks(text: str, width: int, hard: bool = False) -> list[tuple[int, int]]:
    """Yield the start and end of each row of a line. A soft break drops one space, a hard break nothing."""
    width = max(1, width)
    if len(text) <= width and not _NOT_NARROW.search(text):
        return [(0, len(text))]
    if not _NOT_NARROW.search(text):
        return _breaks_narrow(text, width, hard)
    return _breaks_any(text, width, hard)


def _breaks_narrow(text: str, width: int, hard: bool) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    start, size = 0, len(text)
    while size - start > width:
        end = after = start + width
        if not hard:
            space = text.rfind(" ", start + 1, start + width + 1)
            if space > start:
                end, after = space, space + 1
        rows.append((start, end))
        start = after
    rows.append((start, size))
    return rows


def _breaks_any(text: str, width: int, hard: bool) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    row = used = 0  # start of the row, and its width so far
    cut: tuple[int, int, int] | None = (
        None  # the best place to break: end, next start, cells used up to there
    )
    wide_before = False
    breakable = not hard  # between two characters, except after a space, which is the break itself
    for start, end, cells in clusters(text):
        char = text[start]
        space = char == " " and end == start + 1
        wide = cells > 1 and (
            get_character_cell_size(char) > 1 or not char.isalpha()
        )  # not a letter and its mark
        if breakable and used and not space and (wide or wide_before) and char not in _CLOSING:
            cut = (start, start, used)
        while used + cells > width and start > row:
            if space and not hard:
                cut = (start, end, used + cells)
            stop, after, before = cut if cut and cut[0] > row else (start, start, used)
            rows.append((row, stop))
            row, used, cut = after, used - before, None
        breakable = not hard and not space
        if row > start:  # the break consumed this space
            used, wide_before = 0, False
            continue
        if space and not hard and start > row:
            cut = (start, end, used + cells)
        used += cells
        wide_before = wide
    rows.append((row, len(text)))
    return rows


def flow(
    runs: Sequence[Run],
    width: int,
    out: list[Row],
    first: Gutter = NO_GUTTER,
    rest: Gutter = NO_GUTTER,
    *,
    hard: bool = False,
    fill: Style | None = None,
    join: str | None = None,
    lead: str = "",
) -> None:
    """Append one line of runs to `out`, wrapped to `width` cells after a gutter; `join` is for its first row."""
    plain = runs[0][0] if len(runs) == 1 else "".join([text for text, _ in runs])
    narrow = not _NOT_NARROW.search(plain)
    room = width - (max(rest.cells, first.cells))
    if narrow and len(plain) <= room:
        segments = [*first.segments, *[Segment(text, style) for text, style in runs if text]]
        out.append(Row(segments, first.cells + len(plain), first.chars, join, fill, lead))
        return
    offset, index, (text, style) = 0, 0, runs[0]
    gutter, last = first, 0
    for number, (start, stop) in enumerate(breaks(plain, room, hard)):
        segments = list(gutter.segments)
        while True:
            low, high = max(start, offset) - offset, min(stop, offset + len(text)) - offset
            if high > low:
                segments.append(Segment(text[low:high], style))
            if offset + len(text) >= stop:
                break
            offset += len(text)
            index += 1
            text, style = runs[index]
        cells = stop - start if narrow else sum([cell_len(s.text) for s in segments[len(gutter.segments) :]])
        if number:
            join, lead = ("" if start == last else " "), ""
        out.append(Row(segments, gutter.cells + cells, gutter.chars, join, fill, lead))
        gutter, last = rest, stop
