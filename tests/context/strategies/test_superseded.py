"""Superseded: what a later result replaces is cleared."""

from typing import Any

import pytest

from tests.context.talk import PICTURE, Talk, seqs, texts, tokens

NAME = "superseded"
TEXT = "line\n" * 40


def began() -> Talk:
    talk = Talk()
    talk.user()
    return talk


def asked(talk: Talk) -> list[int]:
    talk.seen()
    return seqs(talk.ask(NAME))


def test_a_read_is_superseded_by_a_later_one_of_the_same_path_and_says_by_which() -> None:
    talk = began()
    old = talk.step("read", TEXT, path="src/App.tsx")
    talk.step("read", TEXT, path="src/Other.tsx")
    new = talk.step("read", TEXT, path="./src//App.tsx")
    assert asked(talk) == [old]
    assert texts(talk.ask(NAME)) == [f'[superseded by entry {new} | read path="src/App.tsx"]']
    told = texts(talk.ask(NAME, talk.view(recall=True)))
    assert told == [f'[superseded by entry {new} | read path="src/App.tsx" | recall {old}]']


def test_of_several_the_newest_is_named() -> None:
    talk = began()
    old = [talk.step("read", TEXT, path="a"), talk.step("read", TEXT, path="a")]
    new = talk.step("read", TEXT, path="a")
    assert asked(talk) == old
    assert texts(talk.ask(NAME)) == [f'[superseded by entry {new} | read path="a"]'] * 2


@pytest.mark.parametrize(
    ("first", "second", "superseded"),
    [
        ({"offset": 10, "limit": 40}, {}, True),
        ({"offset": 10, "limit": 40}, {"offset": 10, "limit": 40}, True),
        ({"offset": 10, "limit": 40}, {"offset": 5, "limit": 40}, False),
        ({"offset": 10, "limit": 40}, {"offset": 11, "limit": 40}, False),
        ({}, {"offset": 1, "limit": 40}, True),
        ({}, {"limit": 39}, False),
        ({}, {"offset": 2}, False),
        ({"offset": 2}, {}, True),
        ({"offset": 0, "limit": -3}, {"offset": "x", "limit": True}, True),
    ],
)
def test_only_a_read_whose_range_covers_it_supersedes_a_read(
    first: Any, second: Any, superseded: bool
) -> None:
    """Each shows forty lines."""
    talk = began()
    old = talk.step("read", TEXT, path="a", **first)
    talk.step("read", TEXT, path="a", **second)
    assert asked(talk) == ([old] if superseded else [])


def test_a_read_of_the_whole_file_reaches_its_end_only_where_nothing_was_cut() -> None:
    late = {"offset": 3_000, "limit": 10}
    for shown, superseded in (
        ("line\n" * 1_999, True),
        ("line\n" * 2_000, False),
        ("line\n" * 1_000 + "[OUTPUT TRUNCATED]", False),
        ("line\n" * 1_000 + "[lines 1-1000 of 4000; continue with offset=1001]", False),
    ):
        talk = began()
        old = talk.step("read", "line\n" * 10, "x" * 200, path="a", **late)
        talk.step("read", shown, path="a")
        assert asked(talk) == ([old] if superseded else [])


def test_what_the_tool_noted_of_its_lines_counts_more_than_the_text() -> None:
    def lines(first: int, last: int, of: int | None) -> dict[str, Any]:
        return {"path": "/w/a", "first_line": first, "last_line": last, "lines": of}

    for old_lines, new_lines, superseded in (
        (lines(1, 300, 400), lines(1, 300, 400), True),
        (lines(1, 300, 400), lines(1, 299, 400), False),
        (lines(1, 300, 400), lines(1, 200, 200), True),
        (lines(1, 300, 400), lines(2, 200, 200), False),
        (lines(1, 300, 400), lines(1, 299, None), False),
    ):
        talk = began()
        old = talk.step("read", TEXT, path="a", details=old_lines)
        talk.step("read", TEXT, path="a", limit=300, details=new_lines)
        assert asked(talk) == ([old] if superseded else [])


def test_the_path_that_the_tool_noted_tells_files_apart() -> None:
    talk = began()
    talk.step("read", TEXT, path="a", details={"path": "/one/a"})
    talk.step("read", TEXT, path="a", details={"path": "/two/a"})
    old = talk.step("read", TEXT, path="../x/b", details={"path": "/x/b"})
    talk.step("read", TEXT, path="/x/b", details={"path": "/x/b"})
    assert asked(talk) == [old]


def test_a_write_of_the_whole_file_supersedes_every_read_before_it() -> None:
    talk = began()
    old = [talk.step("read", TEXT, path="a"), talk.step("read", TEXT, path="a", offset=7)]
    wrote = talk.step("write", "ok", path="a", content="x")
    talk.step("read", TEXT, path="a", limit=5)
    assert asked(talk) == old
    assert f"superseded by entry {wrote} |" in str(texts(talk.ask(NAME))[0])


