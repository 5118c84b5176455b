"""Dotted keys: parsing, formatting, and suggestions for unknown ones.

A part is a bare TOML key or quoted: `models."claude-3.5".context_window`.
"""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from prunecli.config.declared import Key
from prunecli.util.lazy import lazy
from prunecli.util.near import near

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = lazy("tomllib")

_PART = re.compile(r'[ \t]*([A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|\'[^\']*\')[ \t]*')
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60


def parse(text: str) -> Key | None:
    """Return the parts of a dotted key, or None if it is malformed."""
    parts, at = list[str](), 0
    while match := _PART.match(text, at):
        if (part := _unquoted(match[1])) is None:
            return None
        parts.append(part)
        at = match.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            return None
        at += 1
    return None


def dotted(key: Key) -> str:
    """Format a key, quoting parts that are not bare, so that no control character gets through."""
    return ".".join(part if _BARE.fullmatch(part) else quoted(part) for part in key)


def shown(key: Key) -> str:
    """Format a key for an error message: like `dotted`, but short."""
    text = dotted(key)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def quoted(text: str) -> str:
    """Format text as a TOML string, escaping all invisible characters."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _unquoted(part: str) -> str | None:
    if part[0] != '"':
        return part[1:-1] if part[0] == "'" else part
    if "\\" not in part:
        return part[1:-1]

    try:
        value = tomllib.loads(f"key = {part}")["key"]
    except tomllib.TOMLDecodeError:
        return None
    return str(value)


def nearest(name: str, known: Collection[str], likeness: float = 0.0) -> str:
    """Return the most similar known name, whatever its case, with at least this likeness (0 to 1), or ""."""
    folded = {one.lower(): one for one in known}
    found = near(name[:_SHOWN].lower(), folded, likeness)
    return folded[found] if found else ""
