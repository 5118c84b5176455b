"""Large pastes: a short mark replaces each one in the prompt until the prompt is sent.

So every paste is sent unchanged, regardless of its size and content. The editor itself would lose some control
characters and line ends.
"""

import re
from collections.abc import Mapping

from prunecli.util.sanitize import source

INLINE_LINES = 10
INLINE_CHARS = 1_500
"""Maximum lines and characters of a paste shown in the prompt as text."""
DRAFT_LINES = 200
DRAFT_CHARS = 12_000
"""The same for a draft that is there to be edited."""

MARK = re.compile(r"\[(?:Pasted|Image) #(\d+)[, ][^\[\]\n]*\]")
_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters that the editor would replace with a line feed, because it treats them as line ends."""


def unified(text: str) -> str:
    """Restore the clipboard's line ends: terminals paste a carriage return for each."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def fits(text: str, *, draft: bool = False) -> bool:
    """Return whether the text can be shown in the prompt itself: it is short, and the editor would not change it."""
    most = (DRAFT_CHARS, DRAFT_LINES) if draft else (INLINE_CHARS, INLINE_LINES)
    if len(text) > most[0] or text.count("\n") >= most[1]:
        return False
    return not _LINE_ENDS.search(text) and source(text) == text.expandtabs(4)


def expanded(typed: str, texts: Mapping[int, str]) -> str:
    """Replace the marks in a prompt with the texts of the same numbers."""
    return MARK.sub(lambda mark: texts.get(int(mark[1]), mark[0]), typed)


class Pastes:
    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def mark(self, text: str, label: str = "") -> str:
        """Store text and return its mark. In `label`, {} stands for the number."""
        number = max(self.texts, default=0) + 1
        self.texts[number] = text
        if label:
            return f"[{label.format(number)}]"
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[Pasted #{number}, {size}]"

    def marked(self, text: str) -> str:
        return text if fits(text) else self.mark(text)

    def expanded(self, typed: str) -> str:
        return expanded(typed, self.texts)

    def mark_before(self, line: str, column: int) -> int:
        """Return the length of the mark that ends at this column, or 0. Marks are deleted as a whole."""
        for mark in MARK.finditer(line, 0, column):
            if mark.end() == column and int(mark[1]) in self.texts:
                return len(mark[0])
        return 0
