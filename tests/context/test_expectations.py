"""The numbers behind caps and prunes are checked before they are used."""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from prunecli.context.expectations import Expectations
from prunecli.features.replay.fit import fitted
from prunecli.model.requests import TTL_MS

SHIPPED = Path(__file__).parents[2] / "prunecli" / "data" / "expectations.json"


def changed(where: str, value: Any) -> dict[str, Any]:
    """The shipped numbers with one changed."""
    numbers: dict[str, Any] = json.loads(SHIPPED.read_text())
    *path, last = where.split(".")
    inside: Any = numbers
    for key in path:
        inside = inside[key]
    inside[last] = value
    return numbers


@pytest.mark.parametrize(
    ("where", "value", "why"),
    [
        ("page", 0, "page: expected a whole number of at least 1"),
        ("page", True, "page: expected a whole number"),
        ("page", 4000.5, "page: expected a whole number"),
        ("least_held", -1, "least_held: expected a whole number of at least 0"),
        ("min_age", -3, "min_age: expected"),
        ("reply_tokens", "150", "reply_tokens: expected"),
        ("min_batch", -1, "min_batch: expected"),
        ("warm_margin", -0.5, "warm_margin: expected a number from 0 on"),
        ("warm_margin", [3], "warm_margin: expected a number, or one for"),
        ("superseded", 1.5, "superseded: expected a number from 0 to 1"),
        ("further_requests", [60, 5], "from low to high"),
        ("caps.normal.bash", -1, "caps: bash: expected"),
        ("caps.strong.read", "1000", "caps: read: expected"),
        ("quoted.ages", [], "quoted: expected increasing ages"),
        ("quoted.ages", [2, 3, 5, 10, 20, 20], "quoted: expected increasing ages"),
        ("quoted.read", [2, 0, 0, 0, 0, 0], "read: expected a number from 0 to 1"),
        ("quoted.bash", [float("nan")] * 6, "bash: expected a number"),
    ],
)
def test_a_number_outside_of_its_range_is_named(where: str, value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Expectations.of(changed(where, value))


def test_numbers_fitted_before_warm_prunes_allow_none() -> None:
    numbers = json.loads(SHIPPED.read_text())
    del numbers["min_batch"], numbers["warm_margin"]
    older = Expectations.of(numbers)
    assert (older.min_batch, older.warm_margin) == (0, (inf, inf))
    assert "warm_margin" not in fitted([], older)


@pytest.mark.parametrize(("margin", "margins"), [([3, 2], (3, 2)), (2, (2, 2))])
def test_the_margin_of_a_warm_prune_depends_on_the_lifetime(
    margin: object, margins: tuple[float, float]
) -> None:
    numbers = Expectations.of(changed("warm_margin", margin))
    assert (numbers.margin(TTL_MS["5m"]), numbers.margin(TTL_MS["1h"])) == margins
    assert fitted([], numbers)["warm_margin"] == list(margins)


def test_no_cap_is_valid() -> None:
    assert Expectations.of(changed("caps.normal.bash", 0)).caps["normal"].of("bash") == 0
