"""Checks a JSON value against the openai SDK's own request types: no unknown field, none missing, each of its type.

`flaw(value, type)` names the first place that does not fit, as the service does ("input[3].content[0].text").
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints
from typing import NotRequired as OldNotRequired
from typing import Required as OldRequired

from typing_extensions import is_typeddict


def flaw(value: Any, kind: Any, place: str = "") -> str:
    """The first thing wrong with a value; "" if it is of this type."""
    kind = _bare(kind)
    origin = get_origin(kind)
    if kind in (Any, object):
        return ""
    if origin in (Union, UnionType):
        return _of_union(value, get_args(kind), place)
    if origin is Literal:
        return "" if value in get_args(kind) else f"{place}: {value!r} is none of {get_args(kind)}"
    if is_typeddict(kind):
        return _of_fields(value, kind, place)
    if kind is NoneType or kind is None:
        return "" if value is None else f"{place}: not null"
    if origin is not None and issubclass(origin, Mapping):
        inner = get_args(kind)[1]
        if not isinstance(value, dict):
            return f"{place}: not an object"
        return next(filter(None, (flaw(one, inner, f"{place}.{key}") for key, one in value.items())), "")
    if origin is not None and issubclass(origin, Iterable):
        if not isinstance(value, list):
            return f"{place}: not an array"
        inner = get_args(kind)[0]
        return next(filter(None, (flaw(one, inner, f"{place}[{at}]") for at, one in enumerate(value))), "")
    wanted = (int, float) if kind is float else (kind,)
    fits = isinstance(value, wanted) and (kind is bool or not isinstance(value, bool))
    return "" if fits else f"{place}: {value!r:.60} is not of the type {getattr(kind, '__name__', kind)}"


def _of_union(value: Any, kinds: tuple[Any, ...], place: str) -> str:
    flaws = [flaw(value, kind, place) for kind in kinds]
    if "" in flaws:
        return ""
    if isinstance(value, dict):  # the one that is meant has the same `type`, or gets furthest
        named = [
            found
            for kind, found in zip(kinds, flaws, strict=True)
            if is_typeddict(_bare(kind)) and _same_tag(value, _bare(kind))
        ]
        flaws = named or flaws
    if isinstance(value, list):
        flaws = [found for found in flaws if f"{place}[" in found] or flaws
    return max(flaws, key=len)


def _same_tag(value: Mapping[str, Any], kind: Any) -> bool:
    fields, _ = _fields(kind)
    return all(not flaw(value.get(name), fields[name]) for name in ("type", "role") if name in fields)


def _of_fields(value: Any, kind: Any, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place}: not an object"
    fields, required = _fields(kind)
    dot = f"{place}." if place else ""
    for name in value:
        if name not in fields:
            return f"Unknown parameter: '{dot}{name}'"
    for name in required:
        if name not in value:
            return f"Missing required parameter: '{dot}{name}'"
    given = {
        name: one for name, one in value.items() if one is not None or name in required
    }  # null: left out
    return next(filter(None, (flaw(one, fields[name], f"{dot}{name}") for name, one in given.items())), "")


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    hints = get_type_hints(kind, include_extras=True)
    return hints, tuple(name for name in hints if name in kind.__required_keys__)


def _bare(kind: Any) -> Any:
    while get_origin(kind) in (Annotated, Required, NotRequired, OldRequired, OldNotRequired):
        kind = get_args(kind)[0]
    return getattr(kind, "__value__", kind)
