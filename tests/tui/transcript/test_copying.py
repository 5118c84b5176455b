"""What a selection says: words within an element, Markdown over its borders."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.front.presentation.entries import Assistant, Prompt
from prunecli.tui.transcript.copying import selected_text
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.pointer import EVERYTHING
from prunecli.tui.transcript.selection import Span
from tests.tui.transcript.showing import MARKDOWN, blocks, document, rows, texts

TABLE = "| name | value |\n|:--|--:|\n| **x** | 1 |\n| b | `2` |"
ELEMENTS = [
    *(
        "# A *title*",
        "Some **bold** and\n`code`, cut\\\nhard",
        "- one\n- two **x**\n  1. deep\n\n     more",
        "---",
    ),
    *(
        "> said _so_\n>\n> - item",
        "    indented\n\n    code",
        "```py\nx = 1\n\n\ty()\n```",
        TABLE,
        "word " * 60,
    ),
    *(
        "1. first\n\n   ```\n   in it\n   ```\n2. second",
        "3) *three*\n4) four",
        "- [ ] to do\n\n\n- loose",
        "Setext\n===",
    ),
]


def copied(text: str, width: int = 60) -> str:
    return selected_text(document(Assistant(text), width=width), EVERYTHING._replace(start=0))


def between(made: Document, first: str, last: str) -> str:
    """What is copied from the first of some words to the end of others."""
    (block,) = blocks(made)
    found = [(row, row.body.find(first)) for row in rows(made) if first in row.text]
    row, column = found[0]
    start = block.point + row.place + column
    row, column = next((row, row.body.rfind(last)) for row in reversed(rows(made)) if last in row.text)
    return selected_text(made, Span(start, block.point + row.place + column + len(last)))


def test_a_whole_answer_is_copied_as_it_was_written() -> None:
    text = (
        "Some **bold** words\nand a [link](https://example.com).\n\n1. one `x`\n2. two\n   - *deep*\n\n"
        f"> said _so_\n\n{TABLE}\n\n```python title=x\nf(x)\n\ng()\n```\n\n***\n\nThe end."
    )
    for width in (24, 60, 200):
        assert copied(text, width) == text


def test_headings_and_paragraphs_alone_are_their_words() -> None:
    assert copied("## Some *title*") == "Some title"
    assert copied("Call `make all` **now**.") == "Call make all now."
    assert copied("- run `make all`") == "- run make all"


def test_a_part_of_an_element_is_copied_as_it_is_shown_and_the_others_as_they_were_written() -> None:
    made = document(Assistant("The **first** one\n\nThe **second** one\n\nThe **third** one"))
    assert between(made, "first", "third") == "first one\n\nThe **second** one\n\nThe third"


def test_rows_of_a_table_are_copied_as_its_source_and_words_of_a_cell_as_words() -> None:
    assert copied(TABLE) == TABLE
    assert copied(TABLE, width=8) == TABLE
    made = document(Assistant(TABLE))
    assert between(made, "x", "2") == "| **x** | 1 |\n| b | `2` |"
    assert between(made, "name", "name") == "name"


def test_code_has_its_fence_where_something_else_is_selected_too() -> None:
    text = "Do:\n\n~~~sh\necho 1\necho 2\n~~~"
    made = document(Assistant(text))
    assert between(made, "echo 1", "2") == "echo 1\necho 2"
    assert between(made, "Do", "2") == text
    assert between(made, "Do", "echo 1") == "Do:\n\n~~~sh\necho 1\n~~~"
    assert copied("```python\n" + "x = 1\n" * 200 + "```") == "\n".join(["x = 1"] * 200)
    long = "a\n\n```python\n" + "x = 1\n" * 200 + "```"
    assert copied(long) == long


def test_code_in_a_list_stays_in_it() -> None:
    text = "1. First:\n\n   ```sh\n   echo 1\n     echo 2\n   ```\n\n2. Second"
    made = document(Assistant(text))
    assert between(made, "echo 1", "echo 2") == "echo 1\n  echo 2"
    assert shown(copied(text)) == shown(text)


def test_what_others_than_the_model_wrote_is_never_read_as_markdown() -> None:
    text = "use **this**\n\n| a |\n|---|"
    made = document(Prompt(text), Prompt("two"))
    assert selected_text(made, EVERYTHING._replace(start=0)) == f"{text}\n\ntwo"


def shown(text: str) -> list[str]:
    return [row for row in texts(document(Assistant(text), width=60)) if row.strip()]


def test_the_sample_looks_the_same_when_its_copy_is_shown() -> None:
    assert shown(copied(MARKDOWN)) == shown(MARKDOWN)


@pytest.mark.slow
@given(st.lists(st.sampled_from(ELEMENTS), min_size=2, max_size=8), st.sampled_from([20, 60, 150]))
@settings(max_examples=100, deadline=None)
def test_what_is_copied_looks_the_same_when_it_is_shown(elements: list[str], width: int) -> None:
    text = "\n\n".join(elements)
    assert shown(copied(text, width)) == shown(text)


@given(st.lists(st.sampled_from(ELEMENTS), min_size=2, max_size=8))
@settings(max_examples=50, deadline=None)
def test_what_is_copied_does_not_depend_on_the_width(elements: list[str]) -> None:
    text = "\n\n".join(elements)
    assert copied(text, 20) == copied(text, 200)


def test_tabs_in_code_are_copied_as_tabs() -> None:
    code = "if x:\n\tfirst(a,\tb)\n    second()\n\n\t\tthird \t()"
    for text in (f"```\n{code}\n```", f"words\n\n```go\n{code}\n```\n\nmore"):
        for width in (12, 60):
            assert copied(text, width) in (text, code)
    listed = "1. one\n   ```make\n   all:\n   \tcc\t-o x\n   ```\n2. two"
    assert copied(listed) == listed
    made = document(Assistant(f"```\n{code}\n```"), width=60)
    assert between(made, "first", "b)") == "first(a,\tb)"
    assert between(made, "x:", "first") == "x:\n\tfirst"
