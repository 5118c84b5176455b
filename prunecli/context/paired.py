"""Makes the search blocks of an answer valid: pairs each call with its result, or sends both as text.

A pruned, interrupted or compacted neighbor can leave a call or a result alone, which the endpoint rejects. Such a
block is replaced by a text block.
"""

import json
from collections.abc import Sequence
from typing import Any

from prunecli.context import render
from prunecli.model.searches import USE, in_words, is_result_type

_ENDINGS = (b'"type":"server_tool_use"}', b'_tool_result"}')
_CITED = b'{"citations":'
UNFINISHED = "[the search did not finish]"


def has_searches(blocks: Sequence[bytes]) -> bool:
    """Return whether canonical blocks of an answer include search blocks."""
    return any(block.endswith(_ENDINGS) for block in blocks)


def paired(blocks: Sequence[bytes], *, last: bool, as_text: bool) -> tuple[bytes, ...]:
    """Return the blocks of an assistant message in the form to send. Their number does not change.

    In the `last` message, a call may wait for its result. `as_text`: the endpoint does not know such blocks.
    """
    if not as_text and not has_searches(blocks):
        return tuple(blocks)
    values = [_value(block) for block in blocks]
    whole = _pairs(values)
    out = []
    for at, (block, value) in enumerate(zip(blocks, values, strict=True)):
        if value is None or (not as_text and (at in whole or value["type"] == "text")):
            out.append(block)
        elif value["type"] == "text":
            out.append(render.text(value["text"]))
        elif value["type"] == USE and last and not as_text and at not in whole and _is_first(values, at):
            out.append(block)
        elif value["type"] == USE and at not in whole:
            out.append(render.text(f"{in_words(value)} {UNFINISHED}"))
        else:
            out.append(render.text(in_words(value)))
    return tuple(out)


def _pairs(values: Sequence[dict[str, Any] | None]) -> set[int]:
    """Return the places of calls and their results, where each call is followed by one result."""
    open_calls: dict[str, int] = {}
    whole = set[int]()
    for at, value in enumerate(values):
        if value and value["type"] == USE and isinstance(value.get("id"), str) and _is_first(values, at):
            open_calls[value["id"]] = at
        elif value and value.get("tool_use_id") in open_calls:
            whole |= {at, open_calls.pop(value["tool_use_id"])}
    return whole


def _is_first(values: Sequence[dict[str, Any] | None], at: int) -> bool:
    """Return whether no earlier call has the id of this one."""
    one = values[at]
    calls = (value for value in values[:at] if value and value["type"] == USE)
    return one is not None and all(value.get("id") != one.get("id") for value in calls)


def waits(blocks: Sequence[bytes]) -> bool:
    """Return whether a call among these blocks has no result yet."""
    values = [_value(block) for block in blocks]
    whole = _pairs(values)
    return any(value and value["type"] == USE and at not in whole for at, value in enumerate(values))


def _value(block: bytes) -> dict[str, Any] | None:
    """Return a search block, or text with citations; None for any other block."""
    if not (block.endswith(_ENDINGS) or block.startswith(_CITED)):
        return None
    value: dict[str, Any] = json.loads(block)
    kind = value.get("type")
    return value if kind in (USE, "text") or is_result_type(kind) else None
