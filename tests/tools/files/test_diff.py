"""The diff that the screen shows."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files.diff import MAX_LINES, change

texts = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\x0b\u2028\n"]), max_size=14).map("".join)


@given(texts, texts, st.sampled_from(["", "tail"]))
def test_the_counts_are_those_of_the_diff(old: str, new: str, end: str) -> None:
    made = change(old, new + end)
    lines = made.diff.split("\n")
    assert made.added == sum(line.startswith("+") for line in lines)
    assert made.removed == sum(line.startswith("-") for line in lines)
    assert bool(made.diff) == (old != new + end)


@given(texts, texts, st.sampled_from(["", "tail"]), st.sampled_from(["", "tail"]))
def test_applying_the_diff_gives_the_new_text(old: str, new: str, old_end: str, new_end: str) -> None:
    old, new = old + old_end, new + new_end
    made = change(old, new)
    assert applied(old, made.diff) == new


def applied(old: str, diff: str) -> str:
    """The text after a diff whose context is taken at its word."""
    lines = old.split("\n")
    source = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    at = 0
    hunk = diff.split("\n") if diff else []
    for index, line in enumerate(hunk):
        bare = hunk[index + 1 : index + 2] == ["\\ No newline at end of file"]
        text = line[1:] + ("" if bare else "\n")
        if line.startswith("@@"):
            start, _, length = line.split(" ")[1][1:].partition(",")
            first = int(start) - (length != "0")
            result += source[at:first]
            at = first
        elif line.startswith(" "):
            assert source[at] == text
            result.append(text)
            at += 1
        elif line.startswith("-"):
            assert source[at] == text
            at += 1
        elif line.startswith("+"):
            result.append(text)
    return "".join(result + source[at:])


def test_the_first_changed_line_is_named() -> None:
    made = change("a\nb\nc\n", "a\nX\nc\n")
    assert (made.first_line, made.added, made.removed) == (2, 1, 1)
    assert made.diff == "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c"


def test_a_huge_change_is_cut_and_not_compared_line_by_line() -> None:
    made = change("".join(f"{n}\n" for n in range(50_000)), "".join(f"{n} x\n" for n in range(50_000)))
    assert (made.added, made.removed) == (50_000, 50_000)
    assert made.diff.count("\n") == MAX_LINES
    assert made.diff.endswith("more lines")


def test_a_small_change_in_a_huge_text_is_a_small_diff() -> None:
    old = "".join(f"{n}\n" for n in range(200_000))
    made = change(old, old.replace("\n150000\n", "\nx\n"))
    assert made.first_line == 150_001
    assert made.diff.count("\n") == 8


def test_patch_takes_the_diff(tmp_path: Path) -> None:
    if shutil.which("patch") is None:
        pytest.skip("needs patch")
    old, new = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"
    (tmp_path / "f").write_text(old)
    given = f"--- f\n+++ f\n{change(old, new).diff}\n"
    subprocess.run(["patch", "-s", "f"], cwd=tmp_path, input=given, text=True, check=True)
    assert (tmp_path / "f").read_text() == new
