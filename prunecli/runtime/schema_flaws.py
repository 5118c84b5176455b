"""Finds JSON schemas that no value can satisfy, or whose validation would never end, before anything is sent.

Pure. It proves only simple cases; a schema without a flaw here can still be impossible to satisfy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from prunecli.model.messages import Json

Schema: TypeAlias = Mapping[str, Any]
Target: TypeAlias = Callable[[str], Json]
"""The subschema that a reference leads to."""

_TYPES = ("null", "boolean", "number", "string", "array", "object")
_BOUNDS = {
    "number": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_SAME_VALUE = ("not", "if", "then", "else")
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")


def looping_reference(parts: Sequence[Schema], target: Target) -> str:
    """Return a reference that leads back to itself without going deeper into the value, or ""."""
    done, known = set[int](), set(map(id, parts))
    for part in parts:
        trail: list[tuple[int, str, Iterator[tuple[str, Json]]]] = [(id(part), "", _applied(part, target))]
        while trail:
            here, _, following = trail[-1]
            reference, inner = next(following, ("", None))
            if inner is None:
                done.add(here)
                trail.pop()
            elif any(id(inner) == above for above, _, _ in trail):
                return reference or next(name for _, name, _ in reversed(trail) if name)
            elif isinstance(inner, Mapping) and id(inner) in known and id(inner) not in done:
                trail.append((id(inner), reference, _applied(inner, target)))
    return ""


def _applied(part: Schema, target: Target) -> Iterator[tuple[str, Json]]:
    """Yield the schemas that apply to the same value as this one; with its reference, or ""."""
    if isinstance(reference := part.get("$ref"), str):
        yield reference, target(reference)
    yield from (("", part[key]) for key in _SAME_VALUE if key in part)
    yield from (("", one) for key in _SAME_VALUE_LISTS for one in part.get(key, ()))


def is_impossible(parts: Sequence[Schema], target: Target) -> bool:
    """Return whether no value can satisfy the first of these schemas. The others are its subschemas.

    A schema is known to have a value once its types, bounds and required parts allow one; whatever is left then
    needs a value that contains itself.
    """
    unproved, before = set(map(id, parts)), -1
    while len(unproved) != before:
        before = len(unproved)
        unproved -= {
            id(part) for part in parts if id(part) in unproved and _has_value(part, unproved, target)
        }
    return id(parts[0]) in unproved


def _has_value(part: Schema, unproved: set[int], target: Target) -> bool:
    def fine(one: Json) -> bool:
        return one is not False and id(one) not in unproved

    if isinstance(reference := part.get("$ref"), str) and not fine(target(reference)):
        return False
    if not all(map(fine, part.get("allOf", ()))):
        return False
    if any(key in part and not any(map(fine, part[key])) for key in ("anyOf", "oneOf")):
        return False
    given = part.get("type", _TYPES)
    types = ["number" if one == "integer" else one for one in ([given] if isinstance(given, str) else given)]
    values = part.get("enum", [part["const"]] if "const" in part else None)
    if values is not None:
        types = [one for one in types if one in map(_type, values)]
    return any(_allows(part, one, fine) for one in types)


def _allows(part: Schema, kind: str, fine: Callable[[Json], bool]) -> bool:
    """Return whether there may be a value of this type."""
    low, high = _BOUNDS.get(kind, ("", ""))
    least, most = part.get(low, 0), part.get(high)
    if low in part and most is not None and least > most:
        return False
    if kind == "object":
        properties, required = part.get("properties", {}), part.get("required", ())
        return all(
            fine(properties.get(name, True)) for name in (required if isinstance(required, list) else ())
        )
    if kind == "array" and least:
        first, items = part.get("prefixItems", []), part.get("items", True)
        return all(map(fine, first[:least])) and (len(first) >= least or fine(items))
    return True


def _type(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"
