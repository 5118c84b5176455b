"""How is a script written as a JSON file? For `python -m tests.endpoint --script FILE.json`.

    ["Hello.", {"content": [{"type": "tool_use", "name": "read", "input": {"path": "a"}}], "chunk": 5},
     {"fault": "http_error", "status": 529}, {"content": "cut", "faults": [{"fault": "end_of_body", "after": 3}]}]

or {"replies": [...], "default": ..., "loop": true}. Keys are the fields of Reply and of the faults.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tests.endpoint.faults import Fault, RawResponse
from tests.endpoint.script import DEFAULT_REPLY, Block, Call, Item, Raw, Redacted, Reply, Text, Thinking
from tests.endpoint.shape import Json


class ScriptError(ValueError):
    """A script file that cannot be played; the message names the file and the place."""


@dataclass(frozen=True, slots=True)
class LoadedScript:
    """What a script file says."""

    replies: tuple[Item, ...]
    default: Item = DEFAULT_REPLY
    loop: bool = False


_FAULTS: Mapping[str, type] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Fault)
}
_BLOCKS: Mapping[str, type] = {
    "text": Text,
    "thinking": Thinking,
    "redacted_thinking": Redacted,
    "tool_use": Call,
    "raw": Raw,
}


def load_script(path: Path) -> LoadedScript:
    """Read a script file; raises ScriptError, and OSError when there is none."""
    try:
        return parse_script(json.loads(path.read_bytes()))
    except ScriptError as error:
        raise ScriptError(f"{path}: {error}") from None
    except ValueError as error:
        raise ScriptError(f"{path}: not JSON: {error}") from None


def parse_script(value: Json) -> LoadedScript:
    """A script from its JSON value; raises ScriptError."""
    if isinstance(value, list):
        value = {"replies": value}
    if not isinstance(value, dict) or not isinstance(value.get("replies"), list):
        raise ScriptError("a list of replies is needed, or an object with one in `replies`")
    replies = tuple(_item(item, f"replies[{index}]") for index, item in enumerate(value["replies"]))
    default = _item(value["default"], "default") if "default" in value else DEFAULT_REPLY
    loaded: LoadedScript = _build(LoadedScript, {**value, "replies": replies, "default": default}, "script")
    return loaded


def _item(value: Json, where: str) -> Item:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ScriptError(f"{where}: a string, a reply or a fault is needed, not {json.dumps(value)[:40]}")
    return _fault(value, where) if "fault" in value else _reply(value, where)


def _reply(value: dict[str, Json], where: str) -> Reply:
    content, faults = _listed(value.get("content", [])), _listed(value.get("faults", []))
    blocks = [_block(item, f"{where}.content[{index}]") for index, item in enumerate(content)]
    wrong = tuple(_fault(item, f"{where}.faults[{index}]") for index, item in enumerate(faults))
    reply: Reply = _build(Reply, {**value, "content": blocks, "faults": wrong}, where)
    return reply


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _block(value: Json, where: str) -> str | Block:
    if isinstance(value, str):
        return value
    block: Block = _tagged(value, "type", _BLOCKS, where)
    return block


def _fault(value: Json, where: str) -> Fault:
    fault: Fault = _tagged(value, "fault", _FAULTS, where)
    return fault


def _tagged(value: Json, key: str, kinds: Mapping[str, type], where: str) -> Any:
    kind = value.get(key) if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ScriptError(f"{where}.{key}: one of {', '.join(kinds)} is needed, not {kind!r}")
    given = {name: item for name, item in value.items() if name != key}
    if kinds[kind] is RawResponse and "body" in given:
        given["body"] = str(given["body"]).encode()
    return _build(kinds[kind], given, where)


def _build(kind: type, given: dict[str, Json], where: str) -> Any:
    """A value of this dataclass from its fields."""
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:  # an unknown or missing field, or one of another kind
        raise ScriptError(f"{where}: {error}") from None
