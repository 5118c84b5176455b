"""Formats code, diffs and long texts as HTML, with colors where that is cheap and with a bounded length.

No text can become an element: each piece is escaped separately, and only our classes are used.
"""

import re
import time
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

from prunecli.util.lexing import is_lexable, lexer
from prunecli.util.sanitize import source

MOST_CHARS = 100_000
"""Maximum characters to show of the text; a longer one loses its middle, with a note."""
_MOST_COLORED = 30_000
_MOST_ON_PAGE = 1_500_000
_LEX_SECONDS = 0.5
"""Time limit for highlighting the text. Some lexers take quadratic time on hostile text, which then stays plain."""

_CLASSES = (
    ("Comment", "c"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Tag", "k"),
    ("Name.Decorator", "f"),
    ("Name.Builtin", "b"),
    ("Generic.Deleted", "del"),
    ("Generic.Inserted", "ins"),
)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_SIGNS = {"+": "ins", "-": "del"}


def plain(text: str) -> str:
    """Format text as HTML: keep lines, make invisible characters visible, and shorten very long text."""
    return escape(source(shortened(text)))


def shortened(text: str) -> str:
    """Return the text, or its start and end with a note on what was left out."""
    if len(text) <= MOST_CHARS:
        return text
    head, tail = MOST_CHARS * 4 // 5, MOST_CHARS // 5
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters omitted …]\n{text[-tail:]}"


class Colors:
    """Highlights code within a limit per page, since lexers are slow."""

    def __init__(self, chars: int = _MOST_ON_PAGE) -> None:
        self._left = chars

    def code(self, text: str, language: str) -> str:
        """Return a block of code, highlighted if its language is known."""
        if len(text) > min(self._left, _MOST_COLORED):
            return f"<pre>{plain(text)}</pre>"
        colored = _colored(source(text), language)
        self._left -= len(text) if colored else 0
        return f"<pre>{colored or plain(text)}</pre>"


def diff(text: str) -> str:
    lines = source(shortened(text)).rstrip("\n").split("\n")
    rows = (_span(kind, line) for kind, line in _signed(lines))
    return '<pre class="diff">' + "\n".join(rows) + "</pre>"


def is_diff(text: str) -> bool:
    """Return whether the text is a unified diff, starting with a hunk or a file header."""
    return text.startswith(("@@ -", "--- ", "diff --git ")) and _HUNK.search(text[:MOST_CHARS]) is not None


def _signed(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with its class. File headers look like removed lines but are outside a hunk."""
    inside = False
    for line in lines:
        if line.startswith(("@@", "*** ", "diff ", "index ")):
            inside = line.startswith(("@@", "*** "))
            yield "hunk", line
        elif not inside and line.startswith(("--- ", "+++ ")):
            yield "hunk", line
        else:
            yield _SIGNS.get(line[:1], ""), line


def _colored(text: str, language: str) -> str:
    """Return the highlighted text; "" if the lexer fails or takes too long."""
    found = lexer(language) if is_lexable(text) else None
    if found is None:
        return ""
    deadline = time.perf_counter() + _LEX_SECONDS
    pieces: list[tuple[str, str]] = []
    for _, kind, value in found.get_tokens_unprocessed(text):
        if time.perf_counter() > deadline:
            return ""
        pieces.append((_class(kind), value))
    if sum(len(value) for _, value in pieces) != len(text):
        return ""  # never hide what a lexer drops
    runs = ((kind, "".join([value for _, value in run])) for kind, run in groupby(pieces, lambda one: one[0]))
    return "".join(_span(kind, value) for kind, value in runs)


def _span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text)


@cache
def _class(kind: Any) -> str:
    return next((name for prefix, name in _CLASSES if str(kind)[6:].startswith(prefix)), "")
