"""`@frozen` gives what the standard library's frozen dataclasses with slots give."""

import copy
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, get_type_hints

import pytest

from prunecli.util.frozen import frozen

Decorator = Callable[[type], type]


def made(decorate: Decorator) -> Any:
    """A class with every kind of field."""

    class Sample:
        """A sample."""

        name: str
        size: int = 3
        tags: Mapping[str, int] = field(default_factory=dict, compare=False)
        secret: str = field(default="s", repr=False)
        double: int = field(init=False)
        kept: list[int] = field(default_factory=list, init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", 2 * self.size)

    return decorate(Sample)


Ours, Standard = made(frozen), made(dataclass(frozen=True, slots=True))


@frozen
class Empty:
    """A value without fields."""


@frozen
class Point:
    """A value that pickle can find."""

    x: int
    y: int = 0


@frozen
class Point3(Point):
    """A value with the fields of another."""

    z: int = 0

    def __repr__(self) -> str:
        return f"<{self.x}, {self.y}, {self.z}>"


@pytest.mark.parametrize("given", [("a",), ("a", 4), ("a", 4, {"t": 1}, "other")])
def test_a_value_is_made_shown_and_taken_apart_as_a_standard_one(given: tuple[Any, ...]) -> None:
    ours, standard = Ours(*given), Standard(*given)
    assert repr(ours) == repr(standard)
    assert asdict(ours) == asdict(standard)
    assert ours.__match_args__ == standard.__match_args__
    assert [*inspect.signature(Ours).parameters] == [*inspect.signature(Standard).parameters]
    assert get_type_hints(Ours.__init__) == get_type_hints(Standard.__init__)
    assert [(one.name, one.default) for one in fields(ours)] == [
        (one.name, one.default) for one in fields(standard)
    ]


def test_values_are_equal_if_their_class_and_compared_fields_are() -> None:
    assert Ours("a", tags={"t": 1}) == Ours("a")
    assert hash(Ours("a", tags={"t": 1})) == hash(Ours("a"))
    assert Ours("a") != Ours("b")
    assert Ours("a") != Standard("a")
    assert Point(1) != Point3(1)
    assert len({Point(1), Point(1, 0), Point(2), Empty(), Empty()}) == 3


def test_no_field_can_be_set_or_deleted() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        point.other = 2  # type: ignore[attr-defined]


def test_a_changed_copy_is_a_new_value() -> None:
    one = Ours("a", tags={"t": 1})
    assert replace(one, size=5).double == 10
    assert one.double == 6
    assert Ours("a").tags is not Ours("a").tags


def test_values_survive_pickle_and_copy() -> None:
    for one in (Point(1, 2), Point3(1, 2, 3), Empty()):
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.deepcopy(one) == one
    assert repr(Point3(1, 2, 3)) == "<1, 2, 3>"
    assert Point3(1) == Point3(1, 0, 0)


def test_a_field_without_a_default_is_required() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Ours()
