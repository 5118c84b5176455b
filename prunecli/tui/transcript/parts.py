"""Parts: the contents of a block, which can guess their height and make their rows.

A part is laid out when it comes into view, and again when the width or the colors change. Until then its height is a
guess.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prunecli.front.presentation.entries import Diff, Notice, Origin
from prunecli.tui.transcript.chunks import Chunk, Kind
from prunecli.tui.transcript.diff_rows import DiffLine, diff_rows, parse
from prunecli.tui.transcript.headers import NOTICE_MARKS, PROMPT_MARKS, PRUNE_MARK
from prunecli.tui.transcript.markdown import Sheet, chunk_rows
from prunecli.tui.transcript.rows import NO_GUTTER, Gutter, Row, blank, clip, flow, width_of
from prunecli.tui.transcript.splitter import split
from prunecli.util.sanitize import source as clean

References = Mapping[str, Mapping[str, str]]


class Part(ABC):
    """The base of all parts. `version` changes when earlier rows are outdated."""

    __slots__ = ()

    @property
    def version(self) -> int:
        return 0

    @property
    def gap(self) -> bool:
        """Whether an empty row precedes the part, unless it is the first part of its entry."""
        return False

    @property
    def source(self) -> str:
        return ""

    def guess(self, width: int) -> int:  # noqa: ARG002
        return 1

    @abstractmethod
    def rows(self, sheet: Sheet) -> list[Row]:
        """Lay out the rows, without the gap."""

    def gap_row(self, sheet: Sheet) -> Row:  # noqa: ARG002
        return blank()


def _wrapped(text: str, width: int) -> int:
    return max(text.count("\n"), len(text) // max(1, width)) + 1


@dataclass(slots=True, eq=False, repr=False)
class MarkdownPart(Part):
    """A short text, split into chunks only when visible."""

    text: str
    dimmed: bool = False

    @property
    def source(self) -> str:
        return self.text

    def guess(self, width: int) -> int:
        return self.text.count("\n") + len(self.text) // (2 * width + 1) + 1 if self.text else 0

    def rows(self, sheet: Sheet) -> list[Row]:
        if self.dimmed:
            sheet = sheet._replace(inks=sheet.inks.dimmed())
        chunks, references = split(self.text)
        out: list[Row] = []
        for chunk in chunks:
            more = chunk_rows(chunk, sheet, references)
            if more and chunk.gap and out:
                out.append(blank())
            out += more
        return out


@dataclass(slots=True, eq=False, repr=False)
class ChunkPart(Part):
    """A chunk of a long or growing text. A `bar` marks thinking."""

    chunk: Chunk
    references: References
    dimmed: bool = False
    bar: bool = False

    @property
    def version(self) -> int:
        """The version: increases when a table's columns grow or a fence is lexed better."""
        return self.chunk.shared.version if self.chunk.shared else 0

    @property
    def gap(self) -> bool:
        return self.chunk.gap

    @property
    def source(self) -> str:
        return self.chunk.text

    def guess(self, width: int) -> int:
        text = self.chunk.text
        if self.chunk.kind is Kind.CODE:
            return text.count("\n") + 1
        return _wrapped(text, width) if text else 0

    def rows(self, sheet: Sheet) -> list[Row]:
        if self.dimmed:
            sheet = sheet._replace(inks=sheet.inks.dimmed())
        return chunk_rows(self.chunk, sheet, self.references, self._gutter(sheet))

    def gap_row(self, sheet: Sheet) -> Row:
        gutter = self._gutter(sheet)
        return Row(gutter.segments, gutter.cells, gutter.chars)

    def _gutter(self, sheet: Sheet) -> Gutter:
        return NO_GUTTER.then("  │ ", sheet.inks.faint) if self.bar else NO_GUTTER


@dataclass(slots=True, eq=False, repr=False)
class PromptPart(Part):
    text: str
    origin: Origin
    first: bool = True
    glued: bool = False
    dimmed: bool = False

    @property
    def source(self) -> str:
        return self.text

    def guess(self, width: int) -> int:
        return _wrapped(self.text, width)

    def rows(self, sheet: Sheet) -> list[Row]:
        inks = sheet.inks
        style = inks.prompt_muted if self.dimmed else inks.prompt
        rest = NO_GUTTER.then("  ", style)
        first = NO_GUTTER.then(PROMPT_MARKS[self.origin], inks.prompt_bar) if self.first else rest
        out: list[Row] = []
        for line in clean(self.text).split("\n"):
            flow([(line, style)], sheet.width - 1, out, first, rest, fill=style)
            first = rest
        if self.glued:
            out[0].join = ""
        return out


