"""Converts an editor's prompt for the agent."""

from collections.abc import Iterable, Sequence
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
from prunecli.model.messages import PDF, Block, Document, Image
from prunecli.model.notes import notice
from prunecli.tools.files.workspace import seen_from
from prunecli.tools.tool import bounded
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

Given: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

MAX_EMBEDDED = 100_000
"""Maximum bytes of an embedded text; the agent can read the rest as a file."""


@frozen
class EditorPrompt:
    """A prompt: its text, images and PDF files, and embedded texts, which the agent gets as notices.

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
                words.append(_apart(words, well_formed(text)))
            case ImageContentBlock(mime_type=kind, data=data):
                images.append(Image(kind, data))
            case ResourceContentBlock(uri=uri):
                words.append(_apart(words, _mention(uri, cwd)))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                words.append(_apart(words, _mention(uri, cwd)))
                embedded.append(notice(f"attached {_mention(uri, cwd)}", _bounded(text)))
            case EmbeddedResourceContentBlock(resource=BlobResourceContents() as blob):
                kind = blob.mime_type or ""
                if not (kind.startswith("image/") or kind == PDF):
                    raise _unusable(f"{one_line(blob.uri)}: only text, images and PDF files can be attached")
                words.append(_apart(words, _mention(blob.uri, cwd)))
                images.append(Document(PDF, blob.blob) if kind == PDF else Image(kind, blob.blob))
            case AudioContentBlock():
                raise _unusable("audio is not supported")
            case EmbeddedResourceContentBlock():
                raise _unusable("unknown kind of resource")
            case _:
                assert_never(block)
    return EditorPrompt("".join(words), tuple(images), tuple(embedded))


def _apart(words: Sequence[str], text: str) -> str:
    """Return the text, with a space before it if its first word would run into the last one."""
    runs_on = words and words[-1][-1:].isalnum() and text[:1].isalnum()
    return f" {text}" if runs_on else text


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


def _unusable(why: str) -> RequestError:
    return RequestError(-32602, f"The prompt was not sent: {why}")
