"""Converts values from files and the command line to declared types, and describes mismatches.

In text, strings are literal; numbers, booleans and lists are JSON.
"""

import json
import math
from typing import Any, NoReturn, get_args

from prunecli.config.declared import (
    Declared,
    choices,
    from_hint,
    is_list,
    is_mapping,
    is_table,
    is_union,
    item_type,
)
from prunecli.config.keys import dotted, quoted

INT_LIMIT = 2**63
"""TOML integers have 64 bits."""

_SHOWN = 40
_TYPES = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
_PLURALS = {Any: "tables", bool: "booleans", int: "integers", float: "numbers", str: "strings"}


class MistypedError(ValueError):
    """A value does not fit its type; the text is "expected X, got Y"."""


def from_toml(item: Declared, value: Any) -> Any:
    """Convert a TOML value to the declared type. Raises MistypedError."""
    if is_union(item.type):  # a name or a list of names
        for one in get_args(item.type):
            if is_list(one) == isinstance(value, list) and (is_list(one) or type(value) is one):
                return from_toml(item._replace(type=one), value)
        _refuse(item, value)
    if is_list(item.type):
        return _items(item, value)
    if item.type is Any:
        return value if isinstance(value, dict) else _refuse(item, value)
    if allowed := choices(item.type):
        if value not in allowed or isinstance(value, bool):
            _refuse(item, value)
        return value
    if item.type is float and type(value) is int and abs(value) < INT_LIMIT:
        value = float(value)
    if type(value) is not item.type or not _in_bounds(item, value):
        _refuse(item, value)
    return value


def from_text(item: Declared, text: str) -> Any:
    """Convert the text of `key=text` to the declared type; `null` unsets an optional key. Raises MistypedError."""
    if item.optional and text == "null":
        return None
    listed = is_union(item.type) and text.lstrip().startswith("[")
    is_text = item.type is str or choices(item.type) or (is_union(item.type) and str in get_args(item.type))
    if not listed and is_text:
        return from_toml(item, text)
    try:
        return from_toml(item, json.loads(text))
    except MistypedError as error:
        raise error from None
    except (ValueError, RecursionError):  # not JSON, a number with too many digits, or nested too deeply
        _refuse(item, text)


def expected(item: Declared) -> str:
    """Return the values that a type accepts: "an integer of at least 1", "one of always, cache_aware"."""
    if is_table(item.type) or is_mapping(item.type):
        return "a table"
    if is_union(item.type):
        return " or ".join(expected(item._replace(type=one)) for one in get_args(item.type))
    if item.type is Any:
        return "a table"
    if is_list(item.type):
        return f"a list of {_PLURALS.get(item_type(item.type), 'values')}"
    if allowed := choices(item.type):
        return f"one of {', '.join(allowed)}"
    what, low, high = _TYPES[item.type], item.low, item.high
    if low is not None and high is not None:
        return f"{what} from {low} to {high}"
    if low is not None:
        return f"{what} of at least {low}"
    return what if high is None else f"{what} of at most {high}"


def got(value: Any) -> str:
    """Format a value for an error message: short, on one line, with control characters escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        value = value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."
        return repr(value)
    if isinstance(value, int) and abs(value) >= INT_LIMIT:
        return "a number of more than 64 bits"
    return "null" if value is None else str(value)


def in_toml(value: Any) -> str:
    """Format a value as one line of TOML, which `key=text` accepts too; "" if unset."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{dotted((name,))} = {in_toml(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(in_toml(item) for item in value)}]"
    if isinstance(value, str):
        return quoted(value)
    return "" if value is None else json.dumps(value)


def _items(item: Declared, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        _refuse(item, value)
    inner = from_hint(item.name, item_type(item.type))
    try:
        return tuple(from_toml(inner, part) for part in value)
    except MistypedError:
        wrong = next(part for part in value if not _fits(inner, part))
        raise MistypedError(f"expected {expected(item)}, but one item is {got(wrong)}") from None


def _fits(item: Declared, value: Any) -> bool:
    try:
        from_toml(item, value)
    except MistypedError:
        return False
    return True


def _in_bounds(item: Declared, value: Any) -> bool:
    if isinstance(value, str):  # a lone surrogate cannot be written to a file
        return not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, int) and abs(value) >= INT_LIMIT:
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return (item.low is None or value >= item.low) and (item.high is None or value <= item.high)


def _refuse(item: Declared, value: Any) -> NoReturn:
    raise MistypedError(f"expected {expected(item)}, got {got(value)}")
