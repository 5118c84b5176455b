"""Fuzzy matching."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prunecli.front.presentation.fuzzy import best, spans

NAMES = ["src/parser.py", "src/lexer.py", "tests/test_parser.py", "README.md", "src/", "docs/spare.md"]


def test_the_whole_name_comes_before_its_beginning_before_its_inside() -> None:
    assert best("prune", ["prune-stats", "unpruned", "prune", "x-prune"]) == [
        "prune",
        "prune-stats",
        "x-prune",
        "unpruned",
    ]


def test_a_name_in_the_last_part_of_a_path_counts_more_than_one_in_its_folders() -> None:
    assert best("parser", ["parser/deep/x.py", "src/parser.py"])[0] == "src/parser.py"


def test_letters_in_order_match_and_others_do_not() -> None:
    assert best("tpar", NAMES) == ["tests/test_parser.py"]
    assert best("zzz", NAMES) == []


def test_capitals_do_not_count() -> None:
    assert best("readme", NAMES) == ["README.md"]


def test_nothing_typed_gives_the_names_in_their_order() -> None:
    assert best("", NAMES, 2) == NAMES[:2]


def test_the_places_of_the_letters_are_given_together_where_they_stand_together() -> None:
    assert spans("par", "src/parser.py") == (4, 5, 6)
    assert spans("spr", "src/parser.py") == (0, 4, 6)
    assert spans("xyz", "src/parser.py") is None


@given(st.text(max_size=6), st.lists(st.text(max_size=20), max_size=20))
def test_what_is_given_matches_and_its_places_hold_the_letters(query: str, names: list[str]) -> None:
    for name in best(query, names):
        places = spans(query, name)
        assert places is not None or len(name.lower()) != len(name) or len(query.lower()) != len(query)
        if places and len(places) == len(query.lower()):
            assert "".join(name.lower()[place] for place in places) == query.lower()


def test_accents_are_found_in_either_form_and_without_them() -> None:
    names = [unicodedata.normalize(form, "größen.md") for form in ("NFC", "NFD")]  # type: ignore[arg-type]
    for query in (*(name[:4] for name in names), "gro", "Größen"):
        assert sorted(best(query, names)) == sorted(names)
        assert all(spans(query, name) is not None for name in names)
    assert spans("ö", "größen.md") == ()
    assert best("grä", names) == []
