"""Reads TOML files that may be malformed or hostile, and finds the lines of their keys.

A missing file is not an error. Every other problem is a ConfigError that names the file and, if known, the line.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.config.declared import Key
from prunecli.config.keys import parse
from prunecli.util.errors import ConfigError
from prunecli.util.lazy import lazy
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = lazy("tomllib")

MAX_BYTES = 1_000_000
MAX_PARTS = 16
"""Maximum parts of a dotted key. tomllib's time grows with their third power: 50,000 parts take a minute."""

_STRING = r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}"
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
_DOTTED = rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+"
# Compiled on first use by re's own cache.
_LONG_KEY = rf"(?s){_STRING}|#[^\n]*|({_DOTTED})"
_STATEMENT = rf"[ \t]*(\[\[?)?[ \t]*({_DOTTED})[ \t]*(?:\]|=)"
_PIECE = rf"(?s)({_STRING}|{_PART}|#[^\n]*)|(\n)|([\[{{])|([\]}}])|[^\"'#\n\[\]{{}}A-Za-z0-9_-]+|."
_PLACE = r" \(at (line \d+, column \d+|end of document)\)$"


def read(path: Path, label: str) -> str | None:
    """Return the text of a configuration file, or None if it does not exist. Raises ConfigError with `label`."""
    found = read_bytes(path, label, MAX_BYTES + 1, str(path))
    if found is None:
        return None
    data, _ = found
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{label}: larger than {MAX_BYTES:,} bytes", str(path))
    if data.startswith(b"\xef\xbb\xbf"):
        raise ConfigError(
            f"{label}: line 1: starts with a byte order mark", f"save {path} as UTF-8 without it"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{label}: line {line}: not UTF-8", f"save {path} as UTF-8") from error


def read_bytes(path: Path, label: str, limit: int, hint: str) -> tuple[bytes, int] | None:
    """Return the first `limit` bytes of a regular file and its mode, or None if there is none. Raises ConfigError."""
    try:
        with open_regular(path) as file:
            return file.read(limit), os.fstat(file.fileno()).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {label}: {reason(error)}", hint) from error


def parse_toml(text: str, label: str, path: Path) -> dict[str, Any]:
    """Parse TOML. Raises ConfigError with `label` and the line."""

    for match in re.finditer(_LONG_KEY, text):
        if match[1] and match[1].count(".") >= MAX_PARTS and len(re.findall(_PART, match[1])) > MAX_PARTS:
            line = text.count("\n", 0, match.start()) + 1
            raise ConfigError(f"{label}: line {line}: a key has more than {MAX_PARTS} parts", str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what = str(error)
        if place := re.search(_PLACE, what):
            what = f"{place[1]}: {what[: place.start()]}"
        raise ConfigError(f"{label}: {what}", str(path)) from error
    except RecursionError as error:
        raise ConfigError(f"{label}: nested too deeply", str(path)) from error
    except ValueError as error:  # a number or date outside Python's range
        raise ConfigError(f"{label}: {str(error).partition(';')[0]}", str(path)) from error


def reason(error: OSError | ValueError) -> str:
    """Return the system's error text without the path, such as "Permission denied"."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


@lru_cache(maxsize=8)
def lines(text: str) -> Mapping[Key, int]:
    """Return the line, from 1, of each key and table header in valid TOML.

    Keys inside an inline table are not listed; they have the line of the table's own key.
    """
    return dict(_statements(text))


def line_of(text: str, key: Key) -> int | None:
    """Return the line of a key, else of the first key below it, else of the innermost table around it."""
    known = lines(text)
    below = (line for name, line in known.items() if name[: len(key)] == key)
    around = (known[key[:end]] for end in range(len(key) - 1, 0, -1) if key[:end] in known)
    return known.get(key) or next(below, None) or next(around, None)


def _statements(text: str) -> Iterator[tuple[Key, int]]:
    statement, piece = re.compile(_STATEMENT), re.compile(_PIECE)
    at, line, table = 0, 1, Key()
    while at < len(text):
        if match := statement.match(text, at):
            key = parse(match[2]) or ()
            if match[1]:
                table = key
                yield table, line
            else:
                yield (*table, *key), line
            at = match.end()
        at, passed = _line_end(piece, text, at)
        line += passed


def _line_end(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    """Return the end of the statement around `at`, and the number of lines passed."""
    depth = passed = 0
    while at < len(text) and (piece := pattern.match(text, at)):
        string, newline, opening, closing = piece.groups()
        at = piece.end()
        passed += string.count("\n") if string else bool(newline)
        depth += bool(opening) - bool(closing)
        if newline and depth <= 0:
            break
    return at, passed
