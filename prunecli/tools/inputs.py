"""The input of a tool: its JSON schema, made from the input class, and a call's values, checked against the class."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from prunecli.model.messages import Json
from prunecli.tools.tool import Tool
from prunecli.util.errors import ToolError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
_hints = cache(get_type_hints)
InputT = TypeVar("InputT", bound="DataclassInstance")


@cache
def schema(input_class: type) -> dict[str, Json]:
    """Return the JSON schema of an input class, kept small because every request contains it."""
    properties, required = {}, []
    hints = get_type_hints(input_class, include_extras=True)
    for item in fields(input_class):
        properties[item.name] = _schema_of(hints[item.name])
        if item.default is MISSING and item.default_factory is MISSING:
            required.append(item.name)
    return {"type": "object", "properties": properties, "required": required}


def definition(tool: Tool) -> dict[str, Json]:
    """Return the tool definition sent to the endpoint. A tool that the endpoint runs is defined by its `server`."""
    server: Mapping[str, Json] | None = getattr(tool, "server", None)
    if server is not None:
        return dict(server)
    return {"name": tool.name, "description": tool.description, "input_schema": schema(tool.Input)}


def parse(input_class: type[InputT], given: Mapping[str, Json]) -> InputT:
    """Parse an input. Unknown keys are ignored, as in the original programs, and null counts as missing.

    Raises ToolError that lists every missing or mistyped key, so that the model can fix its call at once.
    """
    values, wrong = _values(input_class, given)
    if wrong:
        raise ToolError("Invalid input: " + "; ".join(wrong))
    return input_class(**values)


def _values(input_class: type, given: Mapping[str, Json]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of an input or of an object in it, and the problems with them."""
    hints = _hints(input_class)
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for item in fields(input_class):
        optional = item.default is not MISSING or item.default_factory is not MISSING
        if item.name not in given or (given[item.name] is None and optional):
            if not optional:
                wrong.append(f"{item.name} is missing")
            continue
        try:
            values[item.name] = _value_of(hints[item.name], given[item.name])
        except ValueError as error:
            wrong.append(f"{item.name} {error}")
    return values, wrong


def not_read(input_class: type, given: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the sorted keys of a raw input that the tool does not know. Models often add a `description`; it is
    ignored."""
    known = {item.name for item in fields(input_class)}
    return tuple(sorted(given.keys() - known - {"description"}))


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint


def _schema_of(hint: Any) -> dict[str, Json]:
    hint = _without_none(hint)
    if get_origin(hint) is Annotated:
        inner, text, *_ = get_args(hint)
        return {**_schema_of(inner), "description": text}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) in (list, tuple):
        return {"type": "array", "items": _schema_of(get_args(hint)[0])}
    return schema(hint) if isinstance(hint, type) and is_dataclass(hint) else {"type": _NAMES[hint]}


def _value_of(hint: Any, value: Json) -> Any:
    hint = _without_none(hint)
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError(f"must be one of {', '.join(map(str, get_args(hint)))}")
        return value
    if get_origin(hint) in (list, tuple):
        if not isinstance(value, list):
            raise ValueError("must be a list")
        inner = get_args(hint)[0]
        return tuple(_numbered(inner, number, item) for number, item in enumerate(value, 1))
    if is_dataclass(hint):
        return _object(hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise ValueError(
            f"must be {'an' if _NAMES[hint][0] in 'io' else 'a'} {_NAMES[hint]}, not {_shown(value)}"
        )
    return value


def _numbered(hint: Any, number: int, value: Json) -> Any:
    """Return an item of a list; an error names its number if it is an object."""
    try:
        return _value_of(hint, value)
    except ValueError as error:
        raise ValueError(f"item {number}: {error}" if is_dataclass(hint) else str(error)) from error


def _object(hint: Any, value: Json) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, not {_shown(value)}")
    values, wrong = _values(hint, value)
    if wrong:
        raise ValueError(", ".join(wrong))
    return hint(**values)


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
