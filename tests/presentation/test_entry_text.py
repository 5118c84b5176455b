"""What things are called in lines."""

from pathlib import Path

import pytest

from prunecli.commands.command import Choice, Choose, Table
from prunecli.front.presentation.entries import (
    Assistant,
    Diff,
    Divider,
    Notice,
    Output,
    Prompt,
    Thinking,
    ToolCall,
    ToolState,
)
from prunecli.front.presentation.entry_text import (
    choice_lines,
    chosen,
    diff_lines,
    entry_lines,
    sheet_lines,
    status_line,
    table_lines,
)
from prunecli.front.presentation.questions import Sheet
from tests.starting import start


def test_a_call_is_said_when_it_begins_and_when_it_ends() -> None:
    assert entry_lines(ToolCall("bash", "make", ToolState.WAITING)) == []
    assert entry_lines(ToolCall("bash", "make", ToolState.RUNNING)) == ["[bash] make"]
    ended = ToolCall("bash", "make", ToolState.ERROR, "exit 2 · no rule", 2_100)
    assert entry_lines(ended) == ["[bash] failed: exit 2 - no rule (2.1 s)"]
    assert entry_lines(ToolCall("bash", "make", ToolState.DENIED)) == ["[bash] denied"]


def test_the_end_of_a_commands_output_is_shown_and_of_any_call_that_failed() -> None:
    said = Output("\n".join(f"line {number}" for number in range(1, 15)))
    command = entry_lines(ToolCall("bash", "make", ToolState.OK, "14 lines", body=said))
    assert command[1] == "  ... 4 earlier lines"
    assert command[2:] == [f"  line {number}" for number in range(5, 15)]
    failed = entry_lines(ToolCall("fetch", "x", ToolState.ERROR, body=said))
    assert failed[1:] == ["  ... 11 earlier lines", "  line 12", "  line 13", "  line 14"]
    assert len(entry_lines(ToolCall("read", "x", ToolState.OK, body=said))) == 1
    once = ToolCall("edit", "x", ToolState.ERROR, "no such text", body=Output("no such text"))
    assert entry_lines(once) == ["[edit] failed: no such text"]


def test_a_call_told_afterwards_is_one_line_with_what_it_was_called_with() -> None:
    ended = ToolCall("read", "a.py", ToolState.OK, "1 line")
    assert entry_lines(ended, afterwards=True) == ["[read] a.py - done: 1 line"]


def test_a_change_is_shown_with_its_signs_and_a_long_one_is_counted() -> None:
    edit = ToolCall("edit", "a.py", ToolState.OK, "+1 −1", body=Diff("@@ -1 +1 @@\n-a\n+b", "a.py"))
    assert entry_lines(edit) == ["[edit] done: +1 -1", "  @@ -1 +1 @@", "  -a", "  +b"]
    assert diff_lines(Diff("\n".join("+x" for _ in range(9)), "a"), most=2) == [
        "  +x",
        "  +x",
        "  ... and 7 more lines",
    ]


def test_nothing_hostile_acts_on_the_terminal() -> None:
    hostile = "a\x1b[31m\x9b\u202eb"
    for entry in (
        Prompt(hostile),
        Assistant(hostile),
        Notice(hostile),
        Divider(hostile),
        ToolCall(hostile, hostile, ToolState.RUNNING),
        ToolCall("x", "", ToolState.OK, hostile, body=Diff(hostile)),
    ):
        text = "".join(entry_lines(entry))
        assert "␛[31m" in text
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)


def test_thinking_is_not_said() -> None:
    assert entry_lines(Thinking("hm")) == []


def test_a_table_is_aligned_and_its_note_stands_below() -> None:
    table = Table("Things", ("name", "n"), (("a", "10"), ("long one", "7")), (1,), "a note\nof two lines")
    assert table_lines(table) == [
        "Things:",
        "  name       n",
        "  a         10",
        "  long one   7",
        "a note",
        "of two lines",
    ]


def test_a_table_that_is_too_wide_wraps_its_words_and_no_number() -> None:
    rows = (("3", "one two three four five six", "live"), ("12345", "x", "pruned"))
    table = Table("Things", ("entry", "what", "state"), rows, (0,))
    lines = table_lines(table, 30)
    assert lines == [
        "Things:",
        "  entry  what           state",
        "      3  one two three  live",
        "         four five six",
        "  12345  x              pruned",
    ]
    assert max(map(len, lines)) <= 30
    assert table_lines(table, 200) == table_lines(table)
    assert table_lines(table, 5)[-1] == "  12345  x             pruned", "not narrower than it can be read"


def test_a_choice_is_made_by_number_or_name() -> None:
    choose = Choose(
        "Mode", "permissions", (Choice("ask", "Ask", "careful", current=True), Choice("2", "Two"))
    )
    assert choice_lines(choose) == ["Mode", "  1. Ask - careful (now)", "  2. Two"]
    assert chosen(choose, " 1 ") == choose.choices[0]
    assert chosen(choose, "ASK") == choose.choices[0]
    assert chosen(choose, "0") is None
    assert chosen(choose, "none") is None


def test_a_question_shows_all_of_what_would_run_and_the_rule() -> None:
    text = "\n".join(f"line {n}" for n in range(200))
    lines = sheet_lines(Sheet("Run this command?", text, None, "it may", "x *", covers="any arguments"))
    assert sum(line.startswith("  line ") for line in lines) == 200
    assert lines[-5:] == [
        "1 or y: Yes",
        "2 or a: yes, and don't ask again for x * until you quit",
        "  (any arguments)",
        "p: yes, always in this project",
        "3 or n: no; any other text does too, and tells the model why",
    ]
    short = sheet_lines(Sheet("t", "x", None, "", ""))
    assert short[-2:] == ["1 or y: Yes", "2 or n: no; any other text does too, and tells the model why"]


def test_the_state_is_one_line_of_ascii(tmp_path: Path) -> None:
    line = status_line(start(tmp_path).status())
    assert line.startswith("(mode ask, ")
    assert line.isascii()
    assert "untrusted: read-only" in status_line(start(tmp_path, trusted=False).status())


@pytest.mark.parametrize(
    ("name", "outcome", "line"),
    [("attached", "2 lines", "[attached] calc.py: 2 lines"), ("notice", "", "[notice] calc.py")],
)
def test_what_is_no_call_is_not_said_to_be_done(name: str, outcome: str, line: str) -> None:
    assert entry_lines(ToolCall(name, "calc.py", ToolState.OK, outcome)) == [line]
