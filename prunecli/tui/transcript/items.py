"""The state of an entry in the transcript: its value, its progress and its blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Divider,
    Entry,
    Key,
    Notice,
    Origin,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.tui.transcript.chunks import Chunk, Kind
from prunecli.tui.transcript.headers import (
    PRUNE_MARK,
    SPINNER,
    Face,
    divider_row,
    fold_row,
    foldable,
    header_cells,
    header_row,
    long_argument,
    mark_row,
    tool_face,
)
from prunecli.tui.transcript.markdown import Sheet
from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.parts import (
    ArgumentPart,
    ChunkPart,
    ExcerptPart,
    LinePart,
    MarkdownPart,
    NoticePart,
    Part,
    PromptPart,
    References,
    TextPart,
)
from prunecli.tui.transcript.pieces import diff_opening, diff_parts, is_long, opening, output_parts, pieces
from prunecli.tui.transcript.rows import Row, clip, width_of
from prunecli.tui.transcript.splitter import Splitter, split
from prunecli.util.sanitize import one_line

WHOLE_CHARS = 4_000
"""Maximum characters of a finished text that is one block, split only when visible."""

EXCERPT_LINES = 3
"""Output lines shown for a folded failed call."""

LAST_CHARS = 50
"""Characters at the end of a folded prompt that are shown."""

NOTHING = Chunk(Kind.PROSE, "")
TAIL, MARK = 1 << 30, 1 << 31
"""Numbers of the blocks that come last in an entry: a tool's last lines, and the pruning mark."""


@dataclass(slots=True, eq=False, repr=False)
class Stream:
    """Streaming text: the part since the last flush, and where it can be cut."""

    splitter: Splitter = field(default_factory=Splitter)
    pending: list[str] = field(default_factory=list)
    ended: bool = False  # no more text will come, but some is not laid out yet
    references: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Pulse:
    """The state of something running: start, duration, spinner step, last lines."""

    started_ms: float
    elapsed_ms: int = 0
    frame: int = 0
    tail: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Item:
    key: Key
    entry: Entry
    folded: bool = False
    chosen: bool = False
    blocks: list["Block"] = field(default_factory=list)
    stream: Stream | None = None
    pulse: Pulse | None = None
    chunks: list[Chunk] | None = None  # for a streamed thought, with its link references
    references: References | None = None

    @property
    def running(self) -> bool:
        entry = self.entry
        return (isinstance(entry, ToolCall) and entry.state is ToolState.RUNNING) or self.thinking

    @property
    def thinking(self) -> bool:
        return isinstance(self.entry, Thinking) and self.stream is not None

    @property
    def pruned(self) -> str:
        """The text of the entry's pruning mark, or ""."""
        return "" if isinstance(self.entry, Notice | Divider) else self.entry.pruned

    @property
    def can_fold(self) -> bool:
        """Whether the entry has a line to click and contents below."""
        entry = self.entry
        if isinstance(entry, Prompt):
            return _is_long(entry)
        return isinstance(entry, Thinking) or (isinstance(entry, ToolCall) and foldable(entry))

    def folds_at(self, block: "Block") -> bool:
        at = next((one for one in self.blocks if one.number == TAIL), None) if _is_prompt(self) else None
        return self.can_fold and block is (at or self.blocks[0])


class Block:
    """The smallest unit of layout.

    `height` is exact once `rows` exist, and a guess before. `number` orders the blocks of an entry. `gap`: an empty
    row precedes the block, if it has any rows. `rows` belong to a `generation` of the layout and a `version` of the
    part. `page` belongs to the index of heights.
    """

    __slots__ = ("gap", "generation", "height", "item", "number", "page", "part", "rows", "version")

    def __init__(self, item: Item, part: Part, number: int) -> None:
        self.item = item
        self.part = part
        self.number = number
        self.gap = part.gap
        self.height = 0
        self.rows: list[Row] | None = None
        self.generation = self.version = -1
        self.page: Any = None

    @property
    def point(self) -> int:
        """The position of the block's text in the order of all selectable text."""
        return self.item.key << 64 | self.number << 32


@dataclass(slots=True, eq=False, repr=False)
class HeaderPart(Part):
    """The line of a tool call or thought. Laid out on every change, since it shows the item's current state."""

    item: Item

    @property
    def source(self) -> str:
        entry = self.item.entry
        if isinstance(entry, ToolCall):
            return " ".join((entry.name, entry.argument, entry.outcome, entry.pruned))
        return ""

    def rows(self, sheet: Sheet) -> list[Row]:
        item, inks = self.item, sheet.inks
        if isinstance(item.entry, ToolCall):
            elapsed, frame = (item.pulse.elapsed_ms, item.pulse.frame) if item.pulse else (None, 0)
            face = tool_face(item.entry, item.folded, elapsed, frame, inks)
            row = header_row(face, sheet)
            is_below = item.folded and _is_explained(item.entry) and _is_cut(face, row)
            return [header_row(face._replace(outcome=""), sheet) if is_below else row]
        if isinstance(item.entry, Thinking):
            return [header_row(_thought_face(item, item.entry, sheet.inks), sheet)]
        return []


