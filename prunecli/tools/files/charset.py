"""The encoding of a text file that is not UTF-8: declared, confirmed by the user, or guessed from its bytes.

The first two count only if the whole file round-trips. A guess is good enough to read the file and to put ASCII into
it; before other text is put in, the user confirms it, because a wrong guess would mix two encodings.
"""

import asyncio
import codecs
import os
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeVar

from prunecli.model.codec import well_formed
from prunecli.tools.asking import Inquiry, Option, Reply
from prunecli.tools.files.encoding import LATIN_1, UTF_8, WESTERN, Encoding, encoding_of
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.searching.glob import PathGlob
from prunecli.util.errors import ToolError
from prunecli.util.lazy import lazy
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    import charset_normalizer
    from charset_normalizer import CharsetMatch

    from prunecli.tools.tool import ToolContext
else:
    charset_normalizer = lazy("charset_normalizer")

Result = TypeVar("Result")
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
_SHOWN = 60
"""Characters of a text in a question."""
_FLUENT = 0.4
"""The coherence from which a text counts as one of a language."""
_NAMES = {"cp932": "Shift_JIS", "gb18030": "GBK", "gbk": "GBK", "cp949": "EUC-KR"}
_C1 = re.compile(rb"[\x80-\x9f]")
"""Bytes that are quotes, dashes and the euro sign in Windows-1252, and nothing in its relatives."""
_KANA = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


class UnconfirmedError(ToolError):
    """A change puts text other than ASCII into a file whose encoding was guessed."""

    def __init__(self, path: str, encoding: Encoding, added: str, sample: str) -> None:
        letters = " ".join(dict.fromkeys(char for char in added if not char.isascii()))
        super().__init__(f"{path} seems to be {name_of(encoding)}, but nothing declares it.")
        self.path, self.codec, self.name = path, encoding.codec, name_of(encoding)
        self._letters, self._sample = _short(letters), _short(sample)

    def inquiry(self, shown: str) -> Inquiry:
        question = f"{self.name} was guessed for {shown}. Write {self._letters} as {self.name}?"
        reads = f"\nThe file then reads: {self._sample}" if self._sample else ""
        return Inquiry(question + reads, (Option(f"Write it as {self.name}"), Option("Don't write it")))

    def refusal(self, shown: str, reply: Reply | None) -> ToolError:
        why = "the user did not confirm it" if reply else "nobody is there to confirm it"
        word = f" They said: {reply.words}" if reply and reply.words else ""
        return ToolError(
            f"{shown} seems to be {self.name}, but nothing declares it and {why}, so only ASCII text can be put into "
            f"it.{word} If it is {self.name}, declare it (charset = {self.codec} in .editorconfig, or a coding "
            "line), or convert the file with bash: iconv."
        )


async def in_thread_confirmed(work: Callable[[threading.Event], Result], context: "ToolContext") -> Result:
    """Run `work` in a thread, and again after the user has confirmed the encoding of a file that it changes.

    Raises ToolError if the user declines or nobody can be asked. The answer holds for the session.
    """
    while True:
        try:
            return await in_thread(work)
        except UnconfirmedError as error:
            found = error
        shown = await asyncio.to_thread(_shown, found.path, context.cwd)
        reply = await context.ask(found.inquiry(shown)) if context.ask else None
        if reply is None or reply.words or reply.chosen[:1] != (0,):
            raise found.refusal(shown, reply)
        context.files_seen.confirmed[found.path] = found.codec


def charset_of(data: bytes, path: str, confirmed: str = "") -> Encoding:
    """Return the encoding of a file's content: `encoding_of` it, unless another one is declared, confirmed by the
    user or likely."""
    found = encoding_of(data)
    if found.mark or (found == UTF_8 and not data.isascii() and _decodes(data, "utf-8")):
        return found
    if found.unit > 1:
        return replace(found, guessed=found.codec not in (confirmed, _by_folders(path)))
    outside = "" if data.isascii() and found == UTF_8 else confirmed or _with_ascii(_by_folders(path))
    codec: str | None = _declaration(data) or outside
    while codec:
        if _round_trips(data, codec):
            return Encoding(codec)
        codec = _WIDER.get(codec)
    return found if found == UTF_8 else _guess(data, found)


def name_of(encoding: Encoding) -> str:
    return _NAMES.get(encoding.codec, encoding.codec)


def charset_of_new(text: str, path: str) -> Encoding:
    """Return the encoding that a new file is to have: UTF-8, unless its text or its folder declares another one.

    A coding line is one in a script and between `-*-`, not in prose; a `<meta>` is one in markup.
    """
    data = text.encode()
    is_script = path.endswith((".py", ".pyw", ".pyi", ".rb")) or b"-*-" in data[:1024]
    codec = _declaration(data) if is_script or data.lstrip().startswith(b"<") else ""
    return Encoding(codec or _with_ascii(_by_folders(path)) or UTF_8.codec)


def check_writable(encoding: Encoding, path: str, data: bytes, old: str, new: str) -> None:
    """Raise UnconfirmedError if new text puts other than ASCII into a file whose encoding was guessed."""
    if not encoding.guessed:
        return
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    added = new[start : len(new) - tail]
    if not added.isascii():
        foreign = (line for line in encoding.decode(data).splitlines() if not line.isascii())
        raise UnconfirmedError(path, encoding, added, next(foreign, "").strip())


def _shown(path: str, cwd: Path) -> str:
    return well_formed(seen_from(path, os.path.realpath(cwd)))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


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
        (
            codec
            for match in found
            if match and (codec := _with_ascii(_codec(match[1].decode("ascii", "ignore"))))
        ),
        "",
    )


def _codec(name: str) -> str:
    """Return Python's name of an encoding, "" for an unknown one."""
    try:
        return codecs.lookup(name.strip()).name
    except (LookupError, ValueError, TypeError):
        return ""


def _with_ascii(codec: str) -> str:
    """Return the encoding if it has ASCII, "" for UTF-8, which needs no declaration, and others."""
    plain = bytes(range(32, 127))
    try:
        return codec if codec not in ("", "utf-8") and plain.decode(codec) == plain.decode("ascii") else ""
    except (LookupError, ValueError, TypeError):
        return ""


def _by_folders(path: str) -> str:
    """Return the `charset` of the nearest .editorconfig with a section for the file, or the working-tree-encoding
    of a .gitattributes; "" if there is none."""
    for folder in map(str, PurePath(path).parents):
        inside, charset, section = os.path.relpath(path, folder), "", False
        lines = _lines(os.path.join(folder, ".editorconfig"))
        for line in lines:
            key, _, value = (part.strip().lower() for part in line.partition("="))
            if line.startswith("[") and line.endswith("]"):
                section = _matches(line[1:-1], inside)
            elif section and key == "charset":
                charset = _codec(value)
        for glob, *attributes in map(str.split, filter(None, _lines(os.path.join(folder, ".gitattributes")))):
            named = [one.partition("=")[2] for one in attributes if one.startswith("working-tree-encoding=")]
            if named and not charset and _matches(glob, inside):
                charset = _codec(named[0])
        if charset or "root=true" in (line.replace(" ", "").lower() for line in lines):
            return charset
    return ""


def _lines(path: str) -> list[str]:
    try:
        with open_regular(path) as file:
            return [line.strip() for line in file.read(_JUDGED).decode("utf-8", "replace").splitlines()]
    except OSError:
        return []


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
