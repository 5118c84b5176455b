"""Are documents refused for what the service refuses them for?"""

import base64
from typing import Any

import pytest

from tests.endpoint.documents import INVALID
from tests.endpoint.sample import assistant, body, call, result, user, verdict


def pdf(*pages: str) -> bytes:
    """As much of a PDF as is looked at."""
    return b"%PDF-1.4\n" + b"<< /Type /Page >>\n" * len(pages) + b"%%EOF"


DATA = "messages.0.content.0.document.source.base64"


def document(data: bytes | str, media_type: str = "application/pdf", **more: Any) -> dict[str, Any]:
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": text}, **more}


def test_a_pdf_is_accepted_from_the_user_and_in_a_result() -> None:
    block = document(pdf("one", "two"), title="paper.pdf")
    assert verdict(body(user(block, "what is it?"))) == ""
    assert verdict(body(user("x"), assistant(call("a")), user(result("a", [block])))) == ""


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (document(b"plain text"), f"{DATA}.data: {INVALID}"),
        (document(pdf("one")[:-20]), f"{DATA}.data: {INVALID}"),
        (document(b""), f"{DATA}.data: {INVALID}"),
        (document("YWJ\nj"), f"{DATA}: invalid base64 data"),
        (document(pdf("one"), "text/html"), f"{DATA}.media_type: Input should be 'application/pdf'"),
        (
            document(pdf("one"), pages=1),
            "messages.0.content.0.document.pages: Extra inputs are not permitted",
        ),
        (document(pdf("one") + b"/Encrypt %%EOF"), f"{DATA}.data: The PDF specified is password protected."),
        (document(pdf(*"x" * 101)), f"{DATA}.data: A maximum of 100 PDF pages may be provided."),
    ],
)
def test_a_wrong_document_is_refused(block: dict[str, Any], message: str) -> None:
    assert verdict(body(user(block))) == message


def test_the_pages_of_a_request_count_together() -> None:
    half = document(pdf(*"x" * 51))
    assert verdict(body(user(half, half))) == "messages: A maximum of 100 PDF pages may be provided."
