"""Prompts that no request can hold, refused before they are recorded (`context/oversize.py`: one that is there)."""

from prunecli.errors import PrunecliError
from prunecli.figures import short
from prunecli.model.requests import MAX_BODY_BYTES

BYTES_PER_TOKEN = 4
"""Of ordinary text. An estimate will do: counting megabytes takes seconds."""
PREAMBLE_BYTES = 1_000_000
"""What a request needs beside the prompt, generously."""


class PromptTooLarge(PrunecliError):
    """A prompt that would make every later request fail. Nothing was recorded."""


def checked(words: str, window: int) -> str:
    """The words of a prompt. Raises PromptTooLarge where no request to a model of so many tokens can hold them."""
    size = len(words.encode("utf-8", "surrogatepass"))
    way = "save it to a file and name that, or send the part that matters"
    if size > MAX_BODY_BYTES - PREAMBLE_BYTES:
        raise PromptTooLarge(
            f"This prompt has {megabytes(size)}; a request takes {megabytes(MAX_BODY_BYTES)}. It was not sent",
            way,
        )
    if (tokens := size // BYTES_PER_TOKEN) > window:
        raise PromptTooLarge(
            f"This prompt has {megabytes(size)}, about {short(tokens)} tokens; the model takes {short(window)}. "
            "It was not sent",
            way,
        )
    return words


def megabytes(size: int) -> str:
    """Bytes as people say them: 31.0 MB."""
    return f"{size / 1_000_000:.1f} MB"
