"""Refuse prompts too large for any request before they are recorded.

`context/oversize.py` deals with oversized entries that are already in the log.
"""

from prunecli.errors import PrunecliError
from prunecli.figures import short
from prunecli.model.requests import MAX_BODY_BYTES

BYTES_PER_TOKEN = 4
"""An estimate for ordinary text; counting megabytes exactly takes seconds."""
PREAMBLE_BYTES = 1_000_000
"""A generous allowance for the rest of the request."""


class PromptTooLarge(PrunecliError):
    """A prompt that would make every later request fail. Nothing was recorded."""


def checked(words: str, window: int) -> str:
    """Return the prompt. Raises PromptTooLarge if it exceeds a request or a window of this many tokens."""
    size = len(words.encode("utf-8", "surrogatepass"))
    way = "save it to a file and name the file, or send only the relevant part"
    if size > MAX_BODY_BYTES - PREAMBLE_BYTES:
        raise PromptTooLarge(
            f"Prompt not sent: it has {megabytes(size)}, the limit is {megabytes(MAX_BODY_BYTES)}",
            way,
        )
    if (tokens := size // BYTES_PER_TOKEN) > window:
        raise PromptTooLarge(
            f"Prompt not sent: it has about {short(tokens)} tokens, the model takes {short(window)}",
            way,
        )
    return words


def megabytes(size: int) -> str:
    """Format bytes, such as 31.0 MB."""
    return f"{size / 1_000_000:.1f} MB"
