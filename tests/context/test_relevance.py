"""Vectors of texts, and the choice that a walk over all pairs would make."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.context.strategies.semantic import (
    MOST_SHARED,
    MOST_TERMS,
    DenseLikeness,
    SparseLikeness,
    mmr,
    terms,
    tfidf,
    unit,
)


def test_terms_are_words_of_two_characters_or_more_case_aside() -> None:
    assert terms("Größe: a_b, x, PARSER parser() 12") == {"größe": 1, "a_b": 1, "parser": 2, "12": 1}


def test_a_rare_term_weighs_more_and_one_that_all_have_nothing() -> None:
    first, second, third = tfidf([terms("all rare some"), terms("all some"), terms("all")])
    assert first["rare"] == pytest.approx(math.log(3) / math.hypot(math.log(3), math.log(1.5)))
    assert set(first) == {"rare", "some"}
    assert (second, third) == ({"some": 1.0}, {})


def test_a_term_that_comes_often_weighs_more_but_less_than_so_many_times() -> None:
    (vector, _) = tfidf([terms("one one one two"), terms("")])
    assert vector["one"] / vector["two"] == pytest.approx(1 + math.log(3))


def test_only_the_weightiest_terms_of_a_text_are_kept() -> None:
    many = " ".join(f"term{n} " * (1 + (n >= 10)) for n in range(MOST_TERMS + 10))
    vector, _ = tfidf([terms(many), terms("")])
    assert set(vector) == {f"term{n}" for n in range(10, MOST_TERMS + 10)}


def test_a_term_that_too_many_share_is_left_out_where_texts_are_compared() -> None:
    vectors = {key: {"same": 1.0} for key in range(MOST_SHARED + 1)}
    likeness = SparseLikeness({"same": 1.0}, vectors)
    likeness.take(0)
    assert (likeness.to_query(1), likeness.to_taken(1)) == (1.0, 0.0)
    fewer = SparseLikeness({}, {key: {"same": 1.0} for key in range(MOST_SHARED)})
    fewer.take(0)
    assert fewer.to_taken(1) == 1.0


def test_a_unit_vector_has_length_one_and_zero_stays_zero() -> None:
    assert unit([3, 4]) == (0.6, 0.8)
    assert unit([0, 0]) == (0.0, 0.0)


VECTORS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12)
"""Whole numbers, so that equal values are equal whatever the order of adding."""


@given(
    VECTORS,
    st.lists(st.integers(0, 9), min_size=12, max_size=12),
    st.integers(0, 40),
    st.sets(st.integers(0, 3)),
)
def test_the_choice_is_that_of_comparing_everything_each_time(
    given_: list[tuple[int, ...]], costs: list[int], budget: int, pinned: set[int]
) -> None:
    query, *rest = given_
    vectors = dict(enumerate(rest))
    taken = sorted(pinned & vectors.keys())
    keys = [key for key in vectors if key not in taken]

    def dot(first: tuple[int, ...], second: tuple[int, ...]) -> int:
        return sum(a * b for a, b in zip(first, second, strict=True))

    def value(key: int) -> float:
        most = max([0, *(dot(vectors[key], vectors[other]) for other in (*taken, *chosen))])
        return 0.5 * dot(query, vectors[key]) - 0.5 * most

    chosen: list[int] = []
    left, room = list(keys), budget
    while left := [key for key in left if costs[key] <= room]:
        best = max(left, key=lambda key: (value(key), key))
        chosen.append(best)
        left.remove(best)
        room -= costs[best]

    dense = {key: tuple(map(float, vector)) for key, vector in vectors.items()}
    sparse = {
        key: {axis: float(n) for axis, n in zip("abc", v, strict=True) if n} for key, v in vectors.items()
    }
    asked = (costs.__getitem__, budget, taken, 0.5)
    assert mmr(keys, DenseLikeness(tuple(map(float, query)), dense), *asked) == chosen
    sparse_query = {axis: float(n) for axis, n in zip("abc", query, strict=True) if n}
    assert mmr(keys, SparseLikeness(sparse_query, sparse), *asked) == chosen
