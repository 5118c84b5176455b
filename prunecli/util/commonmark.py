"""The Markdown parser for the screen and for exports, with checks for text that it cannot handle.

markdown-it is imported at first use.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import markdown_it
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
else:
    markdown_it = lazy("markdown_it")

MOST_BRACKETS = 300
"""Maximum brackets in the text. Parse time grows with the square of their number: 2,000 take seconds."""

_DUNDER = re.compile(r"__([a-z0-9]+(?:_[a-z0-9]+)*)__(?!\w)")
_GOES_ON = re.compile(r"[/\\(\[]|\.\w")
_NAMES = """
all bool bytes call class closure code contains copy debug deepcopy defaults del delattr delitem dict dir doc enter eq
exit file float format future ge get getattr getattribute getitem getstate gt hash iadd import index init int iter le
len loader lt main missing module mro name ne new next package path post_init prepare pycache qualname reduce repr
reversed set setattr setitem setstate sizeof slots spec str sub subclasses version wrapped
"""
_PYTHON_NAMES = frozenset(_NAMES.split())
"""Python's names without their double underscores. Other words in double underscores are strong, as in CommonMark."""

# The parser silently drops deeper nesting. Text that may nest this deep is not parsed.
_MOST_NESTED = 200
_DEEP = re.compile(r"^(?: {80}|(?: *(?:[-+*>]|\d{1,9}[.)]) ?){20})", re.MULTILINE)


@cache
def parser() -> "MarkdownIt":
    """Return a parser for CommonMark without HTML, with tables and strikethrough."""

    made = markdown_it.MarkdownIt("commonmark", {"html": False, "maxNesting": _MOST_NESTED})
    made.inline.ruler.before("emphasis", "dunder", _dunder)
    return made.enable(["table", "strikethrough"])


def _dunder(state: "StateInline", silent: bool) -> bool:  # the parser calls it
    """Keep the underscores of Python names: `pkg/__init__.py:3` is a path, not a strong `init`."""
    match = _DUNDER.match(state.src, state.pos)
    if match is None:
        return False
    before, after = state.src[: match.start()][-1:], state.src[match.end() :][:2]
    in_path = before in ("/", "\\", ".") or _GOES_ON.match(after)
    if before == "_" or not (in_path or match[1] in _PYTHON_NAMES):
        return False
    if not silent:
        state.pending += match[0]
    state.pos = match.end()
    return True


def is_deep(text: str) -> bool:
    """Return whether text may be nested so deeply that the parser would drop a part of it."""
    return _DEEP.search(text) is not None
