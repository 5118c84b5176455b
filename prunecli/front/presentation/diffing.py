"""Diffs of texts for the screen, which show exactly what is written."""

from collections.abc import Sequence
from difflib import unified_diff

from prunecli.front.presentation.entries import Diff
from prunecli.util.sanitize import visible

NO_NEWLINE = "\\ No newline at end of file"
"""The marker below a last line without a line feed, as in any diff."""


def between(before: Sequence[str], after: Sequence[str], path: str) -> Diff:
    return Diff("\n".join(list(unified_diff(before, after, n=3, lineterm=""))[2:]), path)


def lines_of(text: str) -> list[str]:
    """Return all lines of a file, marking unusual line ends, so that the user sees exactly what will be written."""
    lines = plain(text).split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n{NO_NEWLINE}"] if last else lines


def plain(text: str) -> str:
    """Escape active and invisible characters; tabs stay for the transcript to lay out."""
    return "\t".join(map(visible, text.split("\t")))
