"""Folds output as a screen shows it: overwritten and erased text and colors leave, before anything counts or cuts it.

A progress bar repeats its line with carriage returns; of 20 KB, a screen shows the last state. A line end is LF or
CR LF. Columns are code points, so text that overwrites wide characters may keep a part of them.
"""

import re
from codecs import getincrementaldecoder
from copy import deepcopy
from dataclasses import replace

from prunecli.model.events import ToolResult
from prunecli.model.messages import Block, Text
from prunecli.tools.processes.output import LATEST_LINES, HeadAndTail

ROWS = 50
"""The number of last rows that a command can still change by moving the cursor up."""
_LONGEST_ROW = 100_000
_LONGEST_ESCAPE = 4_096
_DEEPEST = 1_000
"""Maximum columns or rows of one move of the cursor."""
_PIECES = re.compile(
    r"\r*\n|[\r\b]|\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
    r"|[^\n\r\b\x1b]+|\x1b"
)
_OPEN = re.compile(r"\r+\Z|\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
"""The start of a piece that the next data may complete."""
_CONTROL = re.compile(r"[\r\b\x1b]")
RAW_HANDLE = " | recall ? raw]"
"""The end of the line that says how much was folded, until the number of the record is known."""


class Screen:
    """A command's output: `raw` as it came and `shown` as a screen shows it, both with a limit in bytes.

    Without `folds`, both are the same, for commands that print files. `is_folded`: more than line ends was folded.
    """

    def __init__(self, limit: int, *, folds: bool = True) -> None:
        self.raw = self.shown = HeadAndTail(limit)
        self.is_folded = False
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._rows, self._row, self._column = [""], 0, 0
        self._rewritten = {0: False}
        if folds:
            self.shown = HeadAndTail(limit)

    @property
    def folds(self) -> bool:
        return self.shown is not self.raw

    def add(self, data: bytes) -> None:
        self.raw.add(data)
        if self.folds:
            self._write(self._decoder.decode(data))

    def ended(self) -> HeadAndTail:
        """Return what is shown if no more data comes."""
        if not self.folds:
            return self.raw
        whole = deepcopy(self.shown)
        rest = self._decoder.getstate()[0]
        whole.add(_bytes("\n".join(map(self._clean, range(len(self._rows))))) + rest)
        return whole

    def latest(self) -> str:
        """Return the last lines so far, for the screen."""
        if not self.folds:
            return self.raw.latest()
        rows = [*self.shown.latest().splitlines(), *self._rows]
        return "\n".join(rows[-LATEST_LINES:])

    def _write(self, text: str) -> None:
        text = self._rest + text
        self._rest = ""
        if not _CONTROL.search(text) and self._is_at_end:
            self._append(text)
            return
        if (found := _OPEN.search(text, max(0, len(text) - _LONGEST_ESCAPE))) and found.group():
            self._rest, text = found.group(), text[: found.start()]
        for piece in _PIECES.finditer(text):
            self._take(piece)

    @property
    def _is_at_end(self) -> bool:
        return self._row == len(self._rows) - 1 and self._column == len(self._rows[-1])

    def _append(self, text: str) -> None:
        first, *others = text.split("\n")
        self._rows[-1] += first
        self._rows += others
        self._row, self._column = len(self._rows) - 1, len(self._rows[-1])
        self._let_go()

    def _take(self, piece: re.Match[str]) -> None:
        text = piece.group()
        if text.endswith("\n"):
            self._row, self._column = self._row + 1, 0
            if self._row == len(self._rows):
                self._rows.append("")
                self._let_go()
            return
        if text[0] not in "\r\b\x1b":
            self._put(text)
            return
        self.is_folded = True
        if text == "\r":
            self._column = 0
        elif text == "\b":
            self._column = max(0, self._column - 1)
        elif piece[2]:
            self._control(piece[2], piece[1])

    def _put(self, text: str) -> None:
        row = self._rows[self._row]
        if self._column < len(row):
            self._rewritten[self._row] = True
        before = row[: self._column].ljust(self._column)
        self._rows[self._row] = before + text + row[self._column + len(text) :]
        self._column += len(text)
        if len(self._rows) == 1:
            self._let_go()

    def _control(self, what: str, given: str) -> None:
        number = int(given) if given.isdecimal() else 0
        many = min(max(1, number), _DEEPEST)
        match what:
            case "A" | "F":
                self._row = max(0, self._row - many)
            case "B" | "E":
                self._row = min(len(self._rows) - 1, self._row + many)
            case "C":
                self._column = min(self._column + many, _LONGEST_ROW)
            case "D":
                self._column = max(0, self._column - many)
            case "G":
                self._column = many - 1
            case "K":
                self._erase(number)
            case "J" if number == 0:
                self._erase(0)
                del self._rows[self._row + 1 :]
            case _:
                pass  # colors, and what only a whole screen could show
        if what in ("E", "F"):
            self._column = 0

    def _erase(self, number: int) -> None:
        row, column = self._rows[self._row], self._column
        self._rewritten[self._row] = True
        if number == 0:
            self._rows[self._row] = row[:column]
        elif number == 1:
            self._rows[self._row] = " " * min(column + 1, len(row)) + row[column + 1 :]
        else:
            self._rows[self._row] = ""

    def _clean(self, row: int) -> str:
        """Return a row without the blanks that cover older text at its end."""
        return self._rows[row].rstrip(" ") if self._rewritten.get(row) else self._rows[row]

    def _let_go(self) -> None:
        """Pass on the rows that no longer change, or the only one if it is very long."""
        if (gone := len(self._rows) - ROWS) > 0:
            self.shown.add(_bytes("".join(f"{self._clean(row)}\n" for row in range(gone))))
            del self._rows[:gone]
            self._rewritten = {row - gone: is_so for row, is_so in self._rewritten.items() if row >= gone}
            self._row = max(0, self._row - gone)
        elif len(self._rows) == 1 and len(self._rows[0]) > _LONGEST_ROW and self._is_at_end:
            self.shown.add(_bytes(self._rows[0]))
            self._rows, self._column = [""], 0


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def folded(text: str) -> str:
    """Return a whole text as a screen shows it; the text itself if there is nothing to fold."""
    if not _CONTROL.search(text):
        return text
    data = _bytes(text)
    screen = Screen(2 * len(data) + 2 * _LONGEST_ROW)
    screen.add(data)
    return screen.ended().raw.decode("utf-8", "surrogateescape")


def with_handle(result: ToolResult, seq: int | None) -> ToolResult:
    """Return the result with the number of its record in the line that says how much was folded. Without a number, or
    bytes in the log, nothing can be recalled."""
    handle = "]" if seq is None else RAW_HANDLE.replace("?", str(seq))

    def named(block: Block) -> Block:
        return Text(block.text.replace(RAW_HANDLE, handle)) if isinstance(block, Text) else block

    spilled = result.spilled and replace(
        result.spilled, shown=result.spilled.shown.replace(RAW_HANDLE, handle)
    )
    return replace(result, content=tuple(map(named, result.content)), spilled=spilled)


def folded_note(count: int) -> str:
    """Return the line that says how much was folded. The record's number takes the place of the question mark."""
    return f"[{max(0, count):,} bytes of overwritten text and colors folded{RAW_HANDLE}"
