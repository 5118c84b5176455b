"""The base of all sections of the configuration."""

from dataclasses import Field, fields
from typing import Any, ClassVar


class Section:
    """Equality and `repr` for the sections, written once.

    A dataclass compiles its own for each class, which doubles the import time of `options`, and every start waits
    for it.
    """

    __slots__ = ()
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
