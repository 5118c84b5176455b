"""Splits a growing Markdown text into chunks that never change once emitted.

It works line by line, so the chunks do not depend on how the text arrived. Every chunk has a bounded size: a fence is
cut every `FENCE_LINES` lines, prose and tables at `CHUNK_CHARS`, and an overlong line within the line.
"""

import re

from prunecli.tui.transcript.chunks import Chunk, Kind, TableShape
from prunecli.tui.transcript.highlight import CodeText
from prunecli.tui.transcript.rows import Written
from prunecli.util.sanitize import source

FENCE_LINES = 60
CHUNK_CHARS = 6_000

_FENCE = re.compile(r" *(?:(?P<marker>[-*+]|\d{1,9}[.)]) +)?(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?: |$)")
_ITEM_MARKER = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) +")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_DELIMITER_ROW = re.compile(r" *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?")
_DEFINITION = re.compile(
    r" {0,3}\[(?=\s*\S)([^\[\]\\]{1,200})\]: *(?:<([^\s<>]{1,2000})>|([^\s<>][^\s]{0,2000}))(?:\s+\"[^\"]*\")?\s*"
)
_UNDECIDED = re.compile(
    r" *(?:[-*+=_#>~`|:]+|\d{1,9}[.)]?)[-*+=_ ]*"  # only markers so far
    r"| *(?:`{3}|~{3}).*"
    r"|\[[^\]]{0,80}(?:\](?::.*)?)?"  # perhaps a link reference definition
    r"|\|.*"
)

_BLOCK_START = re.compile(r"[-+*>#=`~|_]|\d{1,9}[.)]")
"""A line start that begins another kind of block."""

_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*$")


