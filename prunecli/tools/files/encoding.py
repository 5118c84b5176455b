"""The encoding of a text file: character set, byte order mark, line ends."""

import codecs
import re

from prunecli.errors import ToolError
from prunecli.frozen import frozen
from prunecli.tools.files.decoding import SAMPLE

_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@frozen
class Encoding:
    """An encoding: its Python name, the byte order mark before the text, and the bytes in a unit."""

    codec: str
    mark: bytes = b""
    unit: int = 1

    def encode(self, text: str) -> bytes:
        """Return the text's bytes, without the mark. Raises ToolError for a character that the encoding lacks."""
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise ToolError(
                f"The file is {self.codec}, which has no {text[error.start]!r} (U+{ord(text[error.start]):04X})."
            ) from error

    def decode(self, data: bytes) -> str:
        """Return the text of a whole file; undecodable bytes become U+FFFD."""
        return data[len(self.mark) :].decode(self.codec, "replace")


UTF_8 = Encoding("utf-8")
LATIN_1 = Encoding("latin-1")
_MARKED = (
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE, 2),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE, 2),
)


def encoding_of(data: bytes) -> Encoding:
    """Return the encoding of a file's content: by its mark, else UTF-8, else Latin-1.

    A file that is not UTF-8 but holds characters of more than one byte is read as damaged UTF-8.
    """
    for encoding in _MARKED:
        if data.startswith(encoding.mark) and not data.startswith(codecs.BOM_UTF32_LE):
            return encoding
    try:
        data.decode()
    except UnicodeDecodeError:
        return UTF_8 if _MULTIBYTE.search(data) else LATIN_1
    return UTF_8


def is_binary(sample: bytes) -> bool:
    """Return whether a file is binary, judging by its first bytes: they contain a NUL and are not marked as
    UTF-16."""
    marked = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return b"\0" in sample[:SAMPLE] and (not marked or sample.startswith(codecs.BOM_UTF32_LE))


def has_only_crlf(text: str) -> bool:
    """Return whether the text has line ends and all of them are CR LF."""
    ends = text.count("\n")
    return ends > 0 and ends == text.count("\r\n")


def with_crlf(text: str) -> str:
    """Return the text with every line end as CR LF."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
