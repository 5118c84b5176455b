"""Replaces text in a file's bytes; all other bytes stay unchanged."""

import json
import unicodedata

from prunecli.tools.files.encoding import (
    LATIN_1,
    UNKNOWN,
    UTF_8,
    WESTERN,
    Encoding,
    encoding_of,
    has_only_crlf,
    splits_character,
    with_crlf,
)
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.near import near

SHOWN_LINES = 10
_SPLITS = "old_string may begin inside a character of the file's encoding; quote it from earlier on."
_COUNTED = 10_000
_COMPARED_LINES = 20_000
_SHOWN_CHARACTERS = 200


@frozen
class Replacement:
    data: bytes
    count: int


def replaced_in(encoding: Encoding, data: bytes, old: str, new: str, *, everywhere: bool) -> Replacement:
    """Return the content of a file in this encoding with `old` replaced by `new`. Raises ToolError.

    Other encodings than those of `encoding_of` take the way through UTF-8, since the whole file round-trips in them.
    """
    if encoding == encoding_of(data) or encoding == UTF_8:
        return replaced(data, old, new, everywhere=everywhere)
    done = replaced(encoding.decode(data).encode(), old, new, everywhere=everywhere)
    made = encoding.encode(done.data.decode())
    place = next((at for at in range(min(len(data), len(made))) if data[at] != made[at]), len(made))
    if (
        encoding.guessed
        and encoding not in (LATIN_1, WESTERN)
        and place < len(data)
        and splits_character(data, place)
    ):
        raise ToolError(_SPLITS)
    return Replacement(made, done.count)


def replaced(data: bytes, old: str, new: str, *, everywhere: bool) -> Replacement:
    """Return the content with `old` replaced by `new`: its only occurrence, or with `everywhere` all occurrences.

    A text with LF line ends also matches CR LF, and its replacement in a file with only CR LF gets CR LF. Raises a
    ToolError that names the number of matches, their lines, or the nearest line.
    """
    if not old:
        raise ToolError("old_string is empty; pass the text to replace, or use write to create a file.")
    if old == new:
        raise ToolError("old_string and new_string are the same; nothing would change.")
    encoding = encoding_of(data)
    text = encoding.decode(data)
    if encoding == UNKNOWN:
        encoding.encode(old + new)
    given_old, given_new = old, new
    if has_only_crlf(text):
        new = with_crlf(new)
    places = _places(data, encoding, old, everywhere=everywhere)
    if not places and "\n" in old and "\r\n" in text:
        old, new = with_crlf(old), with_crlf(new)
        places = _places(data, encoding, old, everywhere=everywhere)
    if not places:
        raise ToolError(_not_found(text, given_old, given_new))
    if len(places) > 1 and not everywhere:
        raise ToolError(_ambiguous(data, encoding, places))
    wanted, put = encoding.encode(old), encoding.encode(new)
    parts, end = list[bytes](), 0
    for place in places:
        parts += (data[end:place], put)
        end = place + len(wanted)
    if wanted == put:
        raise ToolError(
            "Nothing would change: the file's line ends are CR LF and stay so; bash can convert them."
        )
    if encoding == UNKNOWN and any(splits_character(data, place) for place in places):
        raise ToolError(_SPLITS)
    return Replacement(b"".join((*parts, data[end:])), len(places))


def check_notebook(path: str, before: bytes, after: bytes) -> None:
    """Raise ToolError if a change breaks the JSON of a notebook."""
    if not path.lower().endswith(".ipynb") or not after.strip():
        return
    try:
        json.loads(after)
    except (ValueError, RecursionError) as error:
        try:
            json.loads(before or b"{}")
        except (ValueError, RecursionError):
            return  # it was broken before
        raise ToolError(
            f"The notebook would no longer be JSON ({error}). A line of a cell's source is a string ending in \\n."
        ) from error


def _places(data: bytes, encoding: Encoding, old: str, *, everywhere: bool) -> list[int]:
    """Return the offsets of the matches, aligned to the encoding's units.

    Overlapping matches are included (up to `_COUNTED`), unless all are to be replaced.
    """
    try:
        wanted = old.encode(encoding.codec)
    except UnicodeEncodeError:
        return []  # characters that the encoding lacks cannot be in the file
    found, at = list[int](), data.find(wanted, len(encoding.mark))
    if encoding.unit == 1 and wanted.startswith(encoding.mark) and encoding.mark and data.startswith(wanted):
        found.append(0)
    while at >= 0 and (everywhere or len(found) < _COUNTED):
        aligned = (at - len(encoding.mark)) % encoding.unit == 0
        if aligned:
            found.append(at)
        at = data.find(wanted, at + (len(wanted) if aligned and everywhere else 1))
    return found


def _ambiguous(data: bytes, encoding: Encoding, places: list[int]) -> str:
    newline = "\n".encode(encoding.codec)
    lines = [data.count(newline, 0, place) + 1 for place in places[:SHOWN_LINES]]
    shown = ", ".join(map(str, lines)) + (", …" if len(places) > SHOWN_LINES else "")
    count = f"{_COUNTED} or more" if len(places) == _COUNTED else str(len(places))
    return (
        f"old_string matches {count} places (lines {shown}). "
        "Give more of the text around the one you mean, or set replace_all."
    )


def _not_found(text: str, old: str, new: str) -> str:
    message = "old_string was not found in the file (0 matches)."
    lines = text.split("\n", _COMPARED_LINES)[:_COMPARED_LINES]
    wanted = [line for line in old.split("\n") if line.strip()]
    if new.strip() and new in text:
        message += " new_string is already there."
    if not wanted:
        return message
    for why, folded in (
        ("differs only in white space", lambda line: "".join(line.split())),
        ("differs only in Unicode normalization (NFC, NFD)", lambda line: unicodedata.normalize("NFC", line)),
        ("differs in upper and lower case", str.casefold),
    ):
        number = _block_at([folded(line) for line in lines], [folded(line) for line in wanted])
        if number is not None:
            return f"{message} Line {number} {why}: {_shown(lines[number - 1])}"
    if "\ufffd" in old:
        return f"{message} U+FFFD stands for bytes that are not text; quote only the text around them."
    longest = max(wanted, key=lambda line: len(line.strip()))
    if found := near(longest, _alike(longest, lines), 0.5):
        message += f" The nearest is line {lines.index(found) + 1}: {_shown(found)}"
    return message


def _block_at(lines: list[str], wanted: list[str]) -> int | None:
    """Return the number, from 1, of the line where the wanted lines occur in sequence, ignoring empty lines."""
    kept = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for index in range(len(kept) - len(wanted) + 1):
        if all(kept[index + offset][1] == line for offset, line in enumerate(wanted)):
            return kept[index][0]
    return None


def _alike(line: str, lines: list[str]) -> list[str]:
    """Return at most 100 lines that share a word with a line, since comparing is slow."""
    words = set(line.split())
    alike = {other: len(words & set(other.split())) for other in lines if len(other) < 1000}
    ranked = sorted((other for other, shared in alike.items() if shared), key=lambda other: -alike[other])
    return ranked[:100]


def _shown(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"
