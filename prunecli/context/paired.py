"""Makes the search blocks of an answer valid: each call with its result, and both as text where they must be.

A pruned, interrupted or compacted neighbor can leave one without the other, which the endpoint rejects. It is then
replaced by text, block for block.
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
    """Whether canonical blocks of an answer include search blocks."""
    return any(block.endswith(_ENDINGS) for block in blocks)


def paired(blocks: Sequence[bytes], *, last: bool, as_text: bool) -> tuple[bytes, ...]:
    """The blocks of an assistant message as they are sent, as many as before.

    In the `last` message a call may wait for its result. `as_text`: the endpoint knows no such blocks.
    """
    if not as_text and not has_searches(blocks):
        return tuple(blocks)
    values = [_value(block) for block in blocks]
    uses = {value["id"] for value in values if value and value.get("type") == USE and "id" in value}
    answered, seen = set[Any](), set[Any]()
    for value in values:
        if value and value.get("type") == USE:
            seen.add(value.get("id"))
        elif value and value.get("tool_use_id") in seen:
            answered.add(value["tool_use_id"])
    out = []
    for block, value in zip(blocks, values, strict=True):
        if value is None:
            out.append(block)
        elif as_text:
            out.append(render.text(value["text"] if value.get("type") == "text" else in_words(value)))
        elif value.get("type") == USE:
            good = value.get("id") in answered or last
            out.append(block if good else render.text(f"{in_words(value)} {UNFINISHED}"))
        elif value.get("type") == "text":
            out.append(block)
        else:
            good = value.get("tool_use_id") in answered and value["tool_use_id"] in uses
            out.append(block if good else render.text(in_words(value)))
    return tuple(out)


def waits(blocks: Sequence[bytes]) -> bool:
    """Whether a call among these blocks has no result yet."""
    values = [value for block in blocks if (value := _value(block))]
    answered = {value.get("tool_use_id") for value in values}
    return any(value.get("type") == USE and value.get("id") not in answered for value in values)


def _value(block: bytes) -> dict[str, Any] | None:
    """A search block, or a text with citations; None for any other block."""
    if not (block.endswith(_ENDINGS) or block.startswith(_CITED)):
        return None
    value: dict[str, Any] = json.loads(block)
    kind = value.get("type")
    return value if kind in (USE, "text") or is_result_type(kind) else None
