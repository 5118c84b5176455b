"""Cuts texts without splitting a character from its combining marks or joiners.

A cut moves inward to the nearest boundary. Lengths are code points.
"""

from unicodedata import category

_JOINER = "\u200d"
_SELECTORS = (
    range(0xFE00, 0xFE10),
    range(0xE0100, 0xE01F0),
    range(0x1F3FB, 0x1F400),
    range(0xE0020, 0xE0080),
)
_FLAGS = range(0x1F1E6, 0x1F200)
"""Regional indicators: two of them are a flag."""


def _joined(text: str, at: int) -> bool:
    """Return whether the character at `at` belongs to the character before it."""
    char = text[at]
    if char.isascii():
        return False
    code = ord(char)
    if code in _FLAGS:
        before = at
        while before > 0 and ord(text[before - 1]) in _FLAGS:
            before -= 1
        return (at - before) % 2 == 1
    marks = category(char)[0] == "M" or char == _JOINER or any(code in selectors for selectors in _SELECTORS)
    return marks or text[at - 1] == _JOINER


def head(text: str, length: int) -> str:
    """Return the first `length` characters, or fewer to avoid splitting a character sequence."""
    end = max(0, length)
    if end >= len(text):
        return text
    while end > 0 and _joined(text, end):
        end -= 1
    return text[:end]


def tail(text: str, length: int) -> str:
    """Return the last `length` characters, or fewer for the same reason."""
    start = len(text) - max(0, length)
    if start <= 0:
        return text
    while start < len(text) and _joined(text, start):
        start += 1
    return text[start:]
