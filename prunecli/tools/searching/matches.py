"""Collects the matching lines of a search process, within the limits for the model."""

import os
import re
from collections.abc import Callable

from prunecli.tools.files.decoding import decoded
from prunecli.tools.searching.line_search import MAX_COLUMNS
from prunecli.tools.searching.names import shown_name

MAX_MATCHES = 200
MAX_CHARACTERS = 500

_BEFORE = 100
"""Characters shown before a match that is not at the start of a long line."""
_PRINTED = MAX_COLUMNS - 3
"""Bytes of a longer line that the search prints at least. ripgrep cuts it at a whole character and adds a note."""

_LINE = re.compile(rb"([^\0]+)\0(\d+)(?::(\d+):|-)([^\n]*)\n")
_NOTICE = re.compile(rb"^[^\n\0]*binary file[^\n\0]*\n", re.MULTILINE)
"""The notice that ripgrep prints between lines when it finds a NUL late in a file."""


class Matches:
    """A reader of `PATH NUL NUMBER : COLUMN : LINE`, or `PATH NUL NUMBER - LINE` for a line of context, until there
    are enough lines. The column is that of the first match, in bytes."""

    def __init__(self, prefix: str, max_bytes: int, wanted: Callable[[str], bool]) -> None:
        self.count = 0
        self.files = set[str]()
        self.cut = False
        self._unread = b""
        self._prefix = prefix
        self._left = max_bytes
        self._wanted = wanted
        self._lines = list[tuple[str, int, str, str]]()

    def take(self, data: bytes) -> bool:
        """Process output of the search; return False once there are enough matches."""
        self._unread += data
        if b"\n" not in data:
            return True  # trying each part of a long line again would take long
        at = 0
        while match := _LINE.match(self._unread, at):
            at = match.end()
            if not self._add(*match.groups()):
                self.cut = True
                return False
        self._unread = self._unread[at:]
        return True

    @property
    def complaint(self) -> str:
        """Errors of the search: output that is neither a match nor a notice."""
        return decoded(_NOTICE.sub(b"", self._unread))

    def _add(self, raw_path: bytes, number: bytes, column: bytes | None, raw_line: bytes) -> bool:
        if b"\n" in raw_path:
            raw_path = _NOTICE.sub(b"", raw_path)
        path = os.fsdecode(raw_path).removeprefix("./")
        if not self._wanted(path):
            return True
        is_match = column is not None
        if self._left <= 0 or (is_match and self.count == MAX_MATCHES):
            return False
        raw_line = raw_line.removesuffix(b"\r")
        line = decoded(raw_line)
        if len(line) > MAX_CHARACTERS:
            line = _around(raw_line, int(column or 1) - 1)
        shown = shown_name(os.path.join(self._prefix, path))
        self.count += is_match
        self.files.add(path)
        self._lines.append((shown, int(number), ":" if is_match else "-", line))
        self._left -= len(shown) + len(line.encode()) + 10
        return True

    def text(self, *, separated: bool) -> str:
        """Return the lines as `path:number:line`; with `separated`, `--` between lines that are not adjacent."""
        lines, last = list[str](), ("", 0)
        for path, number, mark, line in self._lines:
            if separated and lines and (path, number - 1) != last:
                lines.append("--")
            lines.append(f"{path}{mark}{number}{mark}{line}")
            last = path, number
        return "\n".join(lines)


def _around(raw: bytes, match: int) -> str:
    """Return MAX_CHARACTERS of a longer line, with the match at this byte in its first part."""
    line = decoded(raw[:_PRINTED])
    at = len(decoded(raw[:match])) if match < _PRINTED else 0
    start = at - _BEFORE if at > MAX_CHARACTERS - _BEFORE else 0
    end = start + MAX_CHARACTERS
    is_cut = end < len(line) or len(raw) > _PRINTED
    return "…" * (start > 0) + line[start:end] + "…" * is_cut