@dataclass(slots=True, eq=False, repr=False)
class OutcomePart(Part):
    """Why a call failed, if the line above has no room for it. Not searched: the line is."""

    call: ToolCall

    def guess(self, width: int) -> int:
        """Guess no row for words that fit in the line above, otherwise one."""
        return 0 if len(self.call.outcome) < width // 4 else 1

    def rows(self, sheet: Sheet) -> list[Row]:
        """Lay out the words on a few rows; none if the line shows them in full."""
        face = tool_face(self.call, True, None, 0, sheet.inks)
        if not _is_cut(face, header_row(face, sheet)):
            return []
        return ExcerptPart((clip(face.outcome, EXCERPT_LINES * sheet.width),), True).rows(sheet)


def _is_explained(call: ToolCall) -> bool:
    return call.state is ToolState.ERROR and not last_lines(call)


def _is_cut(face: Face, row: Row) -> bool:
    return not face.pruned and face.outcome not in row.text


def _thought_face(item: Item, entry: Thinking, inks: Inks) -> Face:
    """Return the line of a thought. It has no time, since the log has only that of the whole response."""
    pulse = item.pulse
    return Face(
        SPINNER[pulse.frame % len(SPINNER)] if item.thinking and pulse else "∴",
        inks.accent if item.thinking else inks.muted,
        "think",
        one_line(gist(item)) if item.folded else "",
        subject_style=inks.muted,
        pruned=one_line(entry.pruned),
        fold="▸" if item.folded else "▾",
    )


def gist(item: Item) -> str:
    """Return one line of a thought: the first one, or the latest one while it grows."""
    if item.stream:
        growing = item.stream.splitter.tail() or (item.chunks[-1] if item.chunks else None)
        lines = growing.text.split("\n")[-1:] if growing else []
    else:
        text = item.chunks[0].text if item.chunks else getattr(item.entry, "text", "")
        lines = text.lstrip()[:400].split("\n")[:1]
    return lines[0].strip(" *#`_") if lines else ""


def first_parts(item: Item) -> Iterator[tuple[int, Part]]:
    """Return the initial parts of an entry with their numbers, including those of an open fold."""
    entry = item.entry
    dimmed = bool(item.pruned)
    match entry:
        case Prompt():
            yield from _prompt_parts(item, entry)
        case Assistant() if item.stream is None and len(entry.text) <= WHOLE_CHARS:
            yield 0, MarkdownPart(entry.text, dimmed)
        case Assistant() if item.stream is None:
            chunks, references = split(entry.text)
            for number, chunk in enumerate(chunks or [NOTHING]):
                yield number, ChunkPart(chunk, references, dimmed)
        case Assistant():
            yield 0, ChunkPart(NOTHING, {})
        case ToolCall() | Thinking():
            yield 0, HeaderPart(item)
            if not item.folded:
                yield from enumerate(inner_parts(item), 1)
            if item.pulse and item.pulse.tail:
                yield TAIL, TextPart("\n".join(item.pulse.tail))
            elif item.folded:
                yield from _excerpt(entry)
        case Notice():
            yield 0, NoticePart(entry)
        case Divider():
            yield 0, LinePart(entry.label, divider_row)
    if dimmed and isinstance(entry, Prompt | Assistant):
        yield MARK, LinePart(item.pruned, mark_row)


def _excerpt(entry: ToolCall | Thinking) -> Iterator[tuple[int, Part]]:
    """Yield what is shown of a folded call: the reason why it failed, or the start of a long diff."""
    if lines := last_lines(entry):
        yield TAIL, ExcerptPart(lines, isinstance(entry, ToolCall) and entry.state is ToolState.DENIED)
    elif isinstance(entry, ToolCall) and _is_explained(entry):
        yield TAIL, OutcomePart(entry)
    elif isinstance(entry, ToolCall) and (begun := diff_opening(entry.body)):
        yield 1, begun[0]
        yield TAIL, LinePart(f"{begun[1]:,} more lines", partial(fold_row, folded=True))


def _prompt_parts(item: Item, entry: Prompt) -> Iterator[tuple[int, Part]]:
    yield 0, PromptPart(opening(_said(entry))[0], entry.origin, dimmed=bool(item.pruned))
    if not item.folded:
        yield from enumerate(inner_parts(item), 1)
    if item.can_fold:
        yield TAIL, LinePart(_more(entry, folded=item.folded), partial(fold_row, folded=item.folded))


