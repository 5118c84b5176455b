"""The wire form of calls: unique ids, and ids and names in the characters that the endpoint accepts.

Local servers start with the same id in each turn, and other agents' sessions have ids of other forms. The log
identifies a call by its entry's seq. Only ids and names that cannot be sent are rewritten on the wire, always in the
same way.
"""

import re
from collections.abc import Container, Mapping, Sequence

from prunecli.model.messages import ToolUse

Ids = Mapping[str, str]
"""The wire ids of a message's calls whose own ids cannot be sent."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 128


def wire_name(name: str) -> str:
    """Return a tool's name as sent: unchanged if the endpoint accepts it."""
    return _UNFIT.sub("_", name)[:_MAX_NAME] or "unnamed"


def wire_ids(calls: Sequence[ToolUse], seq: int, taken: Container[str]) -> dict[str, str]:
    """Return the wire ids of a message's calls that differ from their own ids.

    `seq` is its entry, `taken` are earlier wire ids.
    """
    changed: dict[str, str] = {}
    used: set[str] = set()
    for call in calls:
        wanted = found = _UNFIT.sub("_", call.id) or f"call_{seq}"
        number = seq
        while found in taken or found in used:
            found, number = f"{wanted}_{number}", number + 1
        used.add(found)
        if found != call.id:
            changed[call.id] = found
    return changed
