"""The numbers behind `auto` and spill, fitted to what sessions show."""

from dataclasses import replace

from prunecli.context.expectations import Expectations
from prunecli.features.replay.fit import Cut, FitData, Seen, fitted
from prunecli.providers.models import load_expectations
from prunecli.util.paths import PACKAGE

SHIPPED = load_expectations(PACKAGE / "data")


def seen(group: str, quoted: int, *, last: int = 50, replaced: int = -1, count: int = 50) -> list[Seen]:
    return [Seen(group, last, quoted, replaced)] * count  # type: ignore[arg-type]


def test_without_evidence_everything_stays_as_it_is() -> None:
    assert Expectations.of(fitted([], SHIPPED)) == SHIPPED
    assert Expectations.of(fitted([FitData(seen("read", 5, count=3))], SHIPPED)) == SHIPPED


def test_the_probability_is_the_part_that_was_quoted_at_that_age_or_later() -> None:
    results = [*seen("read", 10, count=40), *seen("read", -1, count=60), *seen("bash", -1, last=4)]
    found = fitted([FitData(results[:70]), FitData(results[70:])], SHIPPED)["quoted"]
    assert found["ages"] == [2, 3, 5, 10, 20, 40]
    assert found["read"] == [0.4, 0.4, 0.4, 0.4, 0.0, 0.0]
    assert found["bash"][:2] == [0.0, 0.0]


def test_a_result_that_was_replaced_counts_for_itself() -> None:
    results = [*seen("read", 10, replaced=4, count=40), *seen("read", 3, replaced=4, count=60)]
    found = fitted([FitData(results)], SHIPPED)
    assert found["superseded"] == 0.4
    assert found["quoted"]["read"][:2] == [1.0, 1.0]


def test_the_bounds_are_those_nearest_to_what_followed() -> None:
    cold = [(1, 12)] * 20 + [(300, 20)] * 20
    assert fitted([FitData(cold=cold)], SHIPPED)["further_requests"] == [12, 20]


def test_an_edit_that_misses_its_text_counts_against_a_normal_cap_only() -> None:
    before = replace(SHIPPED, caps={level: replace(caps, bash=2000) for level, caps in SHIPPED.caps.items()})
    cuts = {("bash", 1000): Cut(3.0, 4), ("bash", 8000): Cut(2.0, 0), ("read", 1000): Cut(-1.0, 0)}
    each = [FitData(cuts=cuts, bill=100.0, requests=1000)] * 5  # type: ignore[arg-type]
    found = fitted(each, before)["caps"]
    assert found["strong"]["bash"] == 1000
    assert found["normal"]["bash"] == 8000
    assert found["normal"]["read"] == SHIPPED.caps["normal"].read


def test_one_large_session_does_not_change_a_cap() -> None:
    large = FitData(cuts={("bash", 8000): Cut(50.0)}, bill=100.0, requests=1000)
    small = FitData(cuts={("bash", 8000): Cut(0.1)}, bill=1.0, requests=100)
    assert fitted([large, *[small] * 9], SHIPPED)["caps"]["normal"]["bash"] == 1000
    assert fitted([small] * 9, SHIPPED)["caps"]["normal"]["bash"] == 8000


def test_a_cap_is_compared_with_the_one_in_effect() -> None:
    cuts = {("bash", 1000): Cut(3.0), ("bash", 8000): Cut(2.0)}
    assert fitted([FitData(cuts=cuts)] * 9, SHIPPED)["caps"]["normal"]["bash"] == 1000  # type: ignore[arg-type]
