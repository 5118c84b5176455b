"""Converts an editor's prompt for the agent."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, assert_never
from urllib.parse import unquote, urlsplit

from acp import RequestError
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from prunecli.model.codec import well_formed
from prunecli.model.events import UserMessage
from prunecli.model.messages import Block, Image
from prunecli.model.notes import notice
from prunecli.sanitize import one_line
from prunecli.tools.files.image import MAX_BASE64, MAX_PIXELS, header_of
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.tool import bounded

Given: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

MAX_EMBEDDED = 100_000
"""Maximum bytes of an embedded text; the agent can read the rest as a file."""


@dataclass(frozen=True, slots=True)
class EditorPrompt:
    """A prompt: its text and images, and embedded texts, which the agent gets as notices.

    Notices can be pruned and recalled; prompts are always kept.
    """

    text: str
    images: tuple[Block, ...] = ()
    embedded: tuple[UserMessage, ...] = ()


def read_prompt(blocks: Iterable[Given], cwd: Path) -> EditorPrompt:
    """Return the prompt in these blocks. Raises RequestError for unsupported blocks."""
    words: list[str] = []
    images: list[Block] = []
    embedded: list[UserMessage] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(well_formed(text))
            case ImageContentBlock(data=data):
                images.append(_image(data))
            case ResourceContentBlock(uri=uri):
                words.append(_mention(uri, cwd))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                words.append(_mention(uri, cwd))
                embedded.append(notice(f"attached {_mention(uri, cwd)}", _bounded(text)))
            case EmbeddedResourceContentBlock(resource=BlobResourceContents() as blob):
                if not (blob.mime_type or "").startswith("image/"):
                    raise _unusable(f"{one_line(blob.uri)}: only text and images can be attached")
                words.append(_mention(blob.uri, cwd))
                images.append(_image(blob.blob))
            case AudioContentBlock():
                raise _unusable("audio is not supported")
            case EmbeddedResourceContentBlock():
                raise _unusable("unknown kind of resource")
            case _:
                assert_never(block)
    return EditorPrompt("".join(words), tuple(images), tuple(embedded))


def _mention(uri: str, cwd: Path) -> str:
    """Return a file's path for the agent's tools, or any other URI unchanged."""
    uri = well_formed(uri)
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="strict")
    except ValueError:
        return one_line(uri)
    if parts.scheme != "file" or not path.startswith("/") or "\0" in path:
        return one_line(uri)
    lines = f" (lines {parts.fragment.removeprefix('L').replace(':', '-')})" if parts.fragment else ""
    return one_line(f"{seen_from(path, cwd)}{lines}")


def _bounded(text: str) -> str:
    return bounded(well_formed(text), MAX_EMBEDDED)


def _image(data: str) -> Image:
    if len(data) > MAX_BASE64:
        raise _unusable(
            f"an image of {len(data) * 3 // 4:,} bytes is too large; the limit is {MAX_BASE64 // 4 * 3:,}"
        )
    try:
        header = header_of(base64.b64decode(data, validate=True))
    except (ValueError, binascii.Error) as error:
        raise _unusable(f"an image cannot be read: {error}") from error
    if max(header.width, header.height) > MAX_PIXELS:
        raise _unusable(f"an image has {header.width} x {header.height} pixels; the limit is {MAX_PIXELS}")
    return Image(header.media_type, data, header.width, header.height)


def _unusable(why: str) -> RequestError:
    return RequestError(-32602, f"The prompt was not sent: {why}")
