"""Letters that a terminal has: where it does not speak UTF-8, each character becomes ASCII of the same width.

Pure. What is drawn stays aligned: a wide character becomes two, one without width none.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from unicodedata import normalize

_BEYOND = re.compile(r"[^\x00-\x7f]")
_OURS = {
    "❯": ">",
    "✓": "v",
    "✗": "x",
    "✂": "%",
    "±": "~",
    "·": "-",
    "•": "*",
    "●": "*",
    "◌": ".",
    "⊘": "/",
    "∴": ":",
    "▸": ">",
    "▾": "v",
    "↳": ">",
    "→": ">",
    "↓": "v",
    "↑": "^",
    "…": "~",
    "⋯": "~",
    "−": "-",
    "–": "-",
    "—": "-",
    "×": "x",
    "■": "#",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "🔪": "%%",
}
_HORIZONTAL, _VERTICAL = "─━┄┅┈┉╌╍═╴╶╸╺", "│┃┆┇┊┋╎╏║╵╷╹╻"


def is_utf8(environ: Mapping[str, str]) -> bool:
    """Whether the terminal speaks UTF-8, by LC_ALL, LC_CTYPE and LANG, the first that is set; unset says nothing
    against it. The console of Linux has no glyphs for most of it.

    Python sets LC_CTYPE=C.UTF-8 where the locale is C (PEP 538): then it is LANG that counts.
    """
    if environ.get("TERM") == "linux":
        return False
    ctype = environ.get("LC_CTYPE", "")
    named = environ.get("LC_ALL") or ("" if ctype == "C.UTF-8" else ctype) or environ.get("LANG") or ""
    return not named or named.lower().replace("-", "").endswith(("utf8", "utf8@euro"))


def letters_for(environ: Mapping[str, str]) -> Callable[[str], str] | None:
    """What turns all that is written into letters which the terminal has; None where it has all."""
    return None if is_utf8(environ) else ascii_letters


def ascii_letters(text: str) -> str:
    """The text in ASCII, as wide as before."""
    return text if text.isascii() else _BEYOND.sub(lambda found: _letter(found[0]), text)


@cache
def _letter(char: str) -> str:
    from rich.cells import cell_len

    if char in _OURS:
        return _OURS[char]
    width = cell_len(char)
    base = normalize("NFKD", char)[0]
    if base.isascii() and width == 1:
        return base
    return _drawn(char) if width == 1 else "?" * width


def _drawn(char: str) -> str:
    code = ord(char)
    if 0x2500 <= code < 0x2580:
        return "-" if char in _HORIZONTAL else "|" if char in _VERTICAL else "+"
    if 0x2580 <= code < 0x25A0:
        return "." if char in "░▒" else "#" if char in "█▓▉▊▋" else " "
    if 0x2800 <= code < 0x2900:
        return "|/-\\"[code % 4]
    return "?"
