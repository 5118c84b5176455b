"""Reads the fields of a record strictly: a wrong type raises a ValueError that names the key."""

import re
from collections.abc import Mapping

from prunecli.model.codec import (
    cached_1h_of,
    content_from_json,
    mapping,
    searches_of,
    well_formed,
    well_formed_json,
)
from prunecli.model.messages import Block, Json, Usage
from prunecli.model.requests import PREAMBLE
from prunecli.model.touches import Touches

MOST = 10**15
"""The largest number in a record (tokens, milliseconds, seqs). Larger ones would overflow dates and prices."""
_TREE = re.compile("[0-9a-f]{40}")


def _expected(key: str, what: str, value: Json) -> ValueError:
    return ValueError(f"{key}: expected {what}, got {type(value).__name__}")


def _present(payload: Mapping[str, Json], key: str) -> Json:
    if key not in payload:
        raise ValueError(f"{key} is missing")
    return payload[key]


def text(payload: Mapping[str, Json], key: str, default: str | None = None) -> str:
    """Return a string. Without a default, the key is required; with one, null counts as missing."""
    value = payload.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise _expected(key, "a string", _present(payload, key))
    return value if value.isascii() else well_formed(value)


def tree(payload: Mapping[str, Json], key: str) -> str:
    """Return git's name of a tree."""
    name = text(payload, key)
    if not _TREE.fullmatch(name):
        raise ValueError(f"{key}: {name[:40]!r} is not the name of a tree")
    return name


def optional_text(payload: Mapping[str, Json], key: str) -> str | None:
    """Return a string, or None if the key is missing or null."""
    return None if payload.get(key) is None else text(payload, key)


def whole(payload: Mapping[str, Json], key: str, default: int | None = None) -> int:
    """Return an integer between -`MOST` and `MOST`. Without a default the key is required."""
    value = payload.get(key)
    if value is None and default is not None:
        return default
    if type(value) is not int:
        raise _expected(key, "an integer", _present(payload, key))
    if not -MOST <= value <= MOST:
        raise ValueError(f"{key}: {value:.3g} is out of range")
    return value


def optional_whole(payload: Mapping[str, Json], key: str) -> int | None:
    """Return an integer, or None if the key is missing or null."""
    return None if payload.get(key) is None else whole(payload, key)


def flag(payload: Mapping[str, Json], key: str, default: bool) -> bool:
    """Return a boolean, or the default if the key is missing or null."""
    value = payload.get(key)
    if value is not None and not isinstance(value, bool):
        raise _expected(key, "true or false", value)
    return default if value is None else value


def part(payload: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """Return an object, empty if the key is missing or null."""
    value = payload.get(key)
    if value is not None and not isinstance(value, dict):
        raise _expected(key, "an object", value)
    return value or {}


def optional_part(payload: Mapping[str, Json], key: str) -> dict[str, Json] | None:
    """Return an object of well-formed strings, or None if the key is missing or null."""
    return mapping(payload[key]) if part(payload, key) else None


def parts(payload: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """Return a list of objects; the key is required."""
    value = _present(payload, key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _expected(key, "a list of objects", value)
    return value


def objects(payload: Mapping[str, Json], key: str) -> tuple[dict[str, Json], ...] | None:
    """Return a list of objects of well-formed strings, or None if the key is missing or null."""
    return None if payload.get(key) is None else tuple(map(mapping, parts(payload, key)))


def wholes(payload: Mapping[str, Json], key: str) -> tuple[int, ...]:
    """Return a list of integers, empty if the key is missing or null."""
    value = payload.get(key) or []
    if not isinstance(value, list) or not all(type(item) is int and abs(item) <= MOST for item in value):
        raise _expected(key, "a list of integers", value)
    return tuple(value)


def texts(payload: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """Return a list of strings, empty if the key is missing or null."""
    value = payload.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _expected(key, "a list of strings", value)
    return tuple(map(well_formed, value))


def content(payload: Mapping[str, Json]) -> tuple[Block, ...]:
    """Return the content of a message: a string or a list of blocks."""
    return content_from_json(_present(payload, "content"))


def arguments(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return the input of a call."""
    return mapping(_present(payload, "input"))


def touches(payload: Mapping[str, Json]) -> Touches | None:
    """Return the touches of a call, or None if the key is missing or null."""
    if payload.get("touches") is None:
        return None
    given = part(payload, "touches")
    return Touches(**{key: texts(given, key) for key in Touches.__match_args__})


USAGE_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
"""The counts in `Usage` that are plain numbers."""


def usage(payload: Mapping[str, Json]) -> Usage:
    """Return the usage in the API's names; absent cache fields stay unknown."""
    given = part(payload, "usage")
    sent, answered, read, written = [_count(given, key) for key in USAGE_TOKENS]
    return Usage(sent or 0, answered or 0, read, written, searches_of(given), cached_1h_of(given))


def _count(usage: Mapping[str, Json], key: str) -> int | None:
    if usage.get(key) is None:
        return None
    count = whole(usage, key)
    if count < 0:
        raise ValueError(f"{key}: {count} is negative")
    return count


def requirements(payload: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the features that a version must understand to continue the session.

    The value is read leniently: any other value means a feature that this version does not know.
    """
    value = payload.get("requires") or ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def setting(payload: Mapping[str, Json], key: str) -> Json:
    """Return the value of a setting. A preamble's value must be usable in a request."""
    value = _present(payload, "value")
    if key == PREAMBLE:
        if not isinstance(value, dict):
            raise _expected(PREAMBLE, "an object", value)
        texts(value, "system")
        for tool in () if value.get("tools") is None else parts(value, "tools"):
            text(tool, "name")
            part(tool, "input_schema")
        return well_formed_json(value)
    return value
