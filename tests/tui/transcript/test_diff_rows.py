"""How changes of files are drawn."""

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from prunecli.front.presentation.entries import Diff, ToolCall, ToolState
from prunecli.tui.transcript.diff_rows import DiffLine, diff_rows, parse
from prunecli.tui.transcript.markdown import Sheet
from tests.tui.transcript.showing import INKS, document, item, rows, texts

SHEET = Sheet(60, 110, INKS)
BEFORE = "a\nb\nc\nd\ne\nf\n"
AFTER = "a\nb\nC\nd\ne\nf\ng\n"
lines_of_text = st.lists(st.sampled_from(["a", "b", "-- x", "++ y", "", "@@", "é"]), max_size=12)


def diff_of(before: str, after: str, path: str = "", context: int = 3) -> Diff:
    lines = unified_diff(before.splitlines(), after.splitlines(), n=context, lineterm="")
    return Diff("\n".join(list(lines)[2:]), path)


def test_lines_are_numbered_in_the_file_they_are_from():
    assert parse(diff_of(BEFORE, AFTER, context=1).text) == [
        DiffLine(" ", 2, "b"),
        DiffLine("-", 3, "c"),
        DiffLine("+", 3, "C"),
        DiffLine(" ", 4, "d"),
        DiffLine("@", 6, ""),
        DiffLine(" ", 6, "f"),
        DiffLine("+", 7, "g"),
    ]


def test_headers_of_git_are_left_out():
    head = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n"
    assert parse(f"{head}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n") == [
        DiffLine("-", 1, "a"),
        DiffLine("+", 1, "b"),
        DiffLine("\\", 2, "No newline at end of file"),
    ]


def test_a_last_line_without_a_line_feed_is_said_to_be_one_and_compared_like_any_other():
    word = "\\ No newline at end of file"
    made = diff_rows(parse(f"@@ -1 +1 @@\n-value = old(1)\n{word}\n+value = new(1)"), "x", SHEET)
    assert [row.text.strip() for row in made] == [
        "1 - value = old(1)",
        "No newline at end of file",
        "1 + value = new(1)",
    ]
    marked = [s.text for s in made[2].segments if s.style and s.style.bgcolor == INKS.added_strong.bgcolor]
    assert marked == ["new"]


def test_a_removed_line_that_looks_like_a_header_stays():
    assert parse("@@ -1,2 +1 @@\n--- x\n a") == [DiffLine("-", 1, "-- x"), DiffLine(" ", 1, "a")]


@given(lines_of_text, lines_of_text)
def test_the_new_text_can_be_read_off_the_diff(old: list[str], new: list[str]):
    diff = diff_of("\n".join(old), "\n".join(new), context=50)
    lines = parse(diff.text)
    after = [line.text for line in lines if line.sign in " +"]
    before, expected = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    assert after == (expected if before != expected else [])
    signs = [line.sign for line in lines]
    assert diff.counts() == (signs.count("+"), signs.count("-"))


def test_what_is_no_diff_comes_out_as_text():
    assert parse(" hello\nworld") == [DiffLine(" ", 1, "hello"), DiffLine(" ", 2, "orld")]
    assert parse("") == []


def test_rows_have_numbers_signs_and_colors():
    made = diff_rows(parse(diff_of(BEFORE, AFTER, context=1).text), "x.py", SHEET)
    assert [row.text.rstrip() for row in made] == [
        "  2   b",
        "  3 - c",
        "  3 + C",
        "  4   d",
        "  ⋯",
        "  6   f",
        "  7 + g",
    ]
    assert made[1].fill == INKS.removed
    assert made[2].fill == INKS.added
    assert [row.lead for row in made[:3]] == [" ", "-", "+"]


def test_what_changed_within_a_line_is_marked():
    made = diff_rows(parse("@@ -1 +1 @@\n-return token\n+return self.advance()"), "", SHEET)
    assert not any(s.style.bgcolor == INKS.added_strong.bgcolor for s in made[1].segments if s.style)
    made = diff_rows(parse("@@ -1 +1 @@\n-value = old(1)\n+value = new(1)"), "", SHEET)
    marked = [s.text for s in made[1].segments if s.style and s.style.bgcolor == INKS.added_strong.bgcolor]
    assert marked == ["new"]


def test_a_diff_of_a_call_is_open_and_indented():
    call = ToolCall("edit", "x.py", ToolState.OK, "+1 −1", 3, 40, diff_of("a\n", "b\n", "x.py"))
    assert texts(document(call))[1:] == ["    1 - a", "    1 + b"]


def test_a_large_diff_is_laid_out_in_pieces():
    diff = diff_of("", "\n".join(f"line {n}" for n in range(1000)), "x.txt")
    made = document(ToolCall("write", "x.txt", ToolState.OK, body=diff))
    assert texts(made)[-2:] == ["    12 + line 11", "▸ 988 more lines"]
    made.fold(item(made, 0), False)
    assert len(item(made, 0).blocks) > 5
    assert texts(made)[-1] == "  1000 + line 999"
    assert len(rows(made)) == 1001


def test_hostile_lines_stay_in_their_row():
    made = diff_rows(parse("@@ -1 +1 @@\n-a\tb\x1b[2J\u202e\n+" + "x" * 150), "x.py", SHEET)
    assert "␛" in made[0].text
    assert [row.join for row in made[1:]] == [None, "", ""]