class Splitter:
    """A splitter of one text. `feed` returns finished chunks, `tail` the growing one, and `close` the rest."""

    def __init__(self, chunk_chars: int = CHUNK_CHARS, fence_lines: int = FENCE_LINES) -> None:
        self._most_chars, self._most_lines = chunk_chars, fence_lines
        self.references: dict[str, dict[str, str]] = {}
        """Link reference definitions found so far, in markdown-it's format."""
        self._raw = ""  # the unfinished line, as it arrived
        self._inside = False  # whether it is the rest of a cut line
        self._blank = False  # an empty line precedes what comes next
        self._listed = False  # a list is open
        self._above: Kind | None = None
        self._fence: tuple[str, CodeText] | None = None
        self._opening = ""  # the line that opened the fence, if it has more than a language
        self._out: list[Chunk] = []
        # The growing chunk:
        self._kind = Kind.PROSE
        self._lines: list[str] = []
        self._size = 0
        self._gap = False
        self._indent = 0
        self._join: str | None = None
        self._table: TableShape | None = None
        self._part = 0

    def feed(self, text: str) -> list[Chunk]:
        *lines, self._raw = (self._raw + text).split("\n")
        for line in lines:
            self._line(self._cut_long(line))
        self._raw = self._cut_long(self._raw)
        if self._blank and self._lines and not self._fence and self._raw and self._raw[0] not in " \t\r":
            self._end()  # in any case, this line is not part of the chunk above
        out, self._out = self._out, []
        return out

    def close(self) -> list[Chunk]:
        if self._raw:
            self._line(self._raw)
            self._raw = ""
        if self._fence and self._opening and not self._lines and not self._fence[1].pieces:
            self._lines.append(self._opening)  # the fence is empty, so show its opening line
        self._end()
        if self._fence:
            self._fence[1].close()
        out, self._out = self._out, []
        return out

    def tail(self) -> Chunk | None:
        """Return the growing chunk, without a part that could still become something else."""
        raw = source(self._raw.removesuffix("\r"))
        lines = self._lines
        if self._fence:
            mark, code = self._fence
            if raw and (self._inside or set(raw.strip()) != {mark[0]}):
                lines = [*lines, self._dedent(raw)]
            if not lines:
                return None
            return Chunk(Kind.CODE, "\n".join(lines), self._gap, self._indent, self._join, -1, code)
        kind, gap, indent = self._kind, self._gap, self._indent
        if not lines and not self._inside and not self._table and self._join is None:
            kind = Kind.HEADING if _HEADING.match(raw) else Kind.PROSE
            gap, indent = self._gap_above(kind), self._indent_of(raw)
        if self._inside:
            lines = [*lines, _escaped(raw)]
        elif self._table is None and raw and not _UNDECIDED.fullmatch(raw):
            lines = [*lines, raw[min(indent, len(raw) - len(raw.lstrip(" "))) :]]
        elif self._table is None and not self._blank and lines and lines[-1].lstrip(" ")[:1] == "|":
            lines = lines[:-1]  # perhaps the head of a table: the next line decides
        text = "\n".join(lines)
        if not text.strip():
            return None
        text = text if self._table else _mend(text)
        return Chunk(kind, text, gap, indent, self._join, self._part, self._table)

    # -- lines

    def _cut_long(self, line: str) -> str:
        """Cut the front off an overlong line until the rest fits; return the rest."""
        while len(line) > self._most_chars:
            space = -1 if self._fence else line.rfind(" ", self._most_chars // 2, self._most_chars)
            front = line[: space if space > 0 else self._most_chars]
            self._line(front, ended=False)
            marker = _ITEM_MARKER.match(front) if self._listed else None
            line = line[space + 1 :] if space > 0 else line[self._most_chars :]
            self._emit()
            self._join, self._gap = " " if space > 0 else "", False
            if marker:
                self._indent += marker.end()
        return line

    def _line(self, raw: str, ended: bool = True) -> None:
        """Process a line, or the front of a cut one."""
        line = source(raw.removesuffix("\r") if ended else raw)
        inside, self._inside = self._inside, not ended
        if self._fence:
            self._code_line(line, raw, *self._fence, whole=ended and not inside)
        elif inside:
            self._add(_escaped(line))
        elif not line.strip():
            self._blank = True
            if self._lines:
                self._lines.append("")
        else:
            self._text_line(line, ended)

    def _text_line(self, line: str, ended: bool) -> None:
        item = _ITEM.match(line) is not None
        self._end_before(line, item)
        if ended and ("```" in line or "~~~" in line) and self._open_fence(line):
            return
        heading = "#" in line and _HEADING.match(line) is not None
        if heading or (self._table and _BLOCK_START.match(line) and line[0] not in "|-_=`*"):
            self._end()
        if heading:
            self._listed = self._belongs(line)
        if not self._lines and not self._table:
            self._start(Kind.HEADING if heading else Kind.PROSE, line)
        if ended and self._lines and not self._table and _DELIMITER_ROW.fullmatch(line):
            self._open_table(line)
        elif "]:" in line and (match := _DEFINITION.fullmatch(line)):
            target = {"title": "", "href": match[2] or match[3]}
            self.references.setdefault(" ".join(match[1].upper().split()), target)
        self._listed = self._listed or item
        self._add(self._dedent(line))
        if heading and ended:
            self._end()

    def _end_before(self, line: str, item: bool) -> None:
        """End the chunk, and perhaps the list, if this line cannot be part of it."""
        indent = len(line) - len(line.lstrip(" "))
        if self._blank and not self._belongs(line):
            self._end()
            self._listed = False
        elif self._lines and (
            indent < self._indent or (item and self._listed and self._size > self._most_chars)
        ):
            self._end()
        if self._join is not None and not self._lines and not self._table and _BLOCK_START.match(line):
            self._join = None

    def _belongs(self, line: str) -> bool:
        """Return whether an indented line after an empty one belongs to the list item above."""
        return self._listed and line[:2] == "  "

    def _indent_of(self, line: str) -> int:
        return len(line) - len(line.lstrip(" ")) if self._belongs(line) else 0

    def _dedent(self, line: str) -> str:
        return line[min(self._indent, len(line) - len(line.lstrip(" "))) :] if self._indent else line

    # -- fences and tables

    def _open_fence(self, line: str) -> bool:
        match = _FENCE.match(line)
        if not match or (match["mark"][0] == "`" and "`" in match["info"]):
            return False
        indent = match.start("mark")
        if match["marker"]:
            self._listed = True
            if not self._lines:
                self._start(Kind.PROSE, line)
            self._lines.append(self._dedent(line[: match.end("marker")]))
        elif indent > 3 and not self._listed:
            return False
        self._end()
        self._listed = self._listed and indent > 1
        words = match["info"].split()
        self._start(Kind.CODE, " " * indent)
        self._opening = line.strip() if words else ""
        written = Written(fence=line[indent:].rstrip(), indent=self._indent)
        self._fence = match["mark"], CodeText(words[0].strip("{}.").lower() if words else "", written)
        return True

    def _code_line(self, line: str, raw: str, mark: str, code: CodeText, whole: bool) -> None:
        end = line.strip()
        if whole and end.startswith(mark) and not end.strip(mark[0]):
            self._end()
            self._fence = None
            code.close()
        else:
            text = self._dedent(line) if whole else line
            if "\t" in raw and code.written:
                code.written.tabs[text] = raw, len(line) - len(text)
            self._add(text)

    def _open_table(self, delimiter: str) -> None:
        """Start a table: the line above this delimiter row was its head."""
        head = self._lines.pop()
        if any(self._lines):
            self._end()
        if not self._lines:
            self._start(Kind.TABLE, delimiter)
        self._table = TableShape(f"{head.strip()}\n{delimiter.strip()}")
        self._lines = [head.strip()]

    # -- chunks

    def _gap_above(self, kind: Kind) -> bool:
        if self._above is None or self._above is Kind.HEADING:
            return self._above is not None and kind not in _TEXT
        if self._listed:
            return self._blank and kind is not Kind.CODE
        return self._blank or kind not in _TEXT or self._above not in _TEXT or kind is Kind.HEADING

    def _start(self, kind: Kind, line: str) -> None:
        if self._join is None:
            self._gap = self._gap_above(kind)
            self._indent = self._indent_of(line)
        self._kind, self._blank = kind, False

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        if self._fence:
            if len(self._lines) >= self._most_lines or self._size > self._most_chars:
                self._emit()
        elif self._size > self._most_chars and (
            not self._listed or self._indent or self._size > 3 * self._most_chars
        ):
            listed = self._listed
            self._emit()
            self._join = None if listed or self._table else " "

    def _emit(self) -> None:
        """Emit the lines so far as a chunk and continue with the same kind."""
        lines, self._lines, self._size = self._lines, [], 0
        text = "\n".join(lines)
        if self._fence:
            if lines:
                code = self._fence[1]
                part = code.add(text)
                self._out.append(Chunk(Kind.CODE, text, self._gap, self._indent, self._join, part, code))
        elif text.strip() and not _only_definitions(text):
            text = text.rstrip("\n ")
            self._out.append(
                Chunk(self._kind, text, self._gap, self._indent, self._join, self._part, self._table)
            )
        else:
            return
        self._above, self._gap, self._join = self._kind, False, None
        self._part += 1

    def _end(self) -> None:
        self._emit()
        self._table, self._join, self._part = None, None, 0


_TEXT = (Kind.PROSE, Kind.HEADING)


def _only_definitions(text: str) -> bool:
    """Return whether the text contains only link definitions, which are not shown."""
    return "]:" in text and all(_DEFINITION.fullmatch(line) for line in text.split("\n") if line.strip())


def split(text: str) -> tuple[list[Chunk], dict[str, dict[str, str]]]:
    """Return the chunks of a complete text and its link reference definitions."""
    splitter = Splitter()
    return [*splitter.feed(text), *splitter.close()], splitter.references


def _escaped(line: str) -> str:
    line = line.lstrip(" ")
    if not _BLOCK_START.match(line):
        return line
    digits = len(line) - len(line.lstrip("0123456789"))
    return f"{line[:digits]}\\{line[digits:]}"


def _mend(text: str) -> str:
    """Close the markup that the last line of a growing text leaves open, so that it is not shown raw."""
    start = text.rfind("\n") + 1
    head, line = text[:start], text[start:]
    closing = ""
    if line.count("`") % 2:
        if line.endswith("`"):
            line = line[:-1]
        else:
            closing = "`"
    elif match := _OPEN_LINK.search(line):
        line = f"{line[: match.start()]}[{match[1]}]()"
    if line.count("**") % 2:
        opened = line.rfind("**") + 2
        if opened == len(line):
            line = line[:-2]
        elif line[opened] != " ":
            line = f"{line}{closing}" if closing else line.rstrip(" *")
            return f"{head}{line}**"
    return f"{head}{line}{closing}"