_LEAST_LINES = {ToolState.ERROR: 2, ToolState.INTERRUPTED: 1, ToolState.DENIED: 0}
"""Minimum output lines for an excerpt. A failed call's header already shows its last line."""


def last_lines(entry: Entry) -> tuple[str, ...]:
    """Return the first lines of the reason for a denial, or the last lines of a failed or cut output.

    The tool's own notes in brackets are left out, as is a single line that the call's line already shows.
    """
    if not isinstance(entry, ToolCall) or entry.pruned:
        return ()
    least = _LEAST_LINES.get(entry.state)
    if least is None:
        return ()
    text = entry.body.text.strip() if isinstance(entry.body, Output) else ""
    if entry.state is ToolState.DENIED:
        first, more = text.split("\n", EXCERPT_LINES)[:EXCERPT_LINES], text.count("\n") >= EXCERPT_LINES
        return (*filter(str.strip, first), *(["…"] if more else []))
    lines = [line for line in text.rsplit("\n", 4 * EXCERPT_LINES) if line.strip()]
    said = [line for line in lines if not (line.startswith("[") and line.endswith("]"))]
    return tuple(said[-EXCERPT_LINES:]) if len(said) >= least else ()


def inner_parts(item: Item) -> Iterator[Part]:
    """Yield the parts of an open fold."""
    entry = item.entry
    if isinstance(entry, Thinking):
        references: References
        if item.chunks is None:
            chunks, references = split(entry.text)
        else:
            chunks, references = item.chunks, item.references or {}
        for chunk in chunks:
            yield ChunkPart(chunk, references, dimmed=True, bar=True)
        if item.stream:
            growing = item.stream.splitter.tail() or NOTHING
            yield ChunkPart(growing, item.references or {}, dimmed=True, bar=True)
    elif isinstance(entry, Prompt):
        _, rest, cut = opening(_said(entry))
        for number, (piece, glued) in enumerate(pieces(rest) if rest else ()):
            yield PromptPart(piece, entry.origin, False, glued or (cut and not number), bool(item.pruned))
    elif isinstance(entry, ToolCall):
        if long_argument(entry):
            beside, outcome = header_cells(entry), width_of(entry.outcome)
            for piece, glued in pieces(entry.argument):
                yield ArgumentPart(piece, glued, loud=True, beside=beside, outcome=outcome)
        if isinstance(entry.body, Output):
            yield from output_parts(entry.body)
        elif isinstance(entry.body, Diff):
            yield from diff_parts(entry.body)


def starts_folded(entry: Entry) -> bool:
    if isinstance(entry, ToolCall):
        is_shown = isinstance(entry.body, Diff) and not is_long(entry.body)
        return not is_shown if entry.folded is None else entry.folded
    return _is_long(entry) if isinstance(entry, Prompt) else isinstance(entry, Thinking) and entry.folded


def _said(entry: Prompt) -> str:
    return entry.text.rstrip("\n")


def _is_prompt(item: Item) -> bool:
    return isinstance(item.entry, Prompt)


def _is_long(entry: Prompt) -> bool:
    return bool(opening(_said(entry))[1])


def _more(entry: Prompt, *, folded: bool) -> str:
    """Return the size of a folded prompt's hidden part and its last words, since a question often follows a long
    paste."""
    rest = opening(_said(entry))[1]
    lines = rest.count("\n") + 1
    if lines == 1:
        return f"{len(rest):,} more characters"
    last = one_line(rest.rpartition("\n")[2][-LAST_CHARS:].strip()) if folded else ""
    return f"{lines:,} more lines" + (f" · … {last}" if last else "")


def below_gap(above: Item, item: Item) -> bool:
    """Return whether an empty row separates two entries.

    One-line tool calls stay together, and with the sentence that announces them.
    """
    tight = (ToolCall, Thinking, Notice)
    if isinstance(item.entry, tight) and isinstance(above.entry, tight):
        open_ = len(above.blocks) > 1 and not isinstance(above.blocks[1].part, OutcomePart)
        return open_ or _aside(above.entry) != _aside(item.entry)
    if isinstance(item.entry, ToolCall) and isinstance(above.entry, Prompt):
        return above.entry.origin is not Origin.SHELL
    if isinstance(item.entry, ToolCall) and isinstance(above.entry, Assistant) and not above.entry.pruned:
        last = above.blocks[-1].part
        if isinstance(last, ChunkPart):
            return last.chunk.kind in (Kind.CODE, Kind.TABLE)
        return last.source.rstrip()[-1:] in ("`", "~", "|")
    return True


def _aside(entry: Entry) -> bool:
    return isinstance(entry, Notice) and not entry.text.startswith(PRUNE_MARK)
