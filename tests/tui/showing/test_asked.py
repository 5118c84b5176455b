"""What is shown of a call before it may run."""

from dataclasses import replace

from prunecli.agent.execute import Asked
from prunecli.model.messages import ToolUse
from prunecli.tools.registry import load
from prunecli.tui.showing.asked import Sheet, sheet_of


def sheet(name: str, files: dict[str, str] | None = None, **given: object) -> Sheet:
    tool = load(name)
    asked = Asked(ToolUse("t1", name, given), tool, "it runs something", f"{name}(x:*)")
    return sheet_of(asked, (files or {}).get)


def test_every_control_character_of_a_command_is_seen() -> None:
    """SEC-15: newline, CR, ESC, bidi, zero width: shown escaped, nothing left out."""
    shown = sheet("bash", command="echo ok\r\x1b[2K\u202e\u200brm -rf x\nnext\tline")
    assert shown.text == "echo ok␍␛[2K��rm -rf x\nnext␉line"
    assert shown.title == "Run this command?"
    assert (shown.reason, shown.rule) == ("it runs something", "bash(x:*)")


def test_a_command_of_thousands_of_columns_is_there_to_its_end() -> None:
    """SEC-15: the full text is reachable."""
    assert sheet("bash", command="echo " + "a" * 5_000 + "; rm x").text.endswith("; rm x")


def test_other_inputs_of_a_command_are_shown_with_it() -> None:
    assert sheet("bash", command="make", timeout=600).text == "make\ntimeout: 600"


def test_an_edit_is_shown_as_what_it_would_change_in_the_file() -> None:
    shown = sheet("edit", {"a.py": "one\ntwo\nthree\n"}, path="a.py", old_string="two", new_string="2")
    assert shown.text == "a.py"
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert shown.diff.counts() == (1, 1)


def test_an_edit_of_every_place_says_so() -> None:
    shown = sheet("edit", {"a": "x\ny\nx\n"}, path="a", old_string="x", new_string="z", replace_all=True)
    assert shown.text == "a  (every place)"
    assert shown.diff is not None
    assert shown.diff.counts() == (2, 2)


def test_an_edit_that_does_not_match_shows_both_texts_as_they_are() -> None:
    shown = sheet("edit", {"a": "other\n"}, path="a", old_string="x", new_string="y")
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1 +1 @@\n-x\n+y"


def test_a_change_of_line_ends_alone_is_seen() -> None:
    """SEC-15: a diff does not hide what differs only in a carriage return."""
    shown = sheet("write", {"a": "one\n"}, path="a", content="one\r\n")
    assert shown.diff is not None
    assert "+one␍" in shown.diff.text


def test_a_line_feed_at_the_end_is_no_line_of_its_own_and_one_that_is_missing_is_seen() -> None:
    shown = sheet("write", {"a": "one\ntwo"}, path="a", content="one\ntwo\n")
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two"
    empty = sheet("write", path="new.txt", content="")
    assert empty.diff is not None
    assert empty.diff.text == ""


def test_a_new_file_is_shown_whole() -> None:
    shown = sheet("write", path="new.txt", content="a\nb")
    assert shown.diff is not None
    assert shown.diff.text == "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file"


def test_a_call_that_is_neither_shows_each_input_on_lines_of_its_own() -> None:
    shown = sheet("grep", pattern="a\nb", path="src")
    assert shown.text == "pattern:\na\nb\npath: src"
    assert shown.diff is None


def test_a_malformed_input_is_shown_and_breaks_nothing() -> None:
    assert sheet("edit", path=["a"], old_string=1).text == 'path: ["a"]\nold_string: 1'
    assert replace(sheet("write", content="x"), reason="").text == "content: x"
