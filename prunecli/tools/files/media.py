"""Converts images and PDF files to blocks that the endpoint accepts, in a size for the model.

Pillow and pypdf are optional. Without them, files that the endpoint accepts unchanged can still be shown.
"""

import binascii
import io
import logging
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from prunecli.model.messages import PDF, Document, Image, Media
from prunecli.tools.files.image import MAX_BASE64, MAX_PIXELS, ImageHeader, header_of, mended
from prunecli.util.errors import ToolError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import pypdf
    from PIL.Image import Image as Picture
    from pypdf import errors
else:
    errors = lazy("pypdf.errors")
    pypdf = lazy("pypdf")

MAX_SOURCE = 64 * 1024 * 1024
"""Maximum bytes of a file to read."""
MAX_DECODED = 100_000_000
"""Maximum pixels of an image to decode; a larger image would fill the memory."""
MAX_PAGES = 100
MAX_DOCUMENT = 20 * 1024 * 1024
"""Maximum bytes of a PDF to send unchanged: a request with it in base64 must stay below the endpoint's 32 MB."""
MAX_EXTRACTED = 4_000_000
"""Maximum characters of text taken from one PDF."""

_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"))
_EXIF = b"Exif\0\0"
_ORIENTATION = 0x0112
_NEEDS_PILLOW = "pip install 'prunecli[images]'"
_NEEDS_PYPDF = "pip install 'prunecli[pdf]'"
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def is_media_name(path: str) -> bool:
    """Return whether this file name is that of an image or a PDF."""
    return os.path.splitext(path)[1].lower() in _SUFFIXES


def image_of(data: bytes, media: Media) -> Image:
    """Return the image for a request: upright, and no larger than the model can see. Raises ValueError with the
    reason."""
    if not media.vision:
        raise ValueError(f"{media.model} can't see images")
    data = mended(data)
    header = header_of(data)
    if header.width * header.height > MAX_DECODED:
        raise ValueError(f"{header.width} x {header.height} pixels are too many")
    data, header = _fitted(data, header, media)
    encoded = binascii.b2a_base64(data, newline=False).decode("ascii")
    if len(encoded) > MAX_BASE64:
        raise ValueError(f"{len(data):,} bytes are more than the limit of {MAX_BASE64 // 4 * 3:,}")
    if max(header.width, header.height) > MAX_PIXELS:
        raise ValueError(f"{header.width} x {header.height} pixels are more than the limit of {MAX_PIXELS}")
    return Image(header.media_type, encoded, header.width, header.height)


def _fitted(data: bytes, header: ImageHeader, media: Media) -> tuple[bytes, ImageHeader]:
    """Return the image upright and in the model's size, without decoding it if it already is."""
    scale = min(
        1.0,
        media.edge / max(header.width, header.height),
        (media.pixels / (header.width * header.height)) ** 0.5,
    )
    too_large = len(data) > MAX_BASE64 // 4 * 3
    tagged = _EXIF in data[:65536]
    if scale == 1 and not (too_large or tagged):
        return data, header
    try:
        from PIL import Image as Pillow
        from PIL import ImageOps
    except ImportError:
        if too_large or max(header.width, header.height) > MAX_PIXELS:
            raise ValueError(f"it is too large to send; {_NEEDS_PILLOW} to scale it") from None
        return data, header

    size = max(1, int(header.width * scale)), max(1, int(header.height * scale))
    try:
        with warnings.catch_warnings(), Pillow.open(io.BytesIO(data)) as opened:
            warnings.simplefilter("ignore")
            if scale < 1:
                opened.draft(None, size)  # decodes a JPEG at about this size
            opened.load()
            turned = tagged and opened.getexif().get(_ORIENTATION, 1) != 1
            if scale == 1 and not (too_large or turned):
                return data, header
            picture = opened.resize(size, Pillow.Resampling.LANCZOS) if scale < 1 else opened
            picture = ImageOps.exif_transpose(_plain(picture), in_place=False) if turned else _plain(picture)
            made = _encoded(picture)
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:
        raise ValueError(f"damaged or cut short ({error})") from error
    return made, header_of(made)


def _plain(picture: "Picture") -> "Picture":
    """Return the picture in a mode that PNG and JPEG support."""
    if picture.mode in ("L", "RGB", "RGBA"):
        return picture
    plain = picture.convert("RGBA" if "transparency" in picture.info or "A" in picture.mode else "RGB")
    plain.info.update(picture.info)
    return plain


def _encoded(picture: "Picture") -> bytes:
    """Return the picture as PNG, or as JPEG if it was one or would be too large."""
    found = b""
    for form, options in _FORMS[_is_photo(picture) :]:
        out = io.BytesIO()
        (picture.convert("RGB") if form == "JPEG" else picture).save(out, form, **options)
        found = out.getvalue()
        if len(found) <= MAX_BASE64 // 4 * 3:
            break
    return found


_FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("PNG", {}),
    ("JPEG", {"quality": 88}),
    ("JPEG", {"quality": 60}),
)


def _is_photo(picture: "Picture") -> bool:
    return picture.mode != "RGBA" and "jfif" in picture.info


def document_of(data: bytes, media: Media) -> Document | None:
    """Return the PDF as a block; None if the model accepts only its text, and for a PDF that is encrypted with an
    empty password.

    Raises ValueError for a damaged PDF.
    """
    if not data.startswith(b"%PDF-") or b"%%EOF" not in data[-2048:]:
        raise ValueError("damaged or cut short")
    try:
        reader = _reader(data)
        pages, encrypted = len(reader.pages), reader.is_encrypted
    except ImportError:
        pages, encrypted = len(_PAGE.findall(data)), False
    if not media.documents or encrypted or pages > MAX_PAGES or len(data) > MAX_DOCUMENT:
        return None
    return Document(PDF, binascii.b2a_base64(data, newline=False).decode("ascii"), pages)


def text_of_pdf(data: bytes) -> str:
    """Return the text of a PDF, each page under its number. Raises ValueError."""
    try:
        reader = _reader(data)
    except ImportError:
        raise ValueError(f"its text can't be read; {_NEEDS_PYPDF} for that") from None
    parts, left = list[str](), MAX_EXTRACTED
    for number, page in enumerate(reader.pages, 1):
        try:
            text = page.extract_text().strip()
        except Exception as error:  # noqa: BLE001  # one damaged page must not hide the others
            text = f"[this page can't be read: {type(error).__name__}]"
        parts.append(f"[page {number}]\n{text[:left]}\n")
        left -= len(text)
        if left <= 0:
            parts.append("[the rest was left out]\n")
            break
    return "\n".join(parts)


def _reader(data: bytes) -> Any:
    """Return a pypdf reader. Raises ImportError without pypdf, ValueError for a file that it can't open."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is encrypted")
        len(reader.pages)
    except ValueError:
        raise
    except errors.DependencyError as error:  # needs another library to decrypt it
        raise ValueError("it is encrypted") from error
    except Exception as error:  # pypdf raises errors of many kinds for damaged files
        raise ValueError(f"damaged ({error or type(error).__name__})") from error
    return reader


def as_tool_error(path: str, what: str, error: ValueError) -> ToolError:
    """Return the error message for a file, for the model and the user."""
    return ToolError(f"{path}: {what} can't be shown: {error}.")
