"""Calls as they are sent: ids unique in a request, ids and names in the characters that the endpoint takes.

Local servers begin with the same id in each turn, other agents' sessions hold ids of other forms. Identity in the
log is the entry's seq; only what cannot be sent is written otherwise on the wire, always in the same way.
"""

import re
from collections.abc import Container, Mapping, Sequence

from prunecli.model.messages import ToolUse

Ids = Mapping[str, str]
"""The id on the wire of each call of one message whose own can't be sent."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 128


def wire_name(name: str) -> str:
    """A tool's name as it is sent: what the endpoint takes stays as it is."""
    return _UNFIT.sub("_", name)[:_MAX_NAME] or "unnamed"


def wire_ids(calls: Sequence[ToolUse], seq: int, taken: Container[str]) -> dict[str, str]:
    """The ids of a message's calls that are sent as another; `seq` is its entry, `taken` are earlier wire ids."""
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
