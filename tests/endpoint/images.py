"""Would the service take this image? Media type, base64, size in bytes and in pixels, read from the file's header.

Nothing is decompressed. `Picture` is what the rest of the judge needs to know of one.
"""

import binascii
import struct
import zlib
from dataclasses import dataclass

from tests.endpoint.rules import MIB, Rules
from tests.endpoint.shape import Json, RefusedError, expect, one_of, shape, unknown_tag

MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
UNPROCESSABLE = "Could not process image"


@dataclass(frozen=True, slots=True)
class Picture:
    """An accepted image or document: where in its message, and its size in pixels (0 behind a URL) or in pages."""

    where: str
    width: int
    height: int
    pages: int = 0

    @property
    def tokens(self) -> int:
        """What it costs: 28 x 28 pixels a token, at most 4,784; 1,600 for an unknown size; 2,500 a page."""
        if self.pages:
            return 2_500 * self.pages
        if not self.width:
            return 1_600
        return min(4_784, -(-self.width // 28) * -(-self.height // 28))


def check_image(block: Json, where: str, rules: Rules) -> Picture:
    """The picture of an image block; `where` is the block's place, its type included."""
    shape(block, where, {"type": str, "source": dict}, {"cache_control": dict, "transformations": dict})
    source = block["source"]
    kind = source.get("type")
    place = f"{where}.source"
    if kind == "url":
        shape(source, f"{place}.url", {"type": str, "url": str}, {})
        if not source["url"].startswith("https://"):
            raise RefusedError(f"{place}.url", "Only HTTPS URLs are supported.")
        return Picture(place, 0, 0)
    if kind != "base64":
        unknown_tag(source, ("base64", "url"), place)
    place = f"{place}.base64"
    expect(source.get("media_type"), str, f"{place}.media_type")
    one_of(source["media_type"], MEDIA_TYPES, f"{place}.media_type")
    shape(source, place, {"type": str, "media_type": str, "data": str}, {})
    width, height = _measure(source["data"], source["media_type"], place, rules)
    if max(width, height) > rules.max_image_pixels:
        limit = f"{rules.max_image_pixels} pixels"
        raise RefusedError(
            f"{place}.data", f"At least one of the image dimensions exceed max allowed size: {limit}"
        )
    return Picture(f"{place}.data", width, height)


def _measure(data: str, media_type: str, place: str, rules: Rules) -> tuple[int, int]:
    limit = rules.max_image_bytes
    if len(data) > limit:  # the service measures the base64 text, not the file
        raise RefusedError(
            place, f"image exceeds {limit // MIB} MB maximum: {len(data)} bytes > {limit} bytes"
        )
    try:
        image = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # binascii.Error, and what is not ASCII
        raise RefusedError(place, "invalid base64 data") from None
    if not image:
        raise RefusedError(place, "image cannot be empty")
    actual = _media_type(image)
    if actual is None:
        raise RefusedError(f"{place}.data", UNPROCESSABLE)
    if actual != media_type:
        raise RefusedError(
            place,
            f"The image was specified using the {media_type} media type, "
            f"but the image appears to be a {actual} image",
        )
    size = _SIZES[actual](image)
    if size is None or 0 in size:
        raise RefusedError(f"{place}.data", UNPROCESSABLE)
    return size


def _media_type(image: bytes) -> str | None:
    if image.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if image.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if image.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if image[:4] == b"RIFF" and image[8:12] == b"WEBP" else None


def _png(image: bytes) -> tuple[int, int] | None:
    """Size of a PNG whose chunks are all there, with right checksums."""
    at, size = 8, None
    while at + 12 <= len(image):
        length, kind = struct.unpack_from(">I4s", image, at)
        end = at + 12 + length
        if (
            end > len(image)
            or zlib.crc32(image[at + 4 : end - 4]) != struct.unpack_from(">I", image, end - 4)[0]
        ):
            return None
        if kind == b"IHDR" and length == 13:
            size = struct.unpack_from(">II", image, at + 8)
        if kind == b"IEND":
            return size
        at = end
    return None


def _jpeg(image: bytes) -> tuple[int, int] | None:
    """Size from the first frame header of a JPEG that has its end marker."""
    if b"\xff\xd9" not in image[-64:]:
        return None
    at = 2
    while at + 9 <= len(image) and image[at] == 0xFF:
        marker = image[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", image, at + 5)
            return width, height
        at += 2 + int(struct.unpack_from(">H", image, at + 2)[0])
    return None


def _gif(image: bytes) -> tuple[int, int] | None:
    if len(image) < 14:
        return None
    width, height = struct.unpack_from("<HH", image, 6)
    return width, height


def _webp(image: bytes) -> tuple[int, int] | None:
    if len(image) < 30 or struct.unpack_from("<I", image, 4)[0] + 8 > len(image):
        return None
    kind = image[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(image[24:27], "little"), 1 + int.from_bytes(image[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(image[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", image, 26)
    return width & 0x3FFF, height & 0x3FFF


_SIZES = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}


def check_images_together(pictures: list[Picture], rules: Rules) -> None:
    """The limits that hold for a request as a whole; `where` of each picture is its full path."""
    if len(pictures) > rules.max_images:
        raise RefusedError("messages", f"too many images and documents: {len(pictures)} > {rules.max_images}")
    if len(pictures) <= rules.many_images:
        return
    for picture in pictures:
        if max(picture.width, picture.height) > rules.many_images_pixels:
            raise RefusedError(
                picture.where,
                "At least one of the image dimensions exceed max allowed size for many-image requests: "
                f"{rules.many_images_pixels} pixels",
            )
