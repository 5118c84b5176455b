"""The encoding of a text file: character set, byte order mark, line ends."""

import codecs
import re

from prunecli.tools.files.decoding import SAMPLE
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]+")
_HIGH_BYTES = bytes(range(0x80, 0x100))
_NOT_WESTERN = re.compile(rb"[\x81-\x84\x86-\x90\x98\x9a-\x9f]")
"""Bytes that Latin-1 and Windows-1252 hardly use, unlike quotes, dashes and letters."""
SHIFTED = re.compile(rb"\x1b\$[@AB()]")
"""The escapes of ISO-2022, which writes Japanese, Korean and Chinese text in 7 bits."""


@frozen
class Encoding:
    """An encoding: its Python name, the byte order mark before the text, the bytes in a unit, and whether it is only
    likely."""

    codec: str
    mark: bytes = b""
    unit: int = 1
    guessed: bool = False

    def encode(self, text: str) -> bytes:
        """Return the text's bytes, without the mark. Raises ToolError for a character that the encoding lacks."""
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            if self == UNKNOWN:
                raise ToolError(
                    "The file is not UTF-8; its encoding may be Shift_JIS, GBK, EUC or another one. Only ASCII text "
                    "can be put into it. For other text, convert it with bash: python3 or iconv."
                ) from error
            raise ToolError(
                f"The file is {self.codec}, which has no {text[error.start]!r} (U+{ord(text[error.start]):04X}); "
                "use another character, or convert the file with bash: iconv."
            ) from error

    def decode(self, data: bytes) -> str:
        """Return the text of a whole file; undecodable bytes become U+FFFD."""
        return data[len(self.mark) :].decode(self.codec, "replace")


UTF_8 = Encoding("utf-8")
LATIN_1 = Encoding("latin-1", guessed=True)
WESTERN = Encoding("windows-1252", guessed=True)
"""Latin-1 with quotes and dashes."""
_WIDE = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
UNKNOWN = Encoding("ascii")
"""A file in an encoding that can't be told: only its ASCII text is known."""
_MARKED = (
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-32-le", codecs.BOM_UTF32_LE, 4),
    Encoding("utf-32-be", codecs.BOM_UTF32_BE, 4),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE, 2),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE, 2),
)


def encoding_of(data: bytes) -> Encoding:
    """Return the encoding of a file's content: by its mark, or without one UTF-16 and UTF-32 by their NULs, UTF-8
    (also damaged), Latin-1 or UNKNOWN."""
    for encoding in _MARKED:
        if data.startswith(encoding.mark):
            return encoding
    if wide := _wide(data):
        return wide
    try:
        data.decode()
    except UnicodeDecodeError:
        return _by_high_bytes(data)
    return UNKNOWN if SHIFTED.search(data) else UTF_8


def _by_high_bytes(data: bytes) -> Encoding:
    """Judge a file that is not UTF-8: in damaged UTF-8 most of these bytes still are, and in Latin text most stand
    alone, while other scripts and encodings of two bytes write rows of them."""
    rows = [len(row) for row in _HIGH.findall(data)]
    if 3 * sum(map(len, _MULTIBYTE.findall(data))) >= 2 * sum(rows):
        return UTF_8
    return LATIN_1 if 2 * rows.count(1) >= sum(rows) and not _NOT_WESTERN.search(data) else UNKNOWN


def splits_character(data: bytes, at: int) -> bool:
    """Return whether a place in a file of UNKNOWN encoding may be inside a character: after half of one of two bytes,
    or in the shifted text of ISO-2022."""
    before = len(data[:at]) - len(data[:at].rstrip(_HIGH_BYTES))
    shifted = data.rfind(b"\x1b$", 0, at) > data.rfind(b"\x1b(", 0, at)
    return shifted or (before % 2 == 1 and 0x40 <= data[at] < 0x7F)


def _wide(data: bytes) -> Encoding | None:
    """Return UTF-32 or UTF-16 for a file without a mark that is nothing but readable text in it, a quarter ASCII."""
    sample = data[:SAMPLE]
    for codec, unit in _WIDE if b"\0" in sample else ():
        try:
            text = codecs.getincrementaldecoder(codec)().decode(sample, final=len(sample) % unit > 0)
        except UnicodeDecodeError:
            continue
        readable = all(char.isprintable() or char in "\t\n\f\r" for char in text)
        if readable and 4 * sum(map(str.isascii, text)) >= len(text) > 1:
            return Encoding(codec, unit=unit, guessed=True)
    return None


def is_binary(sample: bytes) -> bool:
    """Return whether a file is binary, judging by its first bytes: they contain a NUL and are neither UTF-16 nor
    UTF-32."""
    return b"\0" in sample[:SAMPLE] and encoding_of(sample).unit == 1


def has_only_crlf(text: str) -> bool:
    ends = text.count("\n")
    return ends > 0 and ends == text.count("\r\n")


def with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
