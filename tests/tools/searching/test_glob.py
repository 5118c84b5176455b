"""What a glob of the model matches."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.searching.glob import PathGlob, without_backtracking


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", "src/a.py", ".py"], ["a.pyc", "a/b.py/c"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/test_*", ["test_a", "x/test_a"], ["atest_"]),
        ("**", ["a", "a/b"], []),
        ("src/**", ["src/a", "src/a/b"], ["src", "a"]),
        ("./src/*", ["src/a"], ["a"]),
        ("/a", ["a"], ["b/a"]),
        ("*.{ts,tsx}", ["a.ts", "b/c.tsx"], ["a.t", "a.{ts,tsx}"]),
        ("{a,b/c}.{x,y{1,2}}", ["a.x", "b/c.y2"], ["b.x", "a.y"]),
        ("[ab]?", ["ax", "by"], ["cx", "a", "a/"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("[a-c]", ["b"], ["d", "-"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[-a]", ["-", "a"], ["b"]),
        ("[z-a]", [], ["z", "a", "-"]),
        ("[", ["["], ["a"]),
        ("a[b", ["a[b"], ["ab"]),
        ("\\*", ["*"], ["a"]),
        ("{a", ["{a"], ["a"]),
        ("a}b", ["a}b"], ["ab"]),
        ("!*.py", ["a.txt"], ["a.py"]),
        ("a\nb", ["a\nb"], ["a b"]),
        ("src/", ["src", "x/src"], ["source"]),
    ],
)
def test_globs(glob: str, yes: list[str], no: list[str]) -> None:
    matches = PathGlob(glob).matches
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


def test_a_brace_that_is_closed_only_in_brackets_is_a_plain_one() -> None:
    assert PathGlob("{[}]").matches("{}")
    assert not PathGlob("{[}]").matches("{")


@given(st.text(max_size=12), st.text(max_size=12))
def test_every_text_is_a_glob(glob: str, path: str) -> None:
    assert PathGlob(glob).matches(path) in (True, False)


@given(st.text(st.sampled_from("ab*?[]{},!-^/\\"), max_size=10), st.text("ab/", max_size=6))
def test_every_odd_text_is_a_glob(glob: str, path: str) -> None:
    assert PathGlob(glob).matches(path) in (True, False)


def test_stars_match_the_same_with_and_without_backtracking() -> None:
    texts = ["".join(text) for size in range(6) for text in product("ab", repeat=size)]
    for parts in product(("a", "b", ".*"), repeat=5):
        slow, fast = re.compile("".join(parts)), re.compile(without_backtracking(parts, ".*"))
        assert [text for text in texts if bool(slow.fullmatch(text)) != bool(fast.fullmatch(text))] == []


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 30 + "b", "a" * 250),
        ("**/a/" * 30 + "b", "a/" * 2000),
        ("{*a,*aa}" * 7 + "b", "a" * 250),
    ],
)
def test_many_stars_are_matched_at_once(glob: str, path: str) -> None:
    assert not PathGlob(glob).matches(path)


def test_braces_that_stand_for_too_many_globs_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 256"):
        PathGlob("{a,b}" * 9)
