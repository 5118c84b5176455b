"""The keys that a class of options declares: name, type, documentation, bounds and default.

A class of options is a frozen dataclass. In `Annotated[float, "Share of the window.", (0, 1)]`, the text documents
the field and the pair sets its bounds, None for no bound.
"""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from prunecli.util.by_project import Allowed, ByProject, Refused

Key = tuple[str, ...]
"""The parts of a dotted key: ("pruning", "pi", "prune_protect")."""


class Declared(NamedTuple):
    """One field. `type` is without Annotated and None; `optional`: None (unset) is allowed; `by_project` is None if
    undeclared."""

    name: str
    type: Any
    doc: str = ""
    low: float | None = None
    high: float | None = None
    optional: bool = False
    default: Any = MISSING
    by_project: ByProject | None = None


@cache
def declared(options: type) -> Mapping[str, Declared]:
    hints = get_type_hints(options, include_extras=True)
    found = {}
    for item in fields(options):
        default = item.default if item.default_factory is MISSING else item.default_factory()
        found[item.name] = from_hint(item.name, hints[item.name], default)
    return found


def from_hint(name: str, hint: Any, default: Any = MISSING) -> Declared:
    doc, bounds, optional = "", (None, None), False
    by_project: ByProject | None = None
    while True:
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            doc = next((extra for extra in extras if isinstance(extra, str)), doc)
            bounds = next((extra for extra in extras if isinstance(extra, tuple)), bounds)
            by_project = next((extra for extra in extras if isinstance(extra, Allowed | Refused)), by_project)
        elif is_union(hint) and type(None) in get_args(hint):
            optional = True
            left = tuple(part for part in get_args(hint) if part is not type(None))
            hint = reduce(or_, left)
        else:
            return Declared(name, hint, doc, *bounds, optional, default, by_project)


def is_union(hint: Any) -> bool:
    """Return whether this is a union, written as `A | B` or as `Union[A, B]`."""
    return get_origin(hint) in (Union, types.UnionType)


def is_table(hint: Any) -> bool:
    return is_dataclass(hint)


def is_mapping(hint: Any) -> bool:
    """Return whether this type is a table of free keys, such as `Mapping[str, str]`."""
    return get_origin(hint) in (Mapping, dict)


def is_list(hint: Any) -> bool:
    """Return whether this type is a list of one item type, such as `tuple[str, ...]`."""
    return get_origin(hint) in (tuple, list)


def choices(hint: Any) -> tuple[str, ...]:
    """Return the values of an enumeration; empty for any other type."""
    return get_args(hint) if get_origin(hint) is Literal else ()


def item_type(hint: Any) -> Any:
    """Return the type of a list's items or of a free table's values."""
    return get_args(hint)[1 if is_mapping(hint) else 0]
