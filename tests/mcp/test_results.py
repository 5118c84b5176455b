"""What servers send becomes content: no part of it twice, and no image larger than the model sees."""

import base64

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from prunecli.mcp.results import output_of
from prunecli.model.messages import Image, Media, Text
from tests.tools.files.test_image import png


@pytest.mark.parametrize(
    ("texts", "structured", "added"),
    [
        (['{"a": 1}'], {"a": 1}, False),
        (["a b"], {"result": "a b"}, False),
        (["a", '{"b": 2}'], {"result": ["a", {"b": 2}]}, False),
        (["a", "b"], {"result": ["b", "a"]}, True),
        (["a"], {"result": ["a", "b"]}, True),
        ([], {"result": []}, True),
        (["Two were found."], {"result": ["a", "b"]}, True),
    ],
)
def test_structured_content_is_added_only_where_no_text_repeats_it(
    texts: list[str], structured: dict[str, object], added: bool
) -> None:
    content = [TextContent(type="text", text=one) for one in texts]
    blocks = output_of(CallToolResult(content=content, structured_content=structured), Media()).content
    assert [one.text for one in blocks if isinstance(one, Text)][: len(texts)] == texts
    assert len(blocks) == len(texts) + added


@pytest.mark.parametrize(
    ("data", "media", "shown"),
    [
        (png(1280, 9_000), Media(edge=1_000), (142, 1_000)),
        (png(30, 20), Media(), (30, 20)),
        (png(30, 20), Media(vision=False, model="deaf"), "deaf can't see images"),
        (png(30, 20)[:-5], Media(), "cut short"),
    ],
)
def test_an_image_is_what_read_would_give(data: bytes, media: Media, shown: tuple[int, int] | str) -> None:
    given = ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type="image/png")
    (block,) = output_of(CallToolResult(content=[given]), media).content
    if isinstance(block, Image):
        assert (block.width, block.height) == shown
    else:
        assert isinstance(block, Text)
        assert str(shown) in block.text


def test_colors_of_a_program_behind_a_server_leave_nothing_behind() -> None:
    content = TextContent(type="text", text="\x1b[1;31mError:\x1b[0m no such row\x07")
    (block,) = output_of(CallToolResult(content=[content]), Media()).content
    assert block == Text("Error: no such row")
