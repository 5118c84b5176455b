"""How figures are written."""

import pytest

from prunecli.util.figures import age, budget, money, share, short


@pytest.mark.parametrize(
    ("tokens", "written"),
    [(0, "0"), (812, "812"), (45_200, "45.2K"), (25_000, "25.0K"), (1_300_000, "1.3M"), (-4_100, "-4.1K")],
)
def test_tokens_are_short(tokens: int, written: str) -> None:
    assert short(tokens) == written


@pytest.mark.parametrize(
    ("tokens", "written"), [(40_000, "40K"), (12_500, "12.5K"), (1_000_000, "1M"), (500, "500")]
)
def test_a_size_that_was_chosen_is_written_as_one_would(tokens: int, written: str) -> None:
    assert budget(tokens) == written


@pytest.mark.parametrize(
    ("usd", "written"),
    [
        (0, "$0.00"),
        (0.00004, "$0.00"),
        (0.42, "$0.42"),
        (0.0004, "$0.0004"),
        (12.345, "$12.35"),
        (1_234.5, "$1,234.50"),
        (-0.42, "-$0.42"),
        (-0.00001, "$0.00"),
    ],
)
def test_money_has_the_digits_that_tell_something(usd: float, written: str) -> None:
    assert money(usd) == written


def test_shares_are_whole_percent_and_ages_are_rounded_down() -> None:
    assert share(0.384) == "38%"
    assert [age(ms) for ms in (-5, 59_000, 180_000, 7_200_000, 90_000_000)] == [
        "now", "now", "3m ago", "2h ago", "1d ago",
    ]  # fmt: skip
