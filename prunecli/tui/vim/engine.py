"""Vim's modes and commands on a text with a cursor: keys in, text, cursor and mode out. Pure.

Keys are characters, or Textual's names of others. In insert mode, the widget changes the text itself, and returns it
with `escape`. A command is a generator that takes its keys one by one; `Beep` ends it without effect.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from prunecli.tui.vim.changes import Around, Changes, Reading
from prunecli.tui.vim.motions import (
    Beep,
    down,
    indent,
    is_empty_line,
    last_char,
    line_end,
    line_start,
    row_of,
    row_start,
)
from prunecli.tui.vim.objects import Span, selected, text_object


class Mode(StrEnum):
    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"
    LINES = "visual line"


class _Change(NamedTuple):
    """The last change, for `.`: its keys, count, selection (rows, and columns in the last), and what was typed."""

    keys: tuple[str, ...]
    times: int | None
    selected: tuple[Mode, int, int] | None
    removed: int = 0
    typed: str = ""


class _Insert(NamedTuple):
    """An insertion that goes on: the text and the cursor when it began."""

    text: str
    at: int
    times: int
    between: str = ""
    """What separates the copies of an insertion with a count: a line end for `o`."""


MOST = 999
"""The largest count."""
_OPERATORS = frozenset({"d", "c", "y", ">", "<", "g~", "gu", "gU"})
_SHORT = {"x": "dl", "delete": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
_SHORT_VISUAL = {"x": "d", "delete": "d", "s": "c", "~": "g~", "u": "gu", "U": "gU"}
_BY_LINES = {"D": "d", "X": "d", "Y": "y", "C": "c", "S": "c", "R": "c"}


class Vim(Changes):
    """One field's editor. `around` returns the start and end of the sequence that an offset cuts apart."""

    def __init__(self, around: Around = lambda _, at: (at, at)) -> None:
        super().__init__(around)
        self._change: _Change | None = None
        self.reset("", 0)

    def reset(self, text: str, at: int) -> None:
        """Take another text, without the history of the last one. The mode stays, but nothing is selected."""
        self.restart(text, at)
        self.anchor = at
        mode = getattr(self, "mode", Mode.INSERT)
        self.mode = mode if mode in (Mode.INSERT, Mode.NORMAL) else Mode.NORMAL
        self._origin: tuple[str, int] = (text, at)
        self._insert = _Insert(text, at, 1)
        self._selected: tuple[Mode, int, int] = (Mode.VISUAL, at, at)
        self._repeating: _Change | None = None
        self._changes = False
        self._stop()
        if self.mode == Mode.NORMAL:
            self._clamp()

    def _stop(self) -> None:
        self._keys: list[str] = []
        self._count: int | None = None
        self._reading: Reading[None] | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a command waits for its next key."""
        return self._reading is not None

    # Keys ----------------------------------------------------------------------------------------------------

    def take(self, text: str, at: int) -> None:
        """Take what happened to text and cursor outside: typing in insert mode, a paste, the mouse."""
        if text != self.text and self.mode != Mode.INSERT:
            self.remember(self.text, self.at)
        if (text, at) != (self.text, self.at):
            self.column = None
        self.text, self.at, self.anchor = text, at, min(self.anchor, len(text))
        self._clamp()

    def insert(self) -> None:
        """Go to insert mode, as before a new text."""
        if self.mode != Mode.INSERT:
            self._stop()
            self._origin = (self.text, self.at)
            self._begin_insert(self.at)

    def escape(self) -> bool:
        """End insert mode, a selection or a command; return False if there was none."""
        pending = self.is_pending
        self._stop()
        if self.mode == Mode.NORMAL:
            return pending
        if self.mode == Mode.INSERT:
            self._end_insert()
        else:
            self._end_visual()
        return True

    def press(self, key: str) -> None:
        """Handle a key outside of insert mode."""
        if self._reading is None:
            self._origin = (self.text, self.at)
            self._reading, self._changes = self._command(), False
            next(self._reading)
        self._feed(key)

    def _feed(self, key: str) -> None:
        mode = self.mode
        self._keys.append(key)
        try:
            if self._reading:
                self._reading.send(key)
            return
        except StopIteration:
            pass
        except Beep as beep:
            self._changes = False
            self.at = self.at if beep.at is None else beep.at
        keys, count, vertical = tuple(self._keys), self._count, self._keys[-1:]
        self._stop()
        if vertical not in (["j"], ["k"], ["down"], ["up"], ["$"], ["end"]):
            self.column = None
        before = self._origin
        if self.mode != Mode.INSERT and (self._changes or self.text != before[0]):
            self.remember(*before)
        if self._changes and keys != (".",):
            self._change = _Change(keys, count, self._extent(before[0]) if mode in _VISUAL else None)
        self._clamp()

    def _extent(self, text: str) -> tuple[Mode, int, int]:
        """Return the selection that ended, as rows and the columns in its last row."""
        mode, *ends = self._selected
        first, last = sorted(ends)
        rows = row_of(text, last) - row_of(text, first)
        return mode, rows, last - (line_start(text, last) if rows else first)

    def _clamp(self) -> None:
        if self.mode == Mode.NORMAL:
            self.at = max(0, min(self.at, last_char(self.text, min(self.at, len(self.text)))))

    # Insert mode ----------------------------------------------------------------------------------------------

    def _begin_insert(self, at: int, count: int = 1, between: str = "") -> None:
        self.mode, self.at = Mode.INSERT, at
        self._insert = _Insert(self.text, at, count, between)
        if self._repeating:
            start, typed = max(0, at - self._repeating.removed), self._repeating.typed
            self.swap(start, at, typed, start + len(typed))
            self._end_insert()

    def _end_insert(self) -> None:
        """Leave insert mode: write the copies for a count, and keep for `.` what was typed."""
        old, now = self._insert, self.text
        kept, tail = _common(old.text[: old.at], now), old.text[old.at :]
        if not now[kept:].endswith(tail):  # something behind the cursor was deleted
            tail = tail[len(tail) - _common(tail[::-1], now[kept:][::-1]) :]
        removed, typed = old.at - kept, now[kept : len(now) - len(tail)]
        copies = (old.between + typed) * (old.times - 1)
        self.swap(self.at, self.at, copies, self.at + len(copies))
        self.mode = Mode.NORMAL
        if self._change and not self._repeating:
            self._change = self._change._replace(removed=removed, typed=typed)
        if self.at > line_start(self.text, self.at):
            self.at = self._around(self.text, self.at - 1)[0]
        if self.text != self._origin[0] and not self._repeating:
            self.remember(*self._origin)
        if not self._repeating:
            self._origin = (self.text, self.at)
        self._clamp()

    # Commands ------------------------------------------------------------------------------------------------

    def _number(self, key: str) -> Reading[tuple[int | None, str]]:
        """Read a count, which `.` does not repeat; return it and the key behind it."""
        digits = ""
        while key in tuple("123456789") or (digits and key == "0"):
            digits += key
            self._keys.pop()
            key = yield
        return (min(int(digits), MOST) if digits else None), key

    def _command(self, given: int | None = None) -> Reading[None]:
        key = yield
        count, key = yield from self._number(key)
        register = ""
        if key == '"':
            register = (yield).replace("*", "+")
            key = yield
            more, key = yield from self._number(key)
            count = _product(count, more)
        self._count = count = given if count is None else count
        if key == "g":
            key += yield
        if self.mode in _VISUAL:
            yield from self._visual(key, count, register)
            return
        short = _SHORT.get(key, key)
        operator, rest = (short[0], short[1:]) if key in _SHORT else (short, "")
        if operator in _OPERATORS:
            yield from self._operate(operator, rest, count, register)
        elif not (yield from self._edit(key, count, register)):
            self.at = (yield from self.goal(key, count, "", selecting=self.mode in _VISUAL)).at

    def _operate(self, operator: str, key: str, count: int | None, register: str) -> Reading[None]:
        if not key:
            more, key = yield from self._number((yield))
            self._count = count = _product(count, more)
            if key == "g":
                key += yield
        if key in (operator, operator[-1], "_"):
            to = down(self.text, self.at, count - 1) if count and count > 1 else self.at
            if operator != "y" and to == self.at:
                self.at = min(self.at, indent(self.text, self.at))
            self._apply(operator, Span(self.at, to, lines=True), register)
        elif key in ("i", "a"):
            span = text_object(self.text, self.at, (yield), count or 1, around=key == "a")
            self._apply(operator, span, register)
        else:
            goal = yield from self.goal(key, count, operator, selecting=False)
            self._apply(operator, self.region(goal, operator), register, far=key in ("%", "{", "}"))

    def _apply(self, operator: str, span: Span, register: str, times: int = 1, *, far: bool = False) -> None:
        below = row_start(self.text, row_of(self.text, span.start) + 1)
        back = below if operator == "c" and span.lines and below <= span.end else span.start
        self._origin, self._changes = (self._origin[0], back), operator != "y"
        self.operate(operator, span, register, times, far=far)
        if operator == "c":
            self._begin_insert(self.at)

    # Other changes -------------------------------------------------------------------------------------------

    def _edit(self, key: str, count: int | None, register: str) -> Reading[bool]:
        """Do a command that is neither motion nor operator; return False if it is none."""
        text, at, times = self.text, self.at, count or 1
        self._changes = key not in ("u", "ctrl+r", ".", "v", "V")
        match key:
            case "i" | "a" | "I" | "A" | "gI":
                start, end = line_start(text, at), line_end(text, at)
                first = start + len(text[start:end]) - len(text[start:end].lstrip(" \t"))
                places = {"i": at, "a": min(end, self.after(at)), "A": end, "gI": start, "I": first}
                self._origin = (text, places[key])
                self._begin_insert(places[key], times)
            case "o" | "O":
                place = line_end(text, at) if key == "o" else line_start(text, at)
                self.swap(place, place, "\n", at)
                self._begin_insert(place + (key == "o"), times, "\n")
            case "r":
                self.replace_chars((yield), times)
            case "~":
                if is_empty_line(text, at):
                    raise Beep
                end = min(line_end(text, at), at + times)
                self.swap(at, end, text[at:end].swapcase(), end)
            case "J" | "gJ":
                self.join(at, max(1, times - 1), spaced=key == "J")
            case "p" | "P":
                self.put(key, register, times)
            case "u" | "ctrl+r":
                self.travel(times, undo=key == "u")
                self._origin = (self.text, self.at)
            case ".":
                self._repeat(count)
            case "v" | "V":
                self.mode, self.anchor = (Mode.VISUAL if key == "v" else Mode.LINES), at
            case _:
                self._changes = False
                return False
        return True

    def _repeat(self, count: int | None) -> None:
        change = self._change
        if change is None:
            raise Beep
        count = change.times if count is None or change.selected else count
        if change.keys[0] == '"' and change.keys[1] in "12345678":
            change = change._replace(keys=('"', str(int(change.keys[1]) + 1), *change.keys[2:]))
        self._repeating = change
        if change.selected:
            self.mode, rows, columns = change.selected
            self.anchor = self.at
            start = row_start(self.text, row_of(self.text, self.at) + rows) if rows else self.at
            self.at = min(start + columns, last_char(self.text, start))
        reading = self._command(count)
        try:
            next(reading)
            for key in change.keys:
                reading.send(key)
        except StopIteration:
            self._change = change._replace(times=count)
        finally:
            self._repeating = None
            self._keys = ["."]
            if self.mode in _VISUAL:
                self.mode = Mode.NORMAL

    # Visual mode ---------------------------------------------------------------------------------------------

    @property
    def selection(self) -> tuple[int, int]:
        """The start and end of what is selected."""
        first, last = sorted((self.anchor, self.at))
        if self.mode == Mode.LINES:
            return line_start(self.text, first), line_end(self.text, last)
        return first, min(len(self.text), max(last + 1, self.after(last)))

    def _end_visual(self) -> None:
        self._selected = (self.mode, self.anchor, self.at)
        self.mode = Mode.NORMAL
        self._clamp()

    def _visual(self, key: str, count: int | None, register: str) -> Reading[None]:
        lines = self.mode == Mode.LINES
        first, last = self.selection
        operator = _SHORT_VISUAL.get(key, key)
        if key in _BY_LINES:
            operator, lines = _BY_LINES[key], True
        if operator in _OPERATORS:
            self._end_visual()
            if lines or operator in (">", "<"):
                at, anchor = self._selected[2], self.anchor
                upward = line_start(self.text, at) < line_start(self.text, anchor)
                first, last = (at, anchor) if upward else (line_start(self.text, anchor), max(at, anchor))
                lines = True
            self._apply(operator, Span(first, last, lines), register, count or 1)
            return
        self._changes = key in ("r", "J", "gJ", "p", "P")
        match key:
            case "v" | "V":
                wanted = Mode.VISUAL if key == "v" else Mode.LINES
                self._end_visual() if self.mode == wanted else setattr(self, "mode", wanted)
            case "o":
                self.anchor, self.at = self.at, self.anchor
            case "i" | "a":
                name = yield
                ends = selected(self.text, self.anchor, self.at, name, count or 1, around=key == "a")
                self.anchor, self.at = ends
                self.mode = Mode.LINES if name == "p" else Mode.VISUAL
            case "r":
                char = yield
                self._end_visual()
                self.swap(first, last, re.sub(".", lambda _: char, self.text[first:last]), first)
            case "J" | "gJ":
                self._end_visual()
                rows = row_of(self.text, max(self.anchor, self.at)) - row_of(self.text, first)
                self.join(first, max(1, rows), spaced=key == "J")
            case "p" | "P":
                self._end_visual()
                self.put(key, register, count or 1, (first, last), lines=lines)
                self._keys, self._count = ["d"] if key == "p" else ['"', "_", "d"], None  # what vim repeats
            case _:
                goal = yield from self.goal(key, count, "", selecting=self.mode in _VISUAL)
                at_end = key in ("$", "end")
                self.at = line_end(self.text, goal.at) if at_end else goal.at


_VISUAL = frozenset({Mode.VISUAL, Mode.LINES})


def _product(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else min(MOST, (one or 1) * (other or 1))


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)