def test_an_edit_supersedes_every_read_before_it_but_the_newest() -> None:
    talk = began()
    old = [talk.step("read", TEXT, path="a", offset=n, limit=2) for n in (1, 10)]
    talk.step("read", TEXT, path="a", offset=20, limit=2)
    edited = talk.step("edit", "ok", path="a")
    talk.step("edit", "ok", path="a")
    assert asked(talk) == old
    assert f"superseded by entry {edited} |" in str(texts(talk.ask(NAME))[0])


def test_a_read_after_the_edit_does_not_make_the_edit_supersede_the_one_before_it() -> None:
    talk = began()
    talk.step("read", TEXT, path="a")
    talk.step("edit", "ok", path="a")
    talk.step("read", TEXT, path="a", offset=20, limit=2)
    assert asked(talk) == []


@pytest.mark.parametrize(
    ("tool", "given"), [("ls", {"path": "."}), ("find", {"glob": "*.py"}), ("grep", {"pattern": "x"})]
)
def test_a_listing_or_search_is_superseded_by_the_same_call_with_the_same_input(
    tool: str, given: Any
) -> None:
    talk = began()
    old = talk.step(tool, TEXT, **given, extra=1)
    talk.step(tool, TEXT, **given)
    talk.step(tool, TEXT, extra=1, **given)
    assert asked(talk) == [old]


def test_nothing_else_is_superseded() -> None:
    talk = began()
    for _ in range(2):
        talk.step("bash", TEXT, command="make")
        talk.step("my_tool", TEXT, path="a")
        talk.step("write", TEXT, path="b")
        talk.step("edit", TEXT, path="b")
        talk.step("read", TEXT, path=7)
        talk.step("read", TEXT)
    assert asked(talk) == []


@pytest.mark.parametrize("tool", ["read", "write", "edit"])
def test_a_result_that_failed_supersedes_nothing_and_is_left(tool: str) -> None:
    talk = began()
    talk.step("read", TEXT, path="a", error=True)
    talk.step("read", TEXT, path="a", offset=3)
    talk.step("read", TEXT, path="a", offset=2, limit=1)
    talk.step(tool, TEXT, path="a", error=True)
    assert asked(talk) == []


def test_only_a_read_that_shows_its_original_supersedes() -> None:
    talk = began()
    old = talk.step("read", TEXT, path="a")
    new = talk.step("read", TEXT, path="a")
    edit = talk.edit("trim", new, "short")
    assert asked(talk) == []
    talk.revert(edit)
    assert asked(talk) == [old]
    talk.edit("drop", new - 1)
    assert asked(talk) == []


def test_an_edit_or_write_counts_while_its_exchange_is_there_whatever_its_result_shows() -> None:
    talk = began()
    old = talk.step("read", TEXT, path="a")
    wrote = talk.step("write", TEXT, path="a")
    talk.edit("clear", wrote, "[gone]")
    assert asked(talk) == [old]
    dropped = talk.edit("drop", wrote - 1)
    assert asked(talk) == []
    talk.revert(dropped)
    assert asked(talk) == [old]


def test_when_the_newest_read_goes_the_one_before_it_is_not_superseded_by_the_edit() -> None:
    talk = began()
    first = talk.step("read", TEXT, path="a", offset=1, limit=2)
    second = talk.step("read", TEXT, path="a", offset=9, limit=2)
    talk.step("edit", "ok", path="a")
    assert asked(talk) == [first]
    talk.edit("clear", second, "[gone]")
    assert asked(talk) == []


def test_a_result_in_progress_supersedes_but_is_not_cleared() -> None:
    talk = began()
    old = talk.step("read", TEXT, path="a")
    talk.call(("read", {"path": "a"}), ("read", {"path": "a"}))
    talk.answer(TEXT)
    talk.answer(TEXT)
    assert seqs(talk.ask(NAME)) == [old]


def test_pinned_and_tiny_results_stay() -> None:
    talk = began()
    talk.pin(talk.step("read", TEXT, path="a"))
    talk.step("read", "tiny", path="b")
    talk.step("read", TEXT, path="a")
    talk.step("read", "tiny", path="b")
    assert asked(talk) == []


def test_a_picture_is_superseded_as_a_whole() -> None:
    talk = began()
    old = talk.step("read", PICTURE, path="a.png")
    talk.step("read", PICTURE, path="a.png")
    assert asked(talk) == [old]


def test_nothing_before_a_compaction_is_touched() -> None:
    talk = Talk()
    start = talk.user()
    kept = talk.step("read", TEXT, path="a")
    talk.seen()
    talk.compact(start, kept - 1)
    talk.step("read", TEXT, path="a")
    assert asked(talk) == []


def test_what_came_back_is_judged_by_what_came_later() -> None:
    talk = began()
    first = talk.step("read", TEXT, path="a")
    gone = talk.edit("clear", first, "[gone]")
    talk.step("read", TEXT, path="a")
    assert asked(talk) == []
    talk.revert(gone)
    talk.user()
    talk.user()
    assert asked(talk) == [first]


def test_the_note_counts_and_the_rest_is_not_superseded() -> None:
    talk = began()
    talk.step("read", tokens(50), path="a")
    new = talk.step("read", tokens(50), path="a")
    talk.seen()
    proposal = talk.ask(NAME)
    assert proposal.note == "1 results are superseded"
    assert proposal.why(talk.entry(new)) == "not superseded"
