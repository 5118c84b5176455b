"""The encoding of a text file that is not UTF-8: declared, or guessed from its bytes.

A declaration counts only if the whole file round-trips in it. A guess is good enough to read the file and to put
ASCII into it; for other text somebody must declare the encoding, because a wrong guess would mix two of them.
"""

import codecs
import os
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from prunecli.tools.files.encoding import LATIN_1, UTF_8, WESTERN, Encoding, encoding_of
from prunecli.tools.searching.glob import PathGlob
from prunecli.util.errors import ToolError
from prunecli.util.lazy import lazy
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    import charset_normalizer
    from charset_normalizer import CharsetMatch
else:
    charset_normalizer = lazy("charset_normalizer")

_JUDGED = 32 * 1024
"""Bytes that a guess is made from."""
_DECLARED = (
    re.compile(rb"^[ \t\f]*(?:#|//|;|\"|/?\*|%|--).{0,40}?coding[:=][ \t]*([-\w.]+)", re.MULTILINE),
    re.compile(rb"^\s*<\?xml[^>]{0,80}?encoding\s*=\s*[\"']([-\w.]+)"),
    re.compile(rb"<meta[^>]{0,120}?charset\s*=\s*[\"']?([-\w.]+)", re.IGNORECASE),
)
"""A coding line, an XML declaration, an HTML one."""
_WIDER = {"shift_jis": "cp932", "gb2312": "gbk", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950"}
"""Codecs with more characters that files of the same name often use."""
_GUESSED = (
    *("cp932", "euc_jp", "gb18030", "big5", "cp949", "iso2022_jp", "iso2022_kr", "cp1251", "koi8_r", "cp866"),
    *("cp1252", "cp1250", "iso8859_2", "iso8859_15", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257"),
)
"""What a file may be, the likelier of equals first."""
_FLUENT = 0.4
"""The coherence from which a text counts as one of a language."""
_NAMES = {"cp932": "Shift_JIS", "gb18030": "GBK", "gbk": "GBK", "cp949": "EUC-KR"}
_C1 = re.compile(rb"[\x80-\x9f]")
"""Bytes that are quotes, dashes and the euro sign in Windows-1252, and nothing in its relatives."""
_KANA = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


def charset_of(data: bytes, path: str) -> Encoding:
    """Return the encoding of a file's content: `encoding_of` it, unless another one is declared or likely."""
    found = encoding_of(data)
    if found.mark or found.unit > 1 or (found == UTF_8 and not data.isascii() and _decodes(data, "utf-8")):
        return found
    declared = _declaration(data) or ("" if data.isascii() and found == UTF_8 else _by_editorconfig(path))
    codec: str | None = declared
    while codec:
        if _round_trips(data, codec):
            return Encoding(codec)
        codec = _WIDER.get(codec)
    return found if found == UTF_8 else _guess(data, found)


def name_of(encoding: Encoding) -> str:
    return _NAMES.get(encoding.codec, encoding.codec)


def check_writable(encoding: Encoding, old: str, new: str) -> None:
    """Raise ToolError if a change puts text other than ASCII into a file whose encoding was guessed."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    if encoding.guessed and not new[start : len(new) - tail].isascii():
        name = name_of(encoding)
        raise ToolError(
            f"The file seems to be {name}, but nothing declares it, so only ASCII text can be put into it. Ask the "
            f"user; if it is {name}, declare it (charset = {encoding.codec} in .editorconfig, or a coding line), or "
            "convert the file with bash: iconv."
        )


def _decodes(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _round_trips(data: bytes, codec: str) -> bool:
    try:
        return data.decode(codec).encode(codec) == data
    except UnicodeError:
        return False


# Declared ----------------------------------------------------------------------------------------------------


def _declaration(data: bytes) -> str:
    head = data[:1024]
    lines = b"\n".join(head.split(b"\n")[:2])
    places = (lines, head, head)
    found = (pattern.search(place) for pattern, place in zip(_DECLARED, places, strict=True))
    return next(
        (codec for match in found if match and (codec := _codec(match[1].decode("ascii", "ignore")))), ""
    )


def _codec(name: str) -> str:
    """Return Python's name of an encoding that has ASCII, "" for UTF-8, which needs no declaration, and others."""
    plain = bytes(range(32, 127))
    try:
        codec = codecs.lookup(name.strip()).name
        return codec if codec != "utf-8" and plain.decode(codec) == plain.decode("ascii") else ""
    except (LookupError, ValueError, TypeError):
        return ""


def _by_editorconfig(path: str) -> str:
    """Return the `charset` of the nearest .editorconfig with a section for the file, "" if there is none."""
    for folder in map(str, PurePath(path).parents):
        try:
            with open_regular(os.path.join(folder, ".editorconfig")) as file:
                lines = [line.strip() for line in file.read(_JUDGED).decode("utf-8", "replace").splitlines()]
        except OSError:
            continue
        charset, applies = "", False
        for line in lines:
            key, _, value = (part.strip().lower() for part in line.partition("="))
            if line.startswith("[") and line.endswith("]"):
                applies = _matches(line[1:-1], os.path.relpath(path, folder))
            elif applies and key == "charset":
                charset = _codec(value)
        if charset or "root=true" in (line.replace(" ", "").lower() for line in lines):
            return charset
    return ""


def _matches(glob: str, path: str) -> bool:
    try:
        return PathGlob(glob).matches(path)
    except ValueError:
        return False


# Guessed -----------------------------------------------------------------------------------------------------


def _guess(data: bytes, found: Encoding) -> Encoding:
    """Return the likeliest encoding in which the file round-trips. A file that looks Western is Windows-1252 or
    Latin-1, unless another one is clearly likelier."""
    if b"\0" in data:
        return found
    judged = data if len(data) <= _JUDGED else data[: data.rfind(b"\n", 0, _JUDGED) + 1] or data[:_JUDGED]
    matches = list(charset_normalizer.from_bytes(judged, cp_isolation=list(_GUESSED)))
    ranked = sorted(matches, key=lambda one: (-round(_likelihood(one), 1), _GUESSED.index(one.encoding)))
    for match in ranked:
        if found == LATIN_1 and not _beats_western(match, judged):
            break
        if _round_trips(data, match.encoding):
            return replace(Encoding(match.encoding), guessed=True)
    is_windows = found == LATIN_1 and _C1.search(data) and _round_trips(data, WESTERN.codec)
    return WESTERN if is_windows else found


def _beats_western(match: "CharsetMatch", judged: bytes) -> bool:
    """Return whether another encoding than Windows-1252 makes words of a language of what looks like Western text."""
    western = judged.decode("cp1252", "replace")
    if match.coherence < _FLUENT or str(match) == western:
        return False
    other = charset_normalizer.from_bytes(western.encode(), cp_isolation=["utf_8"]).best()
    return other is None or _likelihood(match) > _likelihood(other) + 0.1


def _likelihood(match: "CharsetMatch") -> float:
    """Judge a text: letters of one script, few capitals (KOI8 has them where Windows-1251 has small ones), the
    frequencies of a language. Halfwidth Katakana is what other encodings look like in Shift_JIS."""
    text = str(match)
    foreign = [char for char in text if not char.isascii() and not char.isspace()]
    scripts = Counter(unicodedata.name(char, "?").partition(" ")[0] for char in foreign)
    merged = Counter[str]()
    for script, count in scripts.items():
        merged[_KANA.get(script, script)] += count if script != "HALFWIDTH" else 0
    large, small = (sum(map(test, foreign)) for test in (str.isupper, str.islower))
    share = max(merged.values(), default=0) / max(1, len(foreign))
    return share - 0.5 * large / max(1, large + small) + match.coherence - 2 * match.chaos
