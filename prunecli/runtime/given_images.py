"""Images and documents that a front end gives with a prompt."""

import asyncio
import base64
import binascii
from collections.abc import Sequence

from prunecli.model.events import UserMessage
from prunecli.model.messages import Block, Document, Image, Media, Text
from prunecli.model.notes import ATTACHED
from prunecli.tools.files.media import document_of, image_of, text_of_pdf
from prunecli.util.errors import PromptBlocked
from prunecli.util.figures import counted


def headline(label: str, content: Sequence[Block]) -> str:
    for block in content:
        match block:
            case Image(width=width, height=height) if width:
                return f"{label} {width}x{height}"
            case Document(pages=pages) if pages:
                return f"{label}, {counted(pages, 'page')}"
            case _:
                pass
    return label


async def attached(given: Sequence[Block], media: Media) -> list[UserMessage]:
    """Return what is recorded after a prompt for the images and documents given with it. Raises PromptBlocked."""
    found: list[UserMessage] = []
    for number, block in enumerate(given, 1):
        made = await asyncio.to_thread(accepted, block, number, media)
        kind = "document" if isinstance(block, Document) else "image"
        head = Text(f"{ATTACHED}{headline(f'{kind} {number}', [made])}]")
        found.append(UserMessage((head, made), "attachment"))
    return found


def accepted(block: Block, number: int, media: Media) -> Block:
    """Return the block in a form that the model accepts. `number` is its place among the images of the prompt.

    Raises PromptBlocked.
    """
    if not isinstance(block, Image | Document):
        return block
    try:
        data = base64.b64decode(block.data, validate=True)
        if isinstance(block, Image):
            return image_of(data, media)
        return document_of(data, media) or Text(text_of_pdf(data))
    except binascii.Error:
        why = "its base64 data is invalid"
    except ValueError as error:
        why = str(error)
    kind = "document" if isinstance(block, Document) else "image"
    raise PromptBlocked(f"{kind} {number} was not attached: {why}", "send the prompt without it")
