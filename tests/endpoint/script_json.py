"""How is a script written as a JSON file? For `python -m tests.endpoint --script FILE.json`.

    ["Hello.", {"content": [{"type": "tool_use", "name": "read", "input": {"path": "a"}}], "chunk": 5},
     {"fault": "http_error", "status": 529}, {"content": "cut", "faults": [{"fault": "end_of_body", "after": 3}]}]

or {"replies": [...], "default": ..., "loop": true}. Keys are the fields of Reply and of the faults.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from tests.endpoint import faults
from tests.endpoint.faults import Fault
from tests.endpoint.script import (
    DEFAULT_REPLY,
    Block,
    Call,
    Item,
    Raw,
    Redacted,
    Reply,
    Text,
    Thinking,
)
from tests.endpoint.shape import Json


class ScriptError(ValueError):
    """A script file that cannot be played; the message names the file and the place."""


@dataclass(frozen=True, slots=True)
class LoadedScript:
    """What a script file says."""

    replies: tuple[Item, ...]
    default: Item = DEFAULT_REPLY
    loop: bool = False


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_FAULTS: Mapping[str, type] = {
    _snake(kind.__name__): kind
    for kind in (
        faults.HttpError,
        faults.RawResponse,
        faults.EchoKey,
        faults.CloseBeforeResponse,
        faults.DropKeepAlive,
        faults.ErrorEvent,
        faults.EndOfBody,
        faults.Close,
        faults.Reset,
        faults.BrokenChunk,
        faults.Stall,
        faults.Insert,
        faults.CutToolJson,
        faults.Drip,
    )
}
_BLOCKS: Mapping[str, type] = {
    "text": Text,
    "thinking": Thinking,
    "redacted_thinking": Redacted,
    "tool_use": Call,
    "raw": Raw,
}
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "bytes": str,
}


def load_script(path: Path) -> LoadedScript:
    """Read a script file; raises ScriptError, and OSError when there is none."""
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise ScriptError(f"{path}: not JSON: {error}") from None
    try:
        return parse_script(value)
    except ScriptError as error:
        raise ScriptError(f"{path}: {error}") from None


def parse_script(value: Json) -> LoadedScript:
    """A script from its JSON value; raises ScriptError."""
    if isinstance(value, list):
        value = {"replies": value}
    if not isinstance(value, dict) or not isinstance(value.get("replies"), list):
        raise ScriptError("a list of replies is needed, or an object with one in `replies`")
    unknown = set(value) - {"replies", "default", "loop"}
    if unknown:
        raise ScriptError(f"{min(unknown)}: unknown key; known are replies, default, loop")
    replies = tuple(_item(item, f"replies[{index}]") for index, item in enumerate(value["replies"]))
    default = _item(value["default"], "default") if "default" in value else DEFAULT_REPLY
    return LoadedScript(replies, default, bool(value.get("loop", False)))


def _item(value: Json, where: str) -> Item:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ScriptError(f"{where}: a string, a reply or a fault is needed, not {json.dumps(value)[:40]}")
    return _fault(value, where) if "fault" in value else _reply(value, where)


def _reply(value: dict[str, Json], where: str) -> Reply:
    given = dict(value)
    content = given.pop("content", [])
    listed = content if isinstance(content, list) else [content]
    blocks = [_block(item, f"{where}.content[{index}]") for index, item in enumerate(listed)]
    broken = given.pop("faults", [])
    if not isinstance(broken, list):
        broken = [broken]
    wrong = tuple(_fault(item, f"{where}.faults[{index}]") for index, item in enumerate(broken))
    reply: Reply = _build(Reply, {**given, "content": blocks, "faults": wrong}, where)
    return reply


def _block(value: Json, where: str) -> str | Block:
    if isinstance(value, str):
        return value
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _BLOCKS:
        raise ScriptError(f"{where}.type: one of {', '.join(_BLOCKS)} is needed, not {kind!r}")
    given = {key: item for key, item in value.items() if key != "type"}
    if kind == "raw" and "deltas" in given:
        given["deltas"] = tuple(given["deltas"])
    block: Block = _build(_BLOCKS[kind], given, where)
    return block


def _fault(value: Json, where: str) -> Fault:
    kind = value.get("fault") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _FAULTS:
        raise ScriptError(f"{where}.fault: one of {', '.join(_FAULTS)} is needed, not {kind!r}")
    given = {key: item for key, item in value.items() if key != "fault"}
    fault: Fault = _build(_FAULTS[kind], given, where)
    return fault


def _build(kind: type, given: dict[str, Json], where: str) -> Any:
    """A value of this dataclass from its fields."""
    known = {item.name: item for item in fields(kind)}
    for key, value in given.items():
        if key not in known:
            raise ScriptError(f"{where}.{key}: unknown key; known are {', '.join(known)}")
        wanted = _TYPES.get(str(known[key].type).removeprefix("<class '").removesuffix("'>"))
        if wanted is not None and (
            not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool)
        ):
            raise ScriptError(f"{where}.{key}: {json.dumps(value)[:40]} is no {_name(wanted)}")
    for name, item in known.items():
        if item.default is MISSING and item.default_factory is MISSING and name not in given:
            raise ScriptError(f"{where}.{name}: is missing")
    if "body" in given and kind is faults.RawResponse:
        given = {**given, "body": given["body"].encode()}
    try:
        return kind(**given)
    except ValueError as error:
        raise ScriptError(f"{where}.{error}") from None


def _name(wanted: type | tuple[type, ...]) -> str:
    return "number" if isinstance(wanted, tuple) else wanted.__name__
