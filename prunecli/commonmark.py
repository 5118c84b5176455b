"""The Markdown that models write: one parser for the screen and for exports, and what it must not be given.

markdown-it is imported at first use.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MOST_BRACKETS = 300
"""In one text. The parser's time grows with their square: 2,000 take seconds."""

# What is nested deeper than this the parser leaves out without a word. Text that could get there is not parsed.
_MOST_NESTED = 200
_DEEP = re.compile(r"^(?: {80}|(?: *(?:[-+*>]|\d{1,9}[.)]) ?){20})", re.MULTILINE)


@cache
def parser() -> "MarkdownIt":
    """CommonMark without HTML, with tables and strikethrough."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": _MOST_NESTED}).enable(
        ["table", "strikethrough"]
    )


def is_deep(text: str) -> bool:
    """Whether a text may be nested so deeply that the parser would leave something out."""
    return _DEEP.search(text) is not None
