"""Raw estimates for images and documents, from their size: their data is never counted."""

from collections.abc import Callable, Sequence

from prunecli.model.messages import Block, Document, Image, Text, is_media

IMAGE_TOKENS = 1_600
"""An image of unknown size; w*h/750 if the size is known."""
MOST_IMAGE_TOKENS = 4_800
"""The largest image: the endpoint makes larger ones smaller."""
PAGE_TOKENS = 2_500
"""A page of a document: its text, and a picture of it."""


def media_tokens(block: Block) -> int:
    """Raw estimate of an image or a document."""
    match block:
        case Document(pages=pages):
            return max(1, pages) * PAGE_TOKENS
        case Image(width=width, height=height):
            return min(width * height // 750, MOST_IMAGE_TOKENS) or IMAGE_TOKENS
        case _:
            return IMAGE_TOKENS


def image_tokens(content: Sequence[Block]) -> int:
    """Raw estimate of the images and documents in these blocks."""
    return sum([media_tokens(block) for block in content if is_media(block)])


def result_tokens(content: Sequence[Block], count: Callable[[str], int]) -> int:
    """Raw estimate of a result's content."""
    return sum(count(block.text) for block in content if isinstance(block, Text)) + image_tokens(content)
