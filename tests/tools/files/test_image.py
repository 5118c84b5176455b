"""The header of a picture: kinds, sizes, damage."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files.image import header_of, media_type_of


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\0" * width for _ in range(min(height, 100))))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    app0 = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    sof = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + app0 + sof + b"\xff\xda" + struct.pack(">H", 12) + bytes(10) + b"\x12\x34\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3) + b"\x2c;"


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


PICTURES = [
    (png(640, 480), "image/png"),
    (jpeg(640, 480), "image/jpeg"),
    (gif(640, 480), "image/gif"),
    (webp(b"VP8X", 640, 480), "image/webp"),
    (webp(b"VP8L", 640, 480), "image/webp"),
    (webp(b"VP8 ", 640, 480), "image/webp"),
]


@pytest.mark.parametrize(("data", "media_type"), PICTURES)
def test_kind_and_size_are_read(data: bytes, media_type: str) -> None:
    header = header_of(data)
    assert (header.media_type, header.width, header.height) == (media_type, 640, 480)


@pytest.mark.parametrize(("data", "media_type"), PICTURES)
def test_a_picture_that_is_cut_short_is_refused(data: bytes, media_type: str) -> None:
    """At every byte."""
    for end in range(len(data)):
        with pytest.raises(ValueError):
            header_of(data[:end])


@given(st.sampled_from(PICTURES), st.integers(0, 60), st.binary(min_size=1, max_size=8))
def test_damage_is_a_value_error_or_another_size(picture: tuple[bytes, str], at: int, damage: bytes) -> None:
    data = picture[0][:at] + damage + picture[0][at + len(damage) :]
    try:
        header = header_of(data)
    except ValueError:
        return
    assert header.width > 0 < header.height


@given(st.binary(max_size=40))
def test_what_is_no_picture_has_no_media_type(data: bytes) -> None:
    if media_type_of(data) is None:
        with pytest.raises(ValueError):
            header_of(data)
