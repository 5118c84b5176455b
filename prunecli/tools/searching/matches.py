"""Collects the matching lines of a search process, within the limits for the model."""

import os
import re
from collections.abc import Callable

from prunecli.tools.files.decoding import decoded
from prunecli.tools.searching.names import shown_name

MAX_MATCHES = 200
MAX_CHARACTERS = 500

_LINE = re.compile(rb"([^\0]+)\0(\d+)([:-])([^\n]*)\n")
_NOTICE = re.compile(rb"^[^\n\0]*binary file[^\n\0]*\n", re.MULTILINE)
"""The notice that ripgrep prints between lines when it finds a NUL late in a file."""


class Matches:
    """A reader of `PATH NUL NUMBER : LINE` (`-` for a line of context) until there are enough lines."""

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
        at = 0
        while found := _LINE.match(self._unread, at):
            at = found.end()
            if not self._add(*found.groups()):
                self.cut = True
                return False
        self._unread = self._unread[at:]
        return True

    @property
    def complaint(self) -> str:
        """Errors of the search: output that is neither a match nor a notice."""
        return decoded(_NOTICE.sub(b"", self._unread))

    def _add(self, raw_path: bytes, number: bytes, mark: bytes, raw_line: bytes) -> bool:
        if b"\n" in raw_path:
            raw_path = _NOTICE.sub(b"", raw_path)
        path = os.fsdecode(raw_path).removeprefix("./")
        if not self._wanted(path):
            return True
        is_match = mark == b":"
        if self._left <= 0 or (is_match and self.count == MAX_MATCHES):
            return False
        line = decoded(raw_line).removesuffix("\r")
        if len(line) > MAX_CHARACTERS:
            line = line[:MAX_CHARACTERS] + "…"
        shown = shown_name(os.path.join(self._prefix, path))
        self.count += is_match
        self.files.add(path)
        self._lines.append((shown, int(number), mark.decode(), line))
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
