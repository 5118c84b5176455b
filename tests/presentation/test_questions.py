"""What is shown of a call before it may run."""

from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.asking import Asked
from prunecli.front.presentation.entry_text import sheet_lines
from prunecli.front.presentation.questions import Sheet, sheet_of
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches, named

CWD = Path("/w/project")


def sheet(
    name: str, files: dict[str, str] | None = None, why: str = "it runs something", **given: object
) -> Sheet:
    asked = Asked(ToolUse("t1", name, given), named(name, given), why, (f"{name}(x:*)",))
    return sheet_of(asked, (files or {}).get, CWD)


def test_paths_inside_the_workspace_are_shown_relative() -> None:
    shown = sheet("read", path="/w/project/src/a.py", why="/w/project/src/a.py: it holds secrets")
    assert (shown.text, shown.reason) == ("path: src/a.py", "src/a.py: it holds secrets")
    assert sheet("edit", path="/w/project/a.py", old_string="a", new_string="b").text == "a.py"
    for path in ("/w/projects/a.py", "/w/project/../b.py", "/etc/passwd"):
        assert sheet("read", path=path, why=f"{path}: why").text == f"path: {path}"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("reads your SSH private key", "Reads your SSH private key"),
        ("the option -B may do more than read", "The option -B may do more than read"),
        ("it uses a redirection", "It uses a redirection"),
        ("`touch` can change files", "`touch` can change files"),
        ("git may take /x for a bare repository", "git may take /x for a bare repository"),
        ("changes /w/project/notes.py, outside it", "Changes notes.py, outside it"),
    ],
)
def test_a_reason_is_a_sentence_and_a_name_keeps_its_letters(reason: str, said: str) -> None:
    assert sheet("bash", command="x", why=reason).reason == said


def test_every_control_character_of_a_command_is_seen() -> None:
    """Newline, CR, ESC, bidi, zero width: shown escaped, nothing left out."""
    shown = sheet("bash", command="echo ok\r\x1b[2K\u202e\u200brm -rf x\nnext\tline")
    assert shown.text == "echo ok␍␛[2K��rm -rf x\nnext␉line"
    assert shown.title == "Run this command?"
    assert (shown.reason, shown.rule) == ("It runs something", "x:*")


def test_a_command_of_thousands_of_columns_is_there_to_its_end() -> None:
    """The full text is reachable."""
    assert sheet("bash", command="echo " + "a" * 5_000 + "; rm x").text.endswith("; rm x")


def test_other_inputs_of_a_command_are_shown_with_it() -> None:
    shown = sheet("bash", command="make", timeout=600)
    assert (shown.text, shown.beside) == ("make", "timeout: 600"), "it is no line of the command"
    long = sheet("bash", command="make", timeout=600, note="n" * 70)
    assert (long.text, long.beside) == (f"make\ntimeout: 600\nnote: {'n' * 70}", "")
    assert "  (timeout: 600)" in sheet_lines(shown)


def test_an_edit_is_shown_as_what_it_would_change_in_the_file() -> None:
    shown = sheet("edit", {"a.py": "one\ntwo\nthree\n"}, path="a.py", old_string="two", new_string="2")
    assert shown.text == "a.py"
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert shown.diff.counts() == (1, 1)


def test_an_edit_of_every_place_says_so() -> None:
    shown = sheet("edit", {"a": "x\ny\nx\n"}, path="a", old_string="x", new_string="z", replace_all=True)
    assert shown.text == "a  (all occurrences)"
    assert shown.diff is not None
    assert shown.diff.counts() == (2, 2)


def test_an_edit_that_does_not_match_shows_both_texts_as_they_are() -> None:
    shown = sheet("edit", {"a": "other\n"}, path="a", old_string="x", new_string="y")
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1 +1 @@\n-x\n+y"


def test_a_change_of_line_ends_alone_is_seen() -> None:
    """A diff does not hide what differs only in a carriage return."""
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


