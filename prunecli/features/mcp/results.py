"""Converts data from servers to prunecli's content: limited in size, and without control characters."""

import base64
import json
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

from prunecli.model.codec import well_formed
from prunecli.model.messages import Block, Json, Media, Text
from prunecli.tools.files.media import image_of
from prunecli.tools.tool import NO_OUTPUT, ToolOutput, bounded
from prunecli.util.sanitize import shortened, uncolored

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        PromptMessage,
        TextResourceContents,
    )

MAX_BLOCKS = 100
"""Maximum blocks of one result; further ones are only counted."""
_MIN_BASE64 = 1_000
_BASE64 = re.compile(r"(?:data:[^,]{0,100},)?[A-Za-z0-9+/_-]+={0,2}\s*")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Return the text without colors and without control characters other than tab and line feed."""
    return well_formed(_CONTROL.sub("", uncolored(text).replace("\r\n", "\n")))


def in_line(text: str, most: int = 200) -> str:
    """Return the beginning of the text as one line."""
    return shortened(" ".join(plain(text[: most * 4]).split()), most)


def output_of(result: "CallToolResult", media: Media) -> ToolOutput:
    """Return the result of a call. Structured content is added without base64 if nothing repeats it."""
    content = _blocks(result.content, media)
    value = result.structured_content
    if value is not None and not _says(content, value) and not _shows(result.content, value):
        content.append(Text(plain(json.dumps(_without_data(value), ensure_ascii=False))))
    return ToolOutput(tuple(content) or (Text(NO_OUTPUT),), bool(result.is_error))


def text_of_prompt(messages: "Sequence[PromptMessage]") -> str:
    """Return the messages of a prompt as a single text. Images are named; if there are two speakers, so are they."""
    both = len({message.role for message in messages}) > 1
    parts = []
    for message in messages[:MAX_BLOCKS]:
        blocks = _blocks([message.content], Media())
        text = "\n".join(
            block.text if isinstance(block, Text) else "(an image, left out)" for block in blocks
        )
        parts.append(f"{message.role.capitalize()}: {text}" if both else text)
    return "\n\n".join(filter(None, parts))


def text_of_resource(
    contents: "Iterable[TextResourceContents | BlobResourceContents]", most: int, media: Media
) -> tuple[str, tuple[Block, ...]]:
    """Return the text of a resource, at most `most` bytes, and its images."""
    texts, images = list[str](), list[Block]()
    for content in contents:
        block = _resource(content, media, headed=False)
        if isinstance(block, Text):
            texts.append(block.text)
        else:
            images.append(block)
    return bounded("\n".join(texts), most), tuple(images[:MAX_BLOCKS])


def _blocks(content: "Sequence[ContentBlock]", media: Media) -> list[Block]:
    found = [_block(one, media) for one in content[:MAX_BLOCKS]]
    if len(content) > MAX_BLOCKS:
        found.append(Text(f"[{len(content) - MAX_BLOCKS} more parts left out]"))
    return found


def _block(block: "ContentBlock", media: Media) -> Block:
    match block.type:
        case "text":
            return Text(plain(block.text))
        case "image":
            return _image(block.data, block.mime_type, media)
        case "audio":
            return Text(f"[audio, {in_line(block.mime_type, 40)}, left out]")
        case "resource_link":
            about = f": {in_line(block.description)}" if block.description else ""
            return Text(f"[resource {in_line(block.uri)} ({in_line(block.name)}){about}]")
        case "resource":
            return _resource(block.resource, media, headed=True)
        case _:
            assert_never(block)


def _resource(
    contents: "TextResourceContents | BlobResourceContents", media: Media, *, headed: bool
) -> Block:
    text = getattr(contents, "text", None)
    head = f"[resource {in_line(contents.uri)}]\n" if headed else ""
    if isinstance(text, str):
        return Text(head + plain(text))
    kind = contents.mime_type or ""
    blob: str = getattr(contents, "blob", "")
    if kind.startswith("image/"):
        return _image(blob, kind, media)
    return Text(
        f"{head}[{len(blob) * 3 // 4:,} bytes, {in_line(kind, 40) or 'of an unknown kind'}, left out]"
    )


def _image(data: str, kind: str, media: Media) -> Block:
    """Return the image as `read` would return it, or a line with the reason why not."""
    try:
        return image_of(base64.b64decode(data, validate=True), media)
    except ValueError as error:
        return Text(f"[an image ({in_line(kind, 40)}), left out: {error}]")


def _says(content: Sequence[Block], value: Json) -> bool:
    """Return whether the content repeats this value, as the protocol recommends: in one text, or with a text for each
    item of a list. Servers wrap a value that is not an object in an object with a single key, such as `result` or
    `content`.

    """
    values = [value, *value.values()] if isinstance(value, dict) and len(value) == 1 else [value]
    said = [_meanings(block.text) for block in content if isinstance(block, Text)]
    return any(each in values for meanings in said for each in meanings) or any(
        isinstance(one, list) and len(one) == len(said) > 0 and all(map(operator.contains, said, one))
        for one in values
    )


def _shows(content: "Sequence[ContentBlock]", value: Json) -> bool:
    """Return whether the content has binary parts, and each single value of `value` is also in the content."""
    if all(block.type in ("text", "resource_link") for block in content):
        return False
    dumped: list[Json] = [block.model_dump(mode="json", by_alias=True) for block in content]
    return set(_single_values(value)) <= set(_single_values(dumped))


def _single_values(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _single_values(one)
    else:
        yield value


def _without_data(value: Json) -> Json:
    """Return the value with the length of each long base64 text in its place, also after a `data:` prefix."""
    if isinstance(value, dict):
        return {key: _without_data(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_data(one) for one in value]
    if isinstance(value, str) and len(value) >= _MIN_BASE64 and _BASE64.fullmatch(value):
        return f"[{len(value):,} characters of base64, left out]"
    return value


def _meanings(text: str) -> Sequence[Json]:
    """Return the possible values of the text: the text itself, and its value as JSON."""
    try:
        return text, json.loads(text)
    except (ValueError, RecursionError):
        return (text,)
