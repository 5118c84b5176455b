"""Finds the file that a call touched, and the lines that a read shows."""

from prunecli.context.exchange import Entry
from prunecli.model.touches import named
from prunecli.util.frozen import frozen

DEFAULT_LINES = 2_000
"""The number of lines in a read without a limit."""
_CUT = ("truncated", "continue with offset=")
_CUT_NOTE_CHARS = 300
_CUT_NOTE_LINES = 2
END = 1 << 62
"""A line number past the end of any file."""


@frozen
class Lines:
    """The lines that a read shows: `first` to `last`, counted from 1.

    `reaches` is the last line that it certainly shows, END if the file ends there; `asked` is the requested range.
    """

    first: int
    last: int
    reaches: int
    asked: tuple[int, int]

    def covers(self, other: "Lines") -> bool:
        """Return whether this later read makes the other one redundant."""
        if self.asked == other.asked:
            return True
        return self.first <= other.first and self.reaches >= other.last

    def meets(self, other: "Lines") -> bool:
        """Return whether the ranges overlap."""
        return self.first <= other.last and other.first <= self.last


def lines_shown(entry: Entry) -> Lines:
    """Return the lines that a read's result shows, taken from the tool's own details or from call and text."""
    given = entry.call.input if entry.call else {}
    offset = _positive(given.get("offset"), 1)
    limit = _positive(given.get("limit"), DEFAULT_LINES)
    details = entry.details
    first, last = details.get("first_line"), details.get("last_line")
    if entry.spilled is not None:
        return _page(offset, limit, entry.spilled.shown.count("\n"))
    if type(first) is int and type(last) is int:
        return Lines(first, last, END if details.get("lines") == last else last, (offset, limit))
    text = entry.text
    count = max(1, text.count("\n") + (not text.endswith("\n")))
    cut = any(word in text[-_CUT_NOTE_CHARS:].lower() for word in _CUT)
    reaches = offset + count - 1 - _CUT_NOTE_LINES if cut else END if count < limit else offset + limit - 1
    return Lines(offset, offset + min(count, limit) - 1, reaches, (offset, limit))


def _page(first: int, limit: int, shown: int) -> Lines:
    """Return the lines that a read held back after the `shown` lines."""
    last = first + max(1, min(shown, limit)) - 1
    return Lines(first, last, last, (first, last))


def _positive(value: object, default: int) -> int:
    return value if type(value) is int and value > 0 else default


def changes_files(entry: Entry) -> bool:
    """Return whether a result's call changes files that it names."""
    return entry.touches is not None and bool(entry.touches.changes)


def shows_file(entry: Entry) -> bool:
    """Return whether a result shows lines of one file: its tool recorded a path, or it is a `read`."""
    if entry.touches is None or entry.call is None or changes_files(entry) or not entry.touches.file:
        return False
    return bool(_noted(entry)) or named(entry.call.name, entry.call.input) is not None


def path_of(entry: Entry) -> str:
    """Return the one file that a call reads or changes, normalized; "" for none or several."""
    path = entry.touches.file if entry.touches else ""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def file_of(entry: Entry) -> str:
    """Return the same file as recorded by its tool, otherwise as named by its call."""
    path = path_of(entry)
    return (path and _noted(entry)) or path


def _noted(entry: Entry) -> str:
    path = entry.details.get("path")
    return path if isinstance(path, str) else ""
