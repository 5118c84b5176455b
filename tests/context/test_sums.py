"""Sums and dips agree with adding up."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from prunecli.context.sums import Dips, Sums

CHANGES = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=30)
SIGNED = st.lists(st.tuples(st.integers(0, 39), st.integers(-9, 9)), max_size=30)


@given(st.lists(st.integers(0, 9), max_size=40), CHANGES, st.integers(0, 41), st.integers(1, 60))
def test_sums_are_those_of_the_slots_and_searches_find_the_slot(
    values: list[int], changes: list[tuple[int, int]], stop: int, amount: int
) -> None:
    sums = Sums()
    for value in values:
        sums.append(value)
    for slot, value in changes:
        if slot < len(values):
            sums[slot] = values[slot] = value
    stop = min(stop, len(values))
    assert [sums[slot] for slot in range(len(sums))] == values
    assert [sums.before(end) for end in range(len(values) + 1)] == [0, *accumulate(values)]
    assert all(sums.between(start, stop) == sum(values[start:stop]) for start in range(len(values) + 1))
    found = [slot for slot in range(stop) if sum(values[slot:stop]) >= amount]
    assert sums.reaching(stop, amount) == max(found, default=-1)
    later = [slot for slot in range(stop, len(values)) if values[slot]]
    assert sums.following(stop) == min(later, default=len(values))


def test_sums_may_be_of_negative_numbers() -> None:
    sums = Sums()
    for value in (3, -5, 4):
        sums.append(value)
    sums[0] = -1
    assert [sums.before(end) for end in range(4)] == [0, -1, -6, -2]


@given(st.lists(st.integers(-9, 9), max_size=40), st.lists(SIGNED, max_size=4), st.integers(-60, 20))
def test_the_first_dip_below_a_limit_is_found_whatever_changed_since(
    values: list[int], rounds: list[list[tuple[int, int]]], limit: int
) -> None:
    dips = Dips()
    for value in values:
        dips.append(value)
    for changes in [[], *rounds]:
        for slot, value in changes:
            if slot < len(values):
                dips[slot] = values[slot] = value
            else:
                dips.append(value)
                values.append(value)
        below = [slot for slot, total in enumerate(accumulate(values)) if total < limit]
        assert dips.first_below(limit) == min(below, default=-1)
        assert len(dips) == len(values)
