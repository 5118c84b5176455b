"""The keys that a class of options declares: name, type, documentation, bounds and default.

A class of options is a frozen dataclass. In `Annotated[float, "Share of the window.", (0, 1)]`, the text documents
the field and the pair sets its bounds, None for no bound.
"""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from prunecli.by_project import Allowed, ByProject, Refused

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


class Section:
    """Equality and `repr` for the sections, written once.

    A dataclass compiles its own for each class, which doubles the import time of `options` and so delays every
    startup.
    """

    __slots__ = ()
    refused: ClassVar[str] = ""
    """Why no project may set anything in this table; "" if its fields decide."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    """Set on every subclass, because each is a dataclass."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(type(self))  # a table inside is not hashable; equal values still have equal hashes

    def __repr__(self) -> str:
        names = (item.name for item in fields(self))
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(names, self._values(), strict=True))})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, item.name) for item in fields(self))
