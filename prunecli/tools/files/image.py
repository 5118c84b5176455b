"""Identifies an image by its bytes: media type, size in pixels, completeness."""

import struct
import zlib
from collections.abc import Iterator

from prunecli.util.frozen import frozen

MAX_PIXELS = 8000
MAX_BASE64 = 5 * 1024 * 1024
"""The endpoint's limit for one image, measured on the base64 text, which is a third longer than the file."""

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@frozen
class ImageHeader:
    """An image's media type and its size in pixels."""

    media_type: str
    width: int
    height: int


def media_type_of(sample: bytes) -> str | None:
    """Return the media type of a supported image, by the file's first bytes."""
    if sample.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if sample.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if sample.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp"
    return None


def mended(data: bytes) -> bytes:
    """Return a PNG without damaged chunks that no viewer needs, such as a color profile; other data unchanged."""
    if media_type_of(data) != "image/png":
        return data
    try:
        kept = [chunk for kind, chunk, sound in _chunks(data) if sound or kind[:1].isupper()]
    except struct.error:
        return data
    return data[:8] + b"".join(kept)


def header_of(data: bytes) -> ImageHeader:
    """Read the header of an image. Raises ValueError if it is damaged or cut short."""
    media_type = media_type_of(data)
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    try:
        width, height = readers[media_type or ""](data)
    except (struct.error, IndexError) as error:
        raise ValueError("cut short") from error
    except KeyError as error:
        raise ValueError("not an image") from error
    if not width or not height:
        raise ValueError("no size in its header")
    return ImageHeader(media_type or "", width, height)


def _png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    if not all(sound for *_, sound in _chunks(data)):
        raise ValueError("damaged or cut short")
    return width, height


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield the chunks of a PNG: name, bytes, and whether the checksum is right. Raises struct.error if cut short."""
    at, kind = 8, b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        yield kind, data[at:end], checksum == zlib.crc32(data[at + 4 : end - 4])
        at = end


def _jpeg(data: bytes) -> tuple[int, int]:
    if b"\xff\xd9" not in data[-65536:]:
        raise ValueError("cut short")
    at = 2
    while True:
        while data[at] == 0xFF:
            at += 1
        kind, length = data[at], struct.unpack_from(">H", data, at + 1)[0]
        if kind in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", data, at + 4)
            return width, height
        if kind == 0xDA or length < 2:
            raise ValueError("no size in its header")
        at += 1 + length


def _gif(data: bytes) -> tuple[int, int]:
    if not data.rstrip(b"\0").endswith(b";"):
        raise ValueError("cut short")
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _webp(data: bytes) -> tuple[int, int]:
    if struct.unpack_from("<I", data, 4)[0] + 8 > len(data):
        raise ValueError("cut short")
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            bits = struct.unpack_from("<I", data, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no size in its header")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
