"""Is a JSON value of the demanded form? Types, required and unknown keys, in the words of the real service.

A refusal is raised as `RefusedError(where, message)`; `where` is a dotted path such as `content.0.text.citations`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

Json: TypeAlias = Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
IDENTIFIER = re.compile(r"[a-zA-Z0-9_-]+")

_WANTED = {
    str: "Input should be a valid string",
    dict: "Input should be a valid dictionary",
    list: "Input should be a valid list",
    bool: "Input should be a valid boolean",
    int: "Input should be a valid integer",
    float: "Input should be a valid number",
}


class RefusedError(Exception):
    """A request that the service refuses, and where it is wrong."""

    def __init__(
        self,
        where: str,
        message: str,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str = "",
    ):
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.message = message
        self.status = status
        self.kind = kind
        self.code = code

    def below(self, prefix: str) -> "RefusedError":
        """The same refusal, seen from the place `prefix` that holds the value."""
        where = f"{prefix}.{self.where}" if self.where else prefix
        return RefusedError(where, self.message, self.status, self.kind, self.code)


def is_a(value: Json, wanted: type) -> bool:
    """Whether a JSON value has this type; a boolean is no number."""
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float)) if wanted is float else isinstance(value, wanted)


def expect(value: Json, wanted: type, where: str) -> None:
    """Refuse a value of another type."""
    if not is_a(value, wanted):
        raise RefusedError(where, _WANTED[wanted])


def shape(value: Json, where: str, required: Mapping[str, type], optional: Mapping[str, type | None]) -> None:
    """Refuse what is no object with exactly these keys; an optional one may be null, None as its type checks none."""
    expect(value, dict, where)
    for key, wanted in required.items():
        if key not in value:
            raise RefusedError(f"{where}.{key}" if where else key, "Field required")
        expect(value[key], wanted, f"{where}.{key}" if where else key)
    for key, item in value.items():
        if key in required:
            continue
        place = f"{where}.{key}" if where else key
        if key not in optional:
            raise RefusedError(place, "Extra inputs are not permitted")
        if (kind := optional[key]) is not None and item is not None:
            expect(item, kind, place)


def pattern(value: str, wanted: re.Pattern[str], where: str) -> None:
    """Refuse a string that does not match as a whole."""
    if not wanted.fullmatch(value):
        raise RefusedError(where, f"String should match pattern '^{wanted.pattern}$'")


def one_of(value: Json, wanted: Iterable[str], where: str) -> None:
    """Refuse what is none of these strings."""
    names = tuple(wanted)
    if not isinstance(value, str) or value not in names:
        quoted = [f"'{name}'" for name in names]
        listed = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
        raise RefusedError(where, f"Input should be {listed}")


def unknown_tag(value: Json, wanted: Iterable[str], where: str) -> NoReturn:
    """Refuse an object whose `type` is none of the known ones."""
    if not isinstance(value, dict):
        raise RefusedError(where, "Input should be a valid dictionary or object to extract fields from")
    if "type" not in value:
        raise RefusedError(f"{where}.type", "Field required")
    listed = ", ".join(f"'{name}'" for name in sorted(wanted))
    raise RefusedError(
        where,
        f"Input tag '{value['type']}' found using 'type' does not match any of the expected tags: {listed}",
    )


def cache_ttl(block: Mapping[str, Json], where: str) -> str:
    """The lifetime that a block's `cache_control` asks for, "" when it carries none."""
    mark = block.get("cache_control")
    if mark is None:
        return ""
    place = f"{where}.cache_control" if where else "cache_control"
    shape(mark, place, {"type": str}, {"ttl": str})
    one_of(mark["type"], ("ephemeral",), f"{place}.type")
    if mark.get("ttl") is None:
        return "5m"
    one_of(mark["ttl"], ("5m", "1h"), f"{place}.ttl")
    return str(mark["ttl"])
