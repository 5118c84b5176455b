"""Large pastes: a short mark stands for them in the prompt, and the text itself goes in when it is sent.

So nothing that was pasted is changed, however large it is and whatever it holds: an editor's lines would lose
some control characters and line ends.
"""

import re
from collections.abc import Mapping

from prunecli.sanitize import source

INLINE_LINES = 10
INLINE_CHARS = 1_500
"""Up to so many lines and characters a paste stands in the prompt as it is."""

MARK = re.compile(r"\[Pasted #(\d+)[, ][^\[\]\n]*\]")
_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What an editor takes for the end of a line, and a line feed would replace."""


def unified(text: str) -> str:
    """The text with the line ends that the clipboard had: terminals paste a carriage return for each."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def fits(text: str) -> bool:
    """Whether a text can stand in the prompt as it is: short, and an editor shows and keeps all of it."""
    if len(text) > INLINE_CHARS or text.count("\n") >= INLINE_LINES:
        return False
    return not _LINE_ENDS.search(text) and source(text) == text.expandtabs(4)


def expanded(typed: str, texts: Mapping[int, str]) -> str:
    """What was typed with the texts in place of their marks, by number."""
    return MARK.sub(lambda mark: texts.get(int(mark[1]), mark[0]), typed)


class Pastes:
    """The texts that marks stand for, by number."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def mark(self, text: str) -> str:
        """Keeps a text; the mark for it."""
        number = max(self.texts, default=0) + 1
        self.texts[number] = text
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[Pasted #{number}, {size}]"

    def marked(self, text: str) -> str:
        """The text itself if it fits, else a mark for it."""
        return text if fits(text) else self.mark(text)

    def expanded(self, typed: str) -> str:
        """What was typed with the texts in place of their marks."""
        return expanded(typed, self.texts)

    def mark_before(self, line: str, column: int) -> int:
        """The length of the mark that ends at this column, 0 if none does: it is deleted as a whole."""
        for mark in MARK.finditer(line, 0, column):
            if mark.end() == column and int(mark[1]) in self.texts:
                return len(mark[0])
        return 0
