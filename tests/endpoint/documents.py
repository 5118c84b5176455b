"""Would the service take this document? Kind of source, base64, the file's head and end, and its pages.

Nothing is decompressed: pages are counted where their objects stand in plain sight.
"""

import binascii
import re

from tests.endpoint.images import Picture
from tests.endpoint.rules import Rules
from tests.endpoint.shape import Json, RefusedError, expect, one_of, shape, unknown_tag

INVALID = "The PDF specified was not valid."
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_SOURCES = ("base64", "content", "file", "text", "url")


def check_document(block: Json, where: str, rules: Rules) -> Picture:
    """The pages of a document block; `where` is the block's place, its type included."""
    optional: dict[str, type | None] = {"title": None, "context": None}
    shape(block, where, {"type": str, "source": dict}, {**optional, "citations": dict, "cache_control": dict})
    source, place = block["source"], f"{where}.source"
    kind = source.get("type")
    if kind == "text":
        place = f"{place}.text"
        shape(source, place, {"type": str, "media_type": str, "data": str}, {})
        one_of(source["media_type"], ("text/plain",), f"{place}.media_type")
        return Picture(place, 0, 0, 1)
    if kind != "base64":
        unknown_tag(source, _SOURCES, place)
    place = f"{place}.base64"
    expect(source.get("media_type"), str, f"{place}.media_type")
    one_of(source["media_type"], ("application/pdf",), f"{place}.media_type")
    shape(source, place, {"type": str, "media_type": str, "data": str}, {})
    try:
        data = binascii.a2b_base64(source["data"], strict_mode=True)
    except ValueError:
        raise RefusedError(place, "invalid base64 data") from None
    if not data.startswith(b"%PDF-") or b"%%EOF" not in data[-2048:]:
        raise RefusedError(f"{place}.data", INVALID)
    if b"/Encrypt" in data:
        raise RefusedError(f"{place}.data", "The PDF specified is password protected.")
    pages = max(1, len(_PAGE.findall(data)))
    _check_pages(pages, f"{place}.data", rules)
    return Picture(f"{place}.data", 0, 0, pages)


def check_pages_together(pictures: list[Picture], rules: Rules) -> None:
    """The limit of pages that holds for a request as a whole."""
    _check_pages(sum(picture.pages for picture in pictures), "messages", rules)


def _check_pages(pages: int, where: str, rules: Rules) -> None:
    if pages > rules.max_pages:
        raise RefusedError(where, f"A maximum of {rules.max_pages} PDF pages may be provided.")