@dataclass(slots=True, eq=False, repr=False)
class TextPart(Part):
    """A piece of plain text after a bar: a tool's input or output. A broken bar marks text that the model did not
    receive."""

    text: str
    glued: bool = False
    loud: bool = False
    held: bool = False

    @property
    def source(self) -> str:
        return self.text

    def guess(self, width: int) -> int:
        return _wrapped(self.text, width - 4)

    def rows(self, sheet: Sheet) -> list[Row]:
        inks = sheet.inks
        gutter = NO_GUTTER.then("  ┊ " if self.held else "  │ ", inks.faint)
        style = inks.text if self.loud else inks.faint if self.held else inks.muted
        out: list[Row] = []
        for line in clean(self.text).split("\n"):
            flow([(line, style)], sheet.width, out, gutter, gutter, hard=True)
        if self.glued:
            out[0].join = ""
        return out


@dataclass(slots=True, eq=False, repr=False)
class ArgumentPart(TextPart):
    """A tool's full argument, if the line above cut it.

    `beside` is the width of the rest of that line, without the outcome, which may take up to half of the line.
    """

    beside: int = 0
    outcome: int = 0

    def rows(self, sheet: Sheet) -> list[Row]:
        """Lay out the argument; return no rows if the line already shows all of it."""
        room = max(0, sheet.width - self.beside)
        if "\n" not in self.text and width_of(self.text) + min(self.outcome, room // 2) <= room:
            return []
        return TextPart.rows(self, sheet)


@dataclass(slots=True, eq=False, repr=False)
class ExcerptPart(Part):
    """The end of folded output, with one row for each line, or all of it if `whole`. Not searched, since the output
    itself is."""

    lines: tuple[str, ...]
    whole: bool = False

    def guess(self, width: int) -> int:  # noqa: ARG002
        return len(self.lines)

    def rows(self, sheet: Sheet) -> list[Row]:
        gutter = NO_GUTTER.then("  │ ", sheet.inks.faint)
        out: list[Row] = []
        for line in self.lines:
            text = clean(f"{line}\n").removesuffix("\n")  # the line may end with CRLF
            text = text if self.whole else clip(text, max(1, sheet.width - gutter.cells))
            flow([(text, sheet.inks.muted)], sheet.width, out, gutter, gutter, hard=not self.whole)
        return out


@dataclass(slots=True, eq=False, repr=False)
class DiffPart(Part):
    diff: Diff
    lines: tuple[DiffLine, ...] | None = None
    digits: int = 0

    @property
    def source(self) -> str:
        return self.diff.text if self.lines is None else "\n".join([line.text for line in self.lines])

    def guess(self, width: int) -> int:  # noqa: ARG002
        return self.diff.text.count("\n") + 1 if self.lines is None else len(self.lines)

    def rows(self, sheet: Sheet) -> list[Row]:
        lines = parse(self.diff.text) if self.lines is None else self.lines
        return diff_rows(lines, self.diff.path, sheet, NO_GUTTER.then("  ", sheet.inks.text), self.digits)


@dataclass(slots=True, eq=False, repr=False)
class LinePart(Part):
    text: str
    draw: Callable[[str, Sheet], Row]

    @property
    def source(self) -> str:
        return self.text

    def rows(self, sheet: Sheet) -> list[Row]:
        return [self.draw(self.text, sheet)]


@dataclass(slots=True, eq=False, repr=False)
class NoticePart(Part):
    notice: Notice

    @property
    def source(self) -> str:
        return self.notice.text

    def guess(self, width: int) -> int:
        return _wrapped(self.notice.text, width)

    def rows(self, sheet: Sheet) -> list[Row]:
        inks = sheet.inks
        style = {"info": inks.muted, "warning": inks.warning, "error": inks.error}[self.notice.level]
        text = clean(self.notice.text)
        mark = PRUNE_MARK if text.startswith(PRUNE_MARK) else NOTICE_MARKS[self.notice.level]
        first = NO_GUTTER.then(mark, style)
        rest = NO_GUTTER.then("  ", style)
        out: list[Row] = []
        for line in text.removeprefix(PRUNE_MARK).split("\n"):
            flow([(line, style)], sheet.width, out, first, rest)
            first = rest
        return out