def test_a_new_tool_is_shown_whole_whatever_its_arguments_are_called() -> None:
    given = {"path": "a", "content": "x", "command": "rm y"}
    shown = sheet_of(Asked(ToolUse("t1", "new", given), None, "why"), {}.get, CWD)
    assert (shown.title, shown.diff) == ("Allow new?", None)
    assert shown.text == "path: a\ncontent: x\ncommand: rm y"
    shown = sheet_of(Asked(ToolUse("t1", "new", given), Touches(changes=("a",)), "why"), {}.get, CWD)
    assert (shown.title, shown.diff) == ("Change this file?", None)
    assert "command: rm y" in shown.text


@pytest.mark.parametrize(
    ("given", "missing", "title"),
    [
        ({"content": "x"}, True, "Create this file?"),
        ({"content": "x"}, False, "Change this file?"),
        ({"old_string": "x", "new_string": "y"}, True, "Change this file?"),
    ],
)
def test_a_file_that_is_not_there_is_created(given: dict[str, str], missing: bool, title: str) -> None:
    call = ToolUse("t1", "write" if "content" in given else "edit", {"path": "a", **given})
    asked = Asked(call, Touches(changes=("a",)), "why")
    assert sheet_of(asked, {}.get, CWD, {"a": missing}.__getitem__).title == title


def test_every_command_that_a_call_runs_is_shown() -> None:
    touches = Touches(runs=("make", "make\x1b test"))
    shown = sheet_of(Asked(ToolUse("t1", "new", {"first": "make", "in": "src"}), touches, "why"), {}.get, CWD)
    assert shown.title == "Run this command?"
    assert shown.text == "make\nmake␛ test\nin: src"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("three", "x", "old_string was not found in the file"),
        ("o", "x", "old_string matches 2 places"),
        ("one", "one", "old_string and new_string are the same"),
    ],
)
def test_an_edit_that_will_fail_says_so_and_is_shown_at_no_place(old: str, new: str, why: str) -> None:
    shown = sheet("edit", {"a.py": "one\r\ntwo\r\n"}, path="a.py", old_string=old, new_string=new)
    assert (shown.text, shown.beside) == ("a.py", f"This edit will fail: {why}")
    assert shown.diff is not None
    assert "two" not in shown.diff.text


def test_blank_lines_and_spaces_push_nothing_out_of_sight() -> None:
    shown = sheet("bash", {}, command="touch a" + "\n \t" * 200 + "\n./evil" + " " * 300 + "; ./more")
    assert shown.text == "touch a\n… 200 blank lines\n./evil … 300 spaces … ; ./more"
    assert sheet("bash", {}, command="a\n\n\nb   c").text == "a\n\n\nb   c"


def test_the_reason_for_leaving_the_sandbox_is_shown_once() -> None:
    call = ToolUse("t1", "bash", {"command": "curl x", "outside": True, "reason": "needs it", "timeout": 5})
    touches = Touches(runs=("curl x",), outside=("needs it",))
    asked = Asked(call, touches, "runs outside the sandbox: needs it")
    assert "\n".join(sheet_lines(sheet_of(asked, {}.get, CWD))).count("needs it") == 1
    assert sheet_of(asked, {}.get, CWD).beside == "timeout: 5"


def test_an_edit_is_shown_as_it_will_be_made() -> None:
    files = {"a.py": "one\r\ntwo\r\n"}
    shown = sheet("edit", files, path="a.py", old_string="one\ntwo", new_string="1\n2")
    assert shown.beside == ""
    assert shown.diff is not None
    assert shown.diff.text == "@@ -1,2 +1,2 @@\n-one␍\n-two␍\n+1␍\n+2␍"
    everywhere = sheet("edit", files, path="a.py", old_string="o", new_string="0", replace_all=True)
    assert everywhere.diff is not None
    assert everywhere.diff.counts() == (2, 2)
    assert sheet("edit", {}, path="gone.py", old_string="a", new_string="x").beside == ""
