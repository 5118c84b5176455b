"""Are images refused for what the service refuses them for?"""

import base64
import struct
import zlib
from typing import Any

import pytest

from tests.endpoint.images import Picture
from tests.endpoint.rules import Rules
from tests.endpoint.sample import assistant, body, call, result, user, verdict


def png(width: int, height: int, padding: int = 0) -> bytes:
    """A PNG with right checksums; its pixels are of no interest to the judge."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"\0" * padding) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9
    return b"\xff\xd8" + app + frame + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 8


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8X":
        data = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        data = b"\x2f" + (width - 1 | height - 1 << 14).to_bytes(4, "little") + b"\0" * 5
    else:
        data = b"\0" * 6 + struct.pack("<HH", width, height)
    rest = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(rest)) + rest


def image(data: bytes | str, media_type: str = "image/png") -> dict[str, Any]:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}}


SOURCE = "messages.0.content.0.image.source"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(8000, 1), "image/png"),
        (jpeg(640, 480), "image/jpeg"),
        (gif(640, 480), "image/gif"),
        (webp(b"VP8X", 640, 480), "image/webp"),
        (webp(b"VP8L", 640, 480), "image/webp"),
        (webp(b"VP8 ", 640, 480), "image/webp"),
    ],
)
def test_every_kind_of_image_is_accepted(data: bytes, media_type: str):
    assert verdict(body(user(image(data, media_type), "what is it?"))) == ""


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            image(png(9000, 10)),
            f"{SOURCE}.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        ),
        (
            image(jpeg(10, 8001), "image/jpeg"),
            f"{SOURCE}.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        ),
        (
            image(png(10, 10, padding=4_000_000)),
            f"{SOURCE}.base64: image exceeds 5 MB maximum: 5333412 bytes > 5242880 bytes",
        ),
        (image(png(10, 10)[:-6]), f"{SOURCE}.base64.data: Could not process image"),
        (image(png(10, 10).replace(b"IEND", b"IENX")), f"{SOURCE}.base64.data: Could not process image"),
        (image(jpeg(10, 10)[:-2], "image/jpeg"), f"{SOURCE}.base64.data: Could not process image"),
        (image(png(0, 10)), f"{SOURCE}.base64.data: Could not process image"),
        (image(b"\x89PNG\r\n\x1a\n"), f"{SOURCE}.base64.data: Could not process image"),
        (image(b"plain text"), f"{SOURCE}.base64.data: Could not process image"),
        (image(""), f"{SOURCE}.base64: image cannot be empty"),
        (image("äöü="), f"{SOURCE}.base64: invalid base64 data"),
        (image("YWJ\nj"), f"{SOURCE}.base64: invalid base64 data"),
        (
            image(png(10, 10), "image/jpeg"),
            f"{SOURCE}.base64: The image was specified using the image/jpeg media type, "
            "but the image appears to be a image/png image",
        ),
        (
            image(png(10, 10), "image/bmp"),
            f"{SOURCE}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        ),
        (
            {"type": "image", "source": {"type": "path", "path": "x.png"}},
            f"{SOURCE}: Input tag 'path' found using 'type' does not match any of the expected tags",
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}},
            f"{SOURCE}.url: Only HTTPS URLs are supported.",
        ),
    ],
)
def test_a_wrong_image_is_refused(block: dict[str, Any], message: str):
    found = verdict(body(user(block)))
    assert found.startswith(message), found


def test_an_image_in_a_result_is_judged_too():
    wrong = body(user("x"), assistant(call("a")), user(result("a", [image(png(9000, 1))])))
    where = "messages.2.content.0.tool_result.content.0.image.source.base64.data"
    assert verdict(wrong).startswith(f"{where}: At least one of the image dimensions")


def test_more_than_twenty_images_must_be_smaller():
    large, small = image(png(2500, 10)), image(png(2000, 10))
    assert verdict(body(user(*[large] * 20))) == ""
    assert verdict(body(user(*[small] * 21))) == ""
    found = verdict(body(user(*[small] * 20), assistant("x"), user(large)))
    assert found == (
        "messages.2.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size "
        "for many-image requests: 2000 pixels"
    )


def test_the_hundred_and_first_image_is_refused():
    small = image(png(10, 10))
    assert verdict(body(user(*[small] * 100))) == ""
    assert verdict(body(user(*[small] * 101))) == "messages: too many images and documents: 101 > 100"


def test_an_image_costs_its_pixels_not_its_bytes():
    assert Picture("", 750, 100).tokens == 27 * 4
    assert Picture("", 8000, 8000).tokens == 4784
    assert Picture("", 0, 0).tokens == 1600
    assert Picture("", 1, 1).tokens == 1
    large = body(user(image(png(750, 100, padding=1_000_000))))
    assert verdict(large, Rules(window=108)) == ""
    assert verdict(large, Rules(window=107)).startswith("prompt is too long: 108 tokens")
