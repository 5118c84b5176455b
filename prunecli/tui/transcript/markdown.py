"""Turns a chunk of Markdown into rows in one walk over markdown-it's block tokens.

markdown-it is imported at first use (`startup.warm` does that early, in a thread).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style

from prunecli.tui.transcript.chunks import Chunk, TableShape
from prunecli.tui.transcript.highlight import CodeText, highlight
from prunecli.tui.transcript.inline_markdown import lines, runs
from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.rows import NO_GUTTER, Gutter, Row, Run, Written, flow
from prunecli.tui.transcript.tables import table_rows
from prunecli.util.commonmark import MOST_BRACKETS, is_deep, parser
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

LEX_AHEAD = 4_000
"""Maximum characters of a long fence lexed for one piece; at worst about 15 ms."""


class Sheet(NamedTuple):
    """The target of a layout: a width in cells, the width of prose, and the styles."""

    width: int
    measure: int
    inks: Inks


def chunk_rows(
    chunk: Chunk, sheet: Sheet, references: Mapping[str, Mapping[str, str]], gutter: Gutter = NO_GUTTER
) -> list[Row]:
    """Return the rows of a chunk, without the gap above it."""
    inks = sheet.inks
    if chunk.indent:
        gutter = gutter.then(" " * min(chunk.indent, sheet.width // 2), inks.text)
    if isinstance(chunk.shared, CodeText):
        if chunk.part < 0:
            colored: Sequence[Sequence[Run]] = chunk.shared.alone(chunk.text, inks)
        else:
            colored = chunk.shared.lines(chunk.part, inks, LEX_AHEAD)
        out = code_rows(colored, sheet, gutter)
        for row in out:
            row.written = chunk.shared.written
    else:
        text = chunk.text
        if isinstance(chunk.shared, TableShape) and chunk.part:
            text = f"{chunk.shared.head}\n{text}"
        if text.count("[") > MOST_BRACKETS or is_deep(text):
            out = _plain_rows(text, sheet, gutter)
        else:
            writer = _Writer(sheet, gutter, chunk, text.split("\n"), elsewhere=bool(references))
            writer.write(parser().parse(text, {"references": dict(references)}))
            out = writer.rows
    if out and chunk.join is not None:
        out[0].join = chunk.join
    return out


def code_rows(colored: Sequence[Sequence[Run]], sheet: Sheet, gutter: Gutter) -> list[Row]:
    """Lay out lines of code on their own background, wrapping long ones."""
    out: list[Row] = []
    margin = gutter.then("  ", sheet.inks.code)
    for line in colored:
        flow(
            line or [("", sheet.inks.code)], sheet.width, out, margin, margin, hard=True, fill=sheet.inks.code
        )
    return out


def _plain_rows(text: str, sheet: Sheet, gutter: Gutter) -> list[Row]:
    out: list[Row] = []
    for line in text.split("\n"):
        flow([(line, sheet.inks.text)], sheet.width, out, gutter, gutter)
    return out


class _Writer:
    def __init__(
        self, sheet: Sheet, gutter: Gutter, chunk: Chunk, source: Sequence[str], *, elsewhere: bool
    ) -> None:
        self.rows: list[Row] = []
        self._source, self._elsewhere = (
            source,
            elsewhere,
        )  # the lines; whether any links are defined elsewhere
        self._sheet, self._inks, self._chunk = sheet, sheet.inks, chunk
        self._gutters = [gutter]
        self._leads = [" " * chunk.indent]
        self._lists: list[int | None] = []
        self._marker: tuple[Gutter, str] | None = None  # for an item without rows yet
        self._end = 0  # the source line after the element written last
        self._heading = 0

    def write(self, tokens: Sequence["Token"]) -> None:
        number = 0
        while number < len(tokens):
            token = tokens[number]
            if token.type == "table_open":
                number = self._table(tokens, number)
            else:
                self._token(token)
            number += 1

    def _token(self, token: "Token") -> None:
        match token.type:
            case "inline":
                self._text(token)
            case "heading_open":
                self._space(token)
                self._heading = int(token.tag[1:])
            case "paragraph_open":
                self._space(token)
            case "fence" | "code_block":
                self._space(token)
                self._code(token)
            case "bullet_list_open":
                self._space(token)
                self._lists.append(None)
            case "ordered_list_open":
                self._space(token)
                self._lists.append(int(token.attrs.get("start", 1)))
            case "list_item_open":
                self._item(token)
            case "blockquote_open":
                self._space(token)
                self._gutters.append(self._deeper("▎ ", self._inks.quote))
                self._leads.append(self._leads[-1] + "> ")
            case "hr":
                self._space(token)
                self._rule()
                self._keep(self.rows[-1:], token.map, alone=True)
            case _:
                self._other(token)

    def _other(self, token: "Token") -> None:
        match token.type:
            case "heading_close":
                self._heading = 0
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_close":
                self._flush_marker()
                self._close()
            case "blockquote_close":
                self._close()
            case _ if token.content:
                self._flow([(visible(token.content).replace("\n", " "), self._inks.muted)])

    def _space(self, token: "Token") -> None:
        """Add an empty row where the source has one, except above the first row of an item."""
        lines_of = token.map or (self._end, self._end)
        if self.rows and self._marker is None and lines_of[0] > self._end > 0:
            self._empty()
        if token.type not in ("bullet_list_open", "ordered_list_open", "blockquote_open"):
            self._end = lines_of[1]

    def _empty(self) -> None:
        gutter = self._gutters[-1]
        self.rows.append(Row(gutter.segments, gutter.cells, gutter.chars, lead=self._leads[-1]))

    def _item(self, token: "Token") -> None:
        self._space_item(token)
        number = self._lists[-1]
        marker = "• " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1
        outer, lead = self._gutters[-1], self._leads[-1]
        self._marker = outer.then(marker, self._inks.muted), lead + (marker if number is not None else "- ")
        self._gutters.append(self._deeper(" " * len(marker), self._inks.text))
        self._leads.append(lead + " " * len(marker))

    def _deeper(self, text: str, style: Style) -> Gutter:
        """Return the gutter of nested content, at most half the width, so that text has room."""
        outer = self._gutters[-1]
        return outer.then(text, style) if outer.cells < self._sheet.width // 2 else outer

    def _space_item(self, token: "Token") -> None:
        start = token.map[0] if token.map else self._end
        if self.rows and self._marker is None and start > self._end > 0:
            self._empty()
        self._flush_marker()
        self._end = max(self._end, start)

    def _flush_marker(self) -> None:
        """Write the marker of an otherwise empty item."""
        if self._marker:
            self._flow([("", self._inks.text)])

    def _close(self) -> None:
        self._gutters.pop()
        self._leads.pop()

    def _take_gutters(self) -> tuple[Gutter, Gutter, str]:
        """Return the gutters of the next row and of the rows after it, and the text copied before the next row."""
        rest, lead = self._gutters[-1], self._leads[-1]
        if self._marker is None:
            return rest, rest, lead
        (first, lead), self._marker = self._marker, None
        return first, rest, lead

    def _flow(self, line: Sequence[Run]) -> None:
        first, rest, lead = self._take_gutters()
        width = min(self._sheet.width, self._sheet.measure)
        flow(line, width, self.rows, first, rest, lead=lead)

    def _text(self, token: "Token") -> None:
        inks, first = self._inks, len(self.rows)
        base = inks.text if not self._heading else inks.title if self._heading == 1 else inks.heading
        for line in lines(runs(token.children or (), base, inks)):
            self._flow(line)
        self._keep(self.rows[first:], token.map)

    def _code(self, token: "Token") -> None:
        self._flush_marker()
        words = token.info.split()
        code = visible(token.content.removesuffix("\n"))
        colored = highlight(code, words[0].lower() if words else "", self._inks)
        made = code_rows(colored, self._sheet, self._gutters[-1])
        self._keep(made, token.map)
        self.rows.extend(made)

    def _table(self, tokens: Sequence["Token"], start: int) -> int:
        self._space(tokens[start])
        end = next(n for n in range(start, len(tokens)) if tokens[n].type == "table_close")
        self._flush_marker()
        shape = self._chunk.shared if isinstance(self._chunk.shared, TableShape) else None
        part = self._chunk.part if shape else 0
        made = table_rows(tokens[start:end], self._sheet.width, self._inks, self._gutters[-1], shape, part)
        line = (tokens[start].map or [0])[0]
        first = line + 2 if part else line  # if the head is not shown, the first row decides
        for number, rows in enumerate(made):
            self.rows.extend(rows)
            if rows:
                self._keep(rows, [first, line + number + 2], alone=True)
                first = line + number + 2
        return end

    def _rule(self) -> None:
        first, _, _ = self._take_gutters()
        cells = max(1, min(self._sheet.width, self._sheet.measure) - first.cells)
        segments = [*first.segments, Segment("─" * cells, self._inks.faint)]
        self.rows.append(Row(segments, first.cells + cells, first.chars))

    def _keep(self, rows: Sequence[Row], lines: Sequence[int] | None, *, alone: bool = False) -> None:
        """Record the source lines of an element's rows.

        Pieces of a cut line get no source, and a link whose address is defined elsewhere is copied as shown.
        """
        indent = " " * self._chunk.indent
        source = "\n".join([indent + line for line in self._source[slice(*lines)]]) if lines else ""
        if source and rows and self._chunk.join is None and not (self._elsewhere and "[" in source):
            written = Written(source, len(rows), alone=alone)
            for row in rows:
                row.written = written
