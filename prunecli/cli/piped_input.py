"""Standard input as a part of the prompt: read to its end, unless nothing comes at all."""

import os
import select

from prunecli.util.errors import UsageError

FIRST_SECONDS = 3.0
"""Seconds to wait for the first byte if the run can start without input, since a script may leave a pipe open."""
NO_INPUT = "No input came; starting without it; use < /dev/null to skip the wait"
WAITING = "prunecli: waiting for the prompt on standard input"
_CHUNK = 65_536


def read_input(descriptor: int, most: int, seconds: float | None = None) -> bytes | None:
    """Return the input up to its end; None if no byte comes in this many seconds. Raises UsageError for more than
    `most` bytes, which need not end (`yes | prunecli -p`), and for what cannot be read."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    if not ready.poll(None if seconds is None else seconds * 1000):
        return None
    found = bytearray()
    while len(found) <= most:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            ready.poll()
            continue
        except OSError as error:
            raise UsageError(
                f"standard input cannot be read: {error.strerror}", "use < /dev/null to start without it"
            ) from error
        if not data:
            return bytes(found)
        found += data
    raise UsageError(
        f"standard input is over the limit of {most / 1e6:.1f} MB",
        "save it to a file and name the file, or send only the relevant part",
    )


def came_late(descriptor: int) -> bool:
    """Return whether input is there that nothing has read."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    try:
        return bool(ready.poll(0)) and os.read(descriptor, 1) != b""
    except OSError:
        return False
