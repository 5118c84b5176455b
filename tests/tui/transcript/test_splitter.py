"""Where a growing Markdown text is cut."""

from hypothesis import given
from hypothesis import strategies as st

from prunecli.tui.transcript.chunks import Chunk, Kind
from prunecli.tui.transcript.highlight import CodeText
from prunecli.tui.transcript.splitter import Splitter, split
from tests.tui.transcript.showing import MARKDOWN

FRAGMENTS = [
    *(
        "# h\n",
        "para text\n",
        "word ",
        "\n",
        "\n\n",
        "- item\n",
        "  cont\n",
        "1. one\n",
        "   in\n",
        "```py\n",
    ),
    *("```\n", "   ```\n", "~~~\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "> q\n", "\r\n", "\t", "é"),
    *("    code\n", "- ```\n", "**b", "`", "[x]: y\n", "[l](u", "===\n", "---\n", "\u202e", "x" * 30, "\r"),
    "        - deep\n",
]
documents = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)


def streamed(parts: list[str], most_chars: int, most_lines: int) -> tuple[list[Chunk], Splitter]:
    """The chunks of a text that came in parts, with a look at the tail after each."""
    splitter = Splitter(most_chars, most_lines)
    chunks: list[Chunk] = []
    for part in parts:
        chunks += splitter.feed(part)
        splitter.tail()
    return [*chunks, *splitter.close()], splitter


def comparable(chunks: list[Chunk]) -> list[object]:
    return [
        (c.kind, c.text, c.gap, c.indent, c.join, c.part, getattr(c.shared, "pieces", None)) for c in chunks
    ]


@given(documents, st.data(), st.sampled_from([(6000, 60), (20, 3), (7, 2)]))
def test_chunks_do_not_depend_on_how_the_text_arrived(text: str, data: st.DataObject, caps: tuple[int, int]):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parts = [text[low:high] for low, high in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    at_once, known = streamed([text], *caps)
    for way in (parts, list(text)):
        chunks, splitter = streamed(way, *caps)
        assert comparable(chunks) == comparable(at_once)
        assert splitter.references == known.references


@given(documents)
def test_nothing_but_white_space_and_fences_is_lost(text: str):
    """Text identical."""
    chunks, _ = split(text)
    kept = " ".join(chunk.text for chunk in chunks)
    shown = "\n".join(line for line in text.split("\n") if "```" not in line and "~~~" not in line)
    for word in ("para", "item", "cont", "one", "deep", "q", "é"):
        assert kept.count(word) >= shown.count(word)


@given(st.text(st.sampled_from("ab `*-#>|\n"), max_size=400))
def test_no_chunk_grows_without_bound(text: str):
    splitter = Splitter(40, 3)
    for chunk in [*splitter.feed(text), *splitter.close()]:
        assert len(chunk.text) <= 4 * 40 + 80


def test_a_document_is_cut_at_its_elements():
    chunks, references = split(MARKDOWN)
    assert [chunk.kind for chunk in chunks].count(Kind.CODE) == 3
    assert [chunk.kind for chunk in chunks].count(Kind.TABLE) == 1
    assert chunks[0] == Chunk(Kind.HEADING, "# Title")
    assert references == {"REF": {"title": "", "href": "https://example.com/target"}}


def test_a_long_fence_is_cut_and_its_pieces_know_each_other():
    chunks, _ = split("```py\n" + "x = 1\n" * 150 + "```\n")
    shared = chunks[0].shared
    assert [chunk.text.count("\n") + 1 for chunk in chunks] == [60, 60, 30]
    assert isinstance(shared, CodeText)
    assert shared.closed
    assert shared.language == "py"
    assert all(chunk.shared is shared for chunk in chunks)
    assert not any(chunk.gap for chunk in chunks)


def test_a_fence_in_a_list_item_is_a_chunk_of_its_own():
    chunks, _ = split("1. run\n   ```sh\n   a\n     b\n   ```\n2. done\n")
    assert [(chunk.kind, chunk.text, chunk.indent) for chunk in chunks] == [
        (Kind.PROSE, "1. run", 0),
        (Kind.CODE, "a\n  b", 3),
        (Kind.PROSE, "2. done", 0),
    ]


def test_a_fence_behind_a_bullet_is_closed_by_its_own_mark():
    chunks, _ = split("- ```\n  code\n  ```\n- next\n\nend\n")
    assert [chunk.text for chunk in chunks] == ["-", "code", "- next", "end"]


def test_the_pieces_of_a_long_table_repeat_no_rows():
    rows = [f"| {n} | {n * n} |" for n in range(1000)]
    chunks, _ = split("| a | b |\n|---|---|\n" + "\n".join(rows))
    assert "\n".join(chunk.text for chunk in chunks).split("\n")[2:] == rows
    assert [chunk.part for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) > 1


def test_a_long_line_is_cut_at_a_space_and_its_rest_starts_no_block():
    text = "word " * 1300 + "- not a list " + "word " * 1300
    chunks, _ = split(text)
    assert len(chunks) > 1
    assert all(chunk.join == " " for chunk in chunks[1:])
    assert not any(chunk.text.startswith("- ") for chunk in chunks)


def test_a_table_head_is_held_back_until_the_next_line_decides():
    splitter = Splitter()
    splitter.feed("text\n\n| a | b |\n")
    assert splitter.tail() is None
    splitter.feed("|--")
    assert splitter.tail() is None
    splitter.feed("-|---|\n| 1 ")
    tail = splitter.tail()
    assert tail is not None
    assert tail.text == "| a | b |\n|---|---|"


def test_what_looked_like_a_table_and_is_none_shows():
    splitter = Splitter()
    splitter.feed("| a | b |\nno table")
    tail = splitter.tail()
    assert tail is not None
    assert tail.text == "| a | b |\nno table"


def test_undecided_marks_are_held_back():
    for mark in ("-", "##", "``", "```py", "1", "1.", "---", "===", ">", "[ref]: htt"):
        splitter = Splitter()
        splitter.feed(f"text\n{mark}")
        tail = splitter.tail()
        assert tail is not None
        assert tail.text == "text"


def test_what_is_held_back_comes_when_the_text_ends():
    splitter = Splitter()
    splitter.feed("| a | b |")
    assert splitter.tail() is None
    assert [chunk.text for chunk in splitter.close()] == ["| a | b |"]


def test_open_emphasis_code_and_links_are_not_shown_raw():
    for raw, shown in (
        ("so **bold", "so **bold**"),
        ("so **", "so "),
        ("2 ** 3", "2 ** 3"),
        ("a `code", "a `code`"),
        ("a `", "a "),
        ("see [here](http://exa", "see [here]()"),
        ("**so `co", "**so `co`**"),
        ("**so [here](x", "**so [here]()**"),
        ("**so** far", "**so** far"),
        ("one **\ntwo", "one **\ntwo"),
    ):
        splitter = Splitter()
        splitter.feed(raw)
        tail = splitter.tail()
        assert tail is not None
        assert tail.text == shown


def test_a_paragraph_is_finished_as_soon_as_the_next_begins():
    splitter = Splitter()
    assert splitter.feed("one\n\n") == []
    assert [chunk.text for chunk in splitter.feed("t")] == ["one"]


def test_line_ends_and_tabs_are_normalized():
    chunks, _ = split("a\r\nb\tc\r\n\r\nd\r")
    assert [chunk.text for chunk in chunks] == ["a\nb   c", "d"]
