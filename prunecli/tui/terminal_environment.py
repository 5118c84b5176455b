"""Environment variables of the terminal: rejects those that Textual cannot use, and converts output without UTF-8.

Without UTF-8, each character becomes ASCII of the same width: two characters for a wide one, none for one without
width. So columns stay aligned.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from prunecli.util.errors import UsageError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from rich import cells
else:
    cells = lazy("rich.cells")

COLOR_SYSTEMS = ("auto", "standard", "256", "truecolor", "windows")
_NUMBERS = ("COLUMNS", "LINES", "TEXTUAL_FPS")
_MOST = 10_000
"""The largest of these numbers. Much larger ones overflow, or keep Textual drawing forever."""
_BEYOND = re.compile(r"[^\x00-\x7f]")
_OURS = dict(zip("❯✓✗✂±·•●◌⊘∴▸▾↳→↓↑…⋯−–—×■“”‘’", ">vx%~-**./:>v>>v^~~---x#\"\"''", strict=True))
_HORIZONTAL, _VERTICAL = "─━┄┅┈┉╌╍═╴╶╸╺", "│┃┆┇┊┋╎╏║╵╷╹╻"


def check(environ: Mapping[str, str]) -> None:
    """Raise UsageError for a variable with which Textual would fail."""
    colors = environ.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if colors not in COLOR_SYSTEMS:
        raise UsageError(
            f"TEXTUAL_COLOR_SYSTEM: unknown value {colors!r}", f"use one of {', '.join(COLOR_SYSTEMS)}"
        )
    for name in _NUMBERS:
        value = environ.get(name, "").strip()
        if value.isdecimal() and (len(value) > 18 or int(value) > _MOST):
            raise UsageError(f"{name}: {value[:40]} is over {_MOST:,}", "use a smaller number, or unset it")
    if environ.get("TEXTUAL_PRESS"):
        raise UsageError("TEXTUAL_PRESS: prunecli takes keys from the terminal only", "unset it")
    if log := environ.get("TEXTUAL_LOG"):
        try:
            with open(log, "a"):
                pass
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"TEXTUAL_LOG: {log}: {why}", "name a writable file, or unset it") from error


def is_utf8(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal uses UTF-8, by the first of LC_ALL, LC_CTYPE and LANG that is set.

    If none is set, UTF-8 is assumed. The Linux console counts as not using UTF-8, since it lacks most glyphs. With
    LC_CTYPE=C.UTF-8, which Python sets for the C locale (PEP 538), LANG decides.
    """
    if environ.get("TERM") == "linux":
        return False
    ctype = environ.get("LC_CTYPE", "")
    named = environ.get("LC_ALL") or ("" if ctype == "C.UTF-8" else ctype) or environ.get("LANG") or ""
    return not named or named.lower().replace("-", "").endswith(("utf8", "utf8@euro"))


def letters_for(environ: Mapping[str, str]) -> Callable[[str], str] | None:
    """Return the function that converts output for this terminal; None if no conversion is needed."""
    return None if is_utf8(environ) else ascii_letters


def ascii_letters(text: str) -> str:
    return text if text.isascii() else _BEYOND.sub(lambda found: _letter(found[0]), text)


@cache
def _letter(char: str) -> str:
    if char in _OURS:
        return _OURS[char]
    width = cells.cell_len(char)
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
