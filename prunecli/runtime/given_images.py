"""Images and documents that a front end gives with a prompt."""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace

from prunecli.context.spill import Cut
from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import Block, Document, Image, Media, Text
from prunecli.model.notes import ATTACHED
from prunecli.tools.files.media import document_of, image_of, text_of_pdf
from prunecli.util.errors import PromptBlocked
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen


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


@frozen
class Attachment:
    """An attachment. `cut` describes its truncation, as for a result."""

    message: UserMessage
    cut: Cut | None = None

    def at(self, seq: int) -> UserMessage:
        message, attached = self.message, self.message.attached
        if self.cut is None or attached is None:
            return message
        result = ToolResult("", attached.tool_name, message.content[1:], details=attached.details)
        spilled = self.cut.of(result, seq).spilled
        return replace(message, attached=replace(attached, spilled=spilled))


async def attached(given: Sequence[Block], media: Media) -> list[Attachment]:
    """Return what is recorded after a prompt for the images and documents given with it. Raises PromptBlocked."""
    attachments: list[Attachment] = []
    for number, block in enumerate(given, 1):
        made = await asyncio.to_thread(accepted, block, number, media)
        kind = "document" if isinstance(block, Document) else "image"
        head = Text(f"{ATTACHED}{headline(f'{kind} {number}', [made])}]")
        attachments.append(Attachment(UserMessage((head, made), "attachment")))
    return attachments


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
