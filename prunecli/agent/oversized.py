"""Handles messages that no request can hold: refuses a blank or oversized prompt, and explains how to continue after
an oversized one in the log."""

from prunecli.context.state import Context
from prunecli.model.requests import MAX_BODY_BYTES
from prunecli.plugins.features import available
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.figures import in_tokens, short

BYTES_PER_TOKEN = 4
"""An estimate for ordinary text, since counting megabytes exactly takes seconds."""
PREAMBLE_BYTES = 1_000_000
"""A generous allowance for the rest of the request."""


class PromptTooLarge(PrunecliError):
    """A prompt that would make every later request fail. Nothing was recorded."""


def checked(words: str, window: int) -> str:
    """Return the prompt. Raises UsageError if it is blank, and PromptTooLarge if it exceeds a request or a window of
    this many tokens."""
    if not words.strip():
        raise UsageError("the prompt is blank", "type a prompt")
    size = len(words.encode("utf-8", "surrogatepass"))
    way = "save it to a file and name the file, or send only the relevant part"
    if size > MAX_BODY_BYTES - PREAMBLE_BYTES:
        raise PromptTooLarge(
            f"Prompt not sent: {megabytes(size)} is over the limit of {megabytes(MAX_BODY_BYTES)}",
            way,
        )
    if (tokens := size // BYTES_PER_TOKEN) > window:
        raise PromptTooLarge(
            f"Prompt not sent: about {in_tokens(tokens)}, more than the model's window of {short(window)}",
            way,
        )
    return words


def megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def way_around(context: Context) -> str:
    """Explain how to continue when every request is too long.

    Names the message, its size and the fix; or what makes any request shorter, if no message is half of it.
    """
    said = [entry for entry in context.items if entry.kind in ("user", "command") and entry.is_sent]
    sizes = {entry.seq: sum(map(len, entry.wire)) for entry in said}
    largest = max(sizes, key=lambda seq: sizes[seq], default=-1)
    whole = sum(len(message.canonical) for message in context.messages())
    if not said or sizes[largest] * 2 < whole:
        return (
            f"make it shorter: /prune, /compact{available(' or /rewind')}; or choose a larger window: /model"
        )
    size = sizes[largest]
    shown = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
    what = "attachment" if context.entries[largest].is_attached else "message"
    who = context.started.id if context.started else "ID"
    return (
        f"your {what} {largest} is too large ({shown}): {available('/rewind to before it, or ')}"
        f"copy the session up to it: prunecli -r {who}@{largest - 1} --fork"
    )
