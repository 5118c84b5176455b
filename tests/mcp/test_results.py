"""What servers send becomes content: no part of it twice, and no image larger than the model sees."""

import base64

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from prunecli.features.mcp.results import output_of
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


def parts(*more: dict[str, object]) -> list[dict[str, object]]:
    """The content of a file as the official file server returns it."""
    return [{"type": "image", "data": PICTURE, "mimeType": "image/png"}, *more]


PICTURE, SONG = (base64.b64encode(data).decode() for data in (png(30, 20), bytes(range(256)) * 12))
AUDIO: dict[str, object] = {"type": "audio", "data": SONG, "mimeType": "audio/mpeg"}


@pytest.mark.parametrize(
    ("content", "structured", "added"),
    [
        (parts(), {"content": parts()}, None),
        (parts(), parts()[0], None),
        ([AUDIO], {"content": [AUDIO]}, None),
        (parts(AUDIO, {"type": "text", "text": "a"}), {"content": parts(AUDIO), "name": "a"}, None),
        (parts(), {"size": 3}, '{"size": 3}'),
        (
            [AUDIO],
            {"url": f"data:audio/mpeg;base64,{SONG}", "size": 3072},
            f'{{"url": "[{len(SONG) + 23:,} characters of base64, left out]", "size": 3072}}',
        ),
        ([], {"data": SONG}, f'{{"data": "[{len(SONG):,} characters of base64, left out]"}}'),
    ],
)
def test_binary_data_never_becomes_text(
    content: list[dict[str, object]], structured: dict[str, object], added: str | None
) -> None:
    result = CallToolResult.model_validate({"content": content, "structuredContent": structured})
    blocks = output_of(result, Media()).content
    texts = [one.text for one in blocks if isinstance(one, Text)]
    assert not any(SONG in text or PICTURE in text for text in texts)
    assert len(blocks) == len(content) + (added is not None)
    assert added is None or texts[-1] == added


def test_colors_of_a_program_behind_a_server_leave_nothing_behind() -> None:
    content = TextContent(type="text", text="\x1b[1;31mError:\x1b[0m no such row\x07")
    (block,) = output_of(CallToolResult(content=[content]), Media()).content
    assert block == Text("Error: no such row")
