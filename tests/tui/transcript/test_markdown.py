"""How Markdown looks."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.front.presentation.entries import Assistant
from prunecli.tui.transcript.document import Document
from tests.tui.transcript.showing import DRESS, MARKDOWN, blocks, document, rows, texts
from tests.tui.transcript.test_splitter import documents


def shown(text: str, width: int = 60) -> list[str]:
    return texts(document(Assistant(text), width=width))


def streamed(text: str, sizes: list[int]) -> Document:
    """A document into which a text came in deltas of these sizes, again and again, drawn after each."""
    made = document()
    key = made.append(Assistant(streaming=True))
    place = number = 0
    while place < len(text):
        size = sizes[number % len(sizes)]
        made.feed(key, text[place : place + size])
        made.flush()
        rows(made)
        place, number = place + size, number + 1
    made.finish(key)
    return made


def test_a_document_looks_as_it_should():
    assert shown(MARKDOWN) == [
        "Title",
        "Intro right below the heading, on two lines.",
        "",
        "A paragraph with bold, italic, code, gone and a link",
        "(https://example.com).",
        "• one",
        "• two goes on",
        "",
        "  and has a second paragraph",
        "  • nested",
        "",
        "1. First:",
        '     echo "three spaces in"',
        "",
        "2. Second",
        "",
        "▎ quoted text",
        "▎ • with a list",
        "",
        "name      │ value",
        "──────────┼──────",
        "a         │     1",
        "long name │  漢字",
        "",
        "  def f(x):",
        "      '''a string",
        "      over lines'''",
        "      return x",
        "",
        "  no language",
        "",
        "Last line with a reference (https://example.com/target) and",
        "👩\u200d👧.",
    ]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_a_streamed_document_looks_like_a_whole_one(sizes: list[int]):
    text = MARKDOWN * 4  # longer than what is kept in one block
    assert texts(streamed(text, sizes)) == shown(text)


@settings(max_examples=30, deadline=None)
@given(documents, st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_any_streamed_text_looks_like_a_whole_one(text: str, sizes: list[int]):
    text = text.rstrip()
    assert texts(streamed(text, sizes)) == shown(text)


def test_colors_of_a_streamed_fence_are_those_of_a_whole_one():
    code = "```python\n" + "x = 1\n" * 55 + '"""a string\n' + "over a cut\n" * 20 + '"""\ny = 2\n```\n'
    whole, grown = document(Assistant(code * 3)), streamed(code * 3, [7, 31])
    assert [row.segments for row in rows(grown)] == [row.segments for row in rows(whole)]
    inside = next(row for row in rows(grown) if "over a cut" in row.text and row is not rows(grown)[56])
    assert (
        len({segment.style for segment in inside.segments}) == 2
    )  # margin and string, no names or operators


def test_a_link_shows_where_it_leads():
    assert shown("[safe](javascript:x) <https://a.b> [https://a.b](https://a.b) [me](mailto:me@a.b)") == [
        "[safe](javascript:x) https://a.b https://a.b me",
        "(mailto:me@a.b)",
    ]


def test_nothing_in_a_text_becomes_an_action_or_markup():
    text = "[@click=app.quit]x[/] [bold]y[/bold] <b>z</b>"
    assert shown(text) == [text]
    for row in rows(document(Assistant("[a](http://b) `c`"))):
        assert all(segment.style is None or not segment.style.meta for segment in row.segments)
        assert all(segment.style is None or segment.style.link is None for segment in row.segments)


def test_a_definition_that_comes_late_makes_links_of_what_stands_above():
    made = document()
    key = made.append(Assistant(streaming=True))
    made.feed(key, "see [it][x]\n\nmore\n\n")
    made.flush()
    assert texts(made)[0] == "see [it][x]"
    made.feed(key, "[x]: http://y\n\n")
    made.flush()
    assert texts(made)[0] == "see it (http://y)"


def test_wide_tables_wrap_their_cells_and_very_narrow_ones_become_lines():
    table = "| one | two |\n|---|---|\n| " + "word " * 20 + "| x |\n"
    assert all(len(text) <= 30 for text in shown(table, 30))
    assert shown(table, 30)[0].startswith("one")
    assert shown("| one | two | three |\n|---|---|---|\n| a | b | c |\n", 12) == [
        "one: a",
        "two: b",
        "three: c",
    ]


def test_a_continued_table_keeps_its_columns_aligned():
    lines = [f"| {'x' * (n // 50 + 1)} | {n} |" for n in range(1500)]
    made = document(Assistant("| a | b |\n|---|---|\n" + "\n".join(lines)), width=80)
    rows(made)  # the columns grow while the pieces are laid out
    bars = {row.text.index("│") for row in rows(made) if "│" in row.text}
    assert len(blocks(made)) > 1
    assert len(bars) == 1


def test_ordered_lists_go_on_counting_after_a_fence():
    assert shown("1. a\n   ```\n   x\n   ```\n2. b\n") == ["1. a", "     x", "2. b"]


def test_prose_keeps_to_a_readable_width_and_code_does_not():
    made = document(Assistant("word " * 60 + "\n\n```\n" + "c" * 150 + "\n```"), width=180)
    widths = [row.cells for row in rows(made)]
    assert max(widths[:-1]) <= 110
    assert widths[-1] == 152


def test_text_of_any_kind_can_be_laid_out_at_any_width():
    for width in (1, 2, 3, 7, 500):
        made = document(Assistant(MARKDOWN * 3), width=width)
        for row in rows(made):
            assert row.strip(width, DRESS).cell_length == width


@pytest.mark.slow
def test_huge_single_blocks_are_laid_out_in_pieces():
    """A line of a megabyte."""
    randomly = random.Random(1)
    words = " ".join("".join(randomly.choices("abcdefgh", k=5)) for _ in range(40_000))
    for text in (words, f"```\n{words}\n```", f"- {words}", "你" * 200_000, f"```\n{'z' * 200_000}\n```"):
        made = document(Assistant(text))
        assert len(blocks(made)) > 20
        assert max(len(made.layout.rows(block)) for block in blocks(made)) < 400


def test_what_the_parser_would_leave_out_is_shown_as_it_is():
    """Beyond a depth of nesting markdown-it drops text without a word."""
    for deep in ("> " * 30 + "hidden?", "- " * 40 + "hidden?", "1. " * 300 + "hidden?"):
        assert "hidden?" in "".join("".join(shown(deep)).split())
    nested = "\n".join("  " * depth + f"- item {depth}" for depth in range(45))
    assert all(f"item {depth}" in "\n".join(shown(nested, 200)) for depth in range(39))
    assert "item44" in "".join("".join(shown(nested, 200)).split())


def test_deep_nesting_leaves_room_for_text_on_a_narrow_screen():
    assert shown("- " * 15 + "some words", 30)[-1].endswith("some words")


def test_a_fence_of_which_nothing_came_is_seen_itself():
    assert shown("```everything in one line") == ["  ```everything in one line"]


def test_text_made_to_take_the_parsers_time_is_shown_plain():
    text = "[a][" * 1500
    assert "".join(shown(text)) == text
