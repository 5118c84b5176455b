"""A text with a cursor, registers and a history: where vim's motions go in it, and what its commands change. Pure."""

from collections.abc import Callable, Generator
from typing import NamedTuple, TypeAlias, TypeVar

from prunecli.tui.vim.motions import (
    SHIFT,
    SIMPLE,
    Beep,
    Goal,
    at_cell,
    cell_of,
    down,
    find,
    in_indent,
    indent,
    is_empty_line,
    last_char,
    line_end,
    line_start,
    row_of,
    row_start,
    word_goal,
)
from prunecli.tui.vim.objects import Span

Around: TypeAlias = Callable[[str, int], tuple[int, int]]

T = TypeVar("T")
Reading: TypeAlias = Generator[None, str, T]
"""What reads the keys of a command one by one."""

_LEFT, _RIGHT = frozenset({"h", "left", "backspace"}), frozenset({"l", "right", " "})
_END = 1 << 30
"""The column that `$` leaves for j and k."""
_CASE: dict[str, Callable[[str], str]] = {"g~": str.swapcase, "gu": str.lower, "gU": str.upper}


class Register(NamedTuple):
    text: str
    lines: bool = False


class Changes:
    """The text, and what needs no mode. `around` returns the sequence that an offset cuts apart."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.registers: dict[str, Register] = {}
        self._found: tuple[str, str] | None = None
        self.restart("", 0)

    def restart(self, text: str, at: int) -> None:
        """Take another text, without the history of the last one."""
        self.text, self.at = text, at
        self.column: int | None = None
        self._past: list[tuple[str, int]] = []
        self._future: list[tuple[str, int]] = []

    def remember(self, text: str, at: int) -> None:
        self._past.append((text, at))
        self._future.clear()

    def travel(self, count: int, *, undo: bool) -> None:
        source, target = (self._past, self._future) if undo else (self._future, self._past)
        for _ in range(min(count, len(source))):
            text, at = source.pop()
            target.append((self.text, at))
            self.text, self.at = text, at

    def swap(self, first: int, last: int, new: str, at: int) -> None:
        """Put new text in place of some, and the cursor at an offset of the result."""
        self.text, self.at = self.text[:first] + new + self.text[last:], at

    def after(self, at: int) -> int:
        return self._around(self.text, at + 1)[1] if at < len(self.text) else at

    def _right(self, count: int, operator: str, *, selecting: bool, wraps: bool) -> Goal:
        """Go to the right, and if it wraps into the next lines. An operator takes a line's last character too."""
        text, at, inclusive = self.text, self.at, False
        for _ in range(count):
            if at < (line_end if selecting else self._last)(text, at):
                at = self.after(at)
            elif wraps and (end := line_end(text, at)) < len(text):
                inclusive = bool(operator) and not inclusive and not is_empty_line(text, at)
                at = at if inclusive else end + 1
            else:
                inclusive = inclusive or (bool(operator) and not is_empty_line(text, at))
        return Goal(at, "inclusive" if inclusive else "exclusive")

    def _left(self, count: int, operator: str, *, selecting: bool, wraps: bool) -> Goal:
        text, at, exact = self.text, self.at, False
        for _ in range(count):
            start = line_start(text, at)
            if at > start:
                at = self._around(text, at - 1)[0]
            elif wraps and start:
                takes = operator in ("d", "c")
                exact = exact or (takes and not is_empty_line(text, start - 1))
                at = start - 1 if takes or selecting else self._last(text, start - 1)
        return Goal(at, "exact" if exact else "exclusive")

    def _last(self, text: str, at: int) -> int:
        """Return the line's last character."""
        return max(line_start(text, at), self._around(text, last_char(text, at))[0])

    def region(self, goal: Goal, operator: str) -> Span:
        """Return what a motion passes. Ending at the start of a line, it ends in the line before, or takes whole
        lines; so does a deletion that would leave a blank line."""
        text, first, last = self.text, min(self.at, goal.at), max(self.at, goal.at)
        if goal.kind == "lines":
            return Span(first, last, lines=True)
        several = "\n" in text[first:last]
        if goal.kind == "inclusive":
            last = min(line_end(text, last), self.after(last))
        elif goal.kind == "exclusive" and several and last == line_start(text, last):
            last -= 1
            if in_indent(text, first):
                return Span(first, last, lines=True)
        several = operator == "d" and "\n" in text[first:last]
        rest = text[last : line_end(text, last)].strip(" \t")
        return Span(first, last, lines=several and not rest and in_indent(text, first))

    # Motions -------------------------------------------------------------------------------------------------

    def goal(self, key: str, count: int | None, operator: str, *, selecting: bool) -> Reading[Goal]:
        """Read the rest of a motion and return where it goes."""
        text, at, times = self.text, self.at, count or 1
        if key in SIMPLE and not (key == "%" and count):
            if key in ("$", "end"):
                self.column = _END
            try:
                return SIMPLE[key](text, at, times)
            except Beep:
                if operator and key in ("e", "E"):
                    return Goal(len(text))
                raise
        if key in _LEFT or key in _RIGHT:
            go = self._left if key in _LEFT else self._right
            return go(times, operator, selecting=selecting, wraps=key in (" ", "backspace"))
        if key == "%" and count is not None:
            if count > 100:
                raise Beep
            rows = text.count("\n") + 1
            return Goal(indent(text, row_start(text, (count * rows + 99) // 100 - 1)), "lines")
        if key in ("j", "down", "k", "up"):
            return self._vertical(times if key in ("j", "down") else -times, selecting=selecting)
        if key == "G":
            row = text.count("\n") if count is None else count - 1
            return Goal(indent(text, row_start(text, row)), "lines")
        if key in ("w", "W"):
            goal = word_goal(text, at, times, operator, big=key == "W")
            return Goal(goal.at + (selecting and goal.kind == "inclusive"), goal.kind)
        if key in ("f", "F", "t", "T"):
            self._found = (key, (yield))
            return find(text, at, *self._found, times)
        if key in (";", ",") and self._found:
            by, char = self._found
            return find(text, at, by if key == ";" else by.swapcase(), char, times, again=True)
        raise Beep

    def _vertical(self, rows: int, *, selecting: bool) -> Goal:
        text, at = self.text, self.at
        start = down(text, at, rows)
        if self.column is None:
            self.column = cell_of(text, at)
        end = (line_end if selecting else last_char)(text, start)
        return Goal(min(at_cell(text, start, self.column), end), "lines")

    # Changes -------------------------------------------------------------------------------------------------

    def operate(self, operator: str, span: Span, register: str, times: int, *, far: bool) -> None:
        first, last = span.start, span.end
        if span.lines or operator in (">", "<"):
            first, last = line_start(self.text, first), line_end(self.text, last)
        if operator in ("d", "c", "y"):
            self.store(self.text[first:last], register, lines=span.lines, deletes=operator != "y", far=far)
        if operator == "y":
            self.at = span.start
        elif operator == "d" and span.lines:
            row, at_end = row_of(self.text, first), last == len(self.text)
            self.swap(first - (at_end and first > 0), last + 1, "", 0)
            self.at = indent(self.text, row_start(self.text, row))
        elif operator in ("d", "c"):
            self.swap(first, last, "", first)
        elif operator in (">", "<"):
            self._shift(first, last, times if operator == ">" else -times)
        else:
            self.swap(first, last, _CASE[operator](self.text[first:last]), span.start)

    def store(self, text: str, register: str, *, lines: bool, deletes: bool, far: bool = False) -> None:
        """Put text into a register, and into those that vim fills by itself. `far`: a motion passed it that may be
        long, such as %."""
        if register == "_" or (deletes and not text and not lines):
            return
        new = whole = Register(text, lines)
        named = register if register != '"' else ""
        if named.isupper() and (old := self.registers.get(named.lower())):
            ends = "\n" if lines or old.lines else ""
            whole = Register(old.text + ends + text, lines or old.lines)
        numbered = deletes and (lines or "\n" in text or far)
        self.registers['"'] = whole
        if named:
            self.registers[named.lower()] = whole
        elif not deletes:
            self.registers["0"] = new
        if numbered:
            for number in range(9, 1, -1):
                if older := self.registers.get(str(number - 1)):
                    self.registers[str(number)] = older
            self.registers["1"] = new
        if deletes and not named and not lines and "\n" not in text:
            self.registers["-"] = new

    def _shift(self, first: int, last: int, steps: int) -> None:
        rows = []
        for row in self.text[first:last].split("\n"):
            rest = row.lstrip(" \t")
            width = len(row[: len(row) - len(rest)].expandtabs(SHIFT))
            rows.append(" " * max(0, width + SHIFT * steps) + rest if row else "")
        self.swap(first, last, "\n".join(rows), first)
        self.at = indent(self.text, first)

    def replace_chars(self, char: str, count: int) -> None:
        end = self.at
        for _ in range(count):
            if end >= line_end(self.text, self.at) or len(char) != 1:
                raise Beep
            end = self.after(end)
        self.swap(self.at, end, char * count, self.at + count - 1)

    def join(self, at: int, count: int, *, spaced: bool) -> None:
        """Join so many lines to the one here."""
        if line_end(self.text, at) == len(self.text):
            raise Beep
        for _ in range(min(count, self.text.count("\n", at))):
            end = line_end(self.text, at)
            after = end + 1
            while spaced and self.text[after : after + 1] in (" ", "\t"):
                after += 1
            takes = self.text[after : after + 1] not in ("", ")", "\n") and end > line_start(self.text, end)
            gap = " " if spaced and takes and self.text[end - 1] not in " \t" else ""
            self.swap(end, after, gap, end)
        self.at = min(self.at, line_end(self.text, at))

    def put(
        self, key: str, name: str, count: int, over: tuple[int, int] | None = None, *, lines: bool = False
    ) -> None:
        """Put a register before (P) or behind (p) the cursor, or over a selection (`lines`: of lines)."""
        register = Register("") if name == "_" and over else self.registers.get(name.lower() or '"')
        if register is None:
            raise Beep
        text, at, before, after = self.text, self.at, "", ""
        new = ("\n" if register.lines else "").join([register.text] * count)
        if over:
            first, last = over
            before = after = "\n" if register.lines and not lines else ""
            if key == "p":
                self.store(text[first:last], "", lines=lines, deletes=True)
        elif register.lines:
            first = last = line_start(text, at) if key == "P" else line_end(text, at)
            before, after = ("", "\n") if key == "P" else ("\n", "")
        else:
            first = last = at if key == "P" else min(line_end(text, at), self.after(at))
        start = first + len(before)
        self.swap(first, last, before + new + after, start)
        if lines or register.lines:
            self.at = indent(self.text, start)
        elif "\n" not in new:
            self.at = max(start, start + len(new) - 1)
