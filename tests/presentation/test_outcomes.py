"""What the line of a tool call says of its result."""

from dataclasses import replace

import pytest

from prunecli.context.render import INTERRUPTED
from prunecli.front.presentation.entries import Diff, Output, ToolState
from prunecli.front.presentation.outcomes import (
    advice,
    argument_of,
    body_of,
    counted,
    of_command,
    outcome_of,
    state_of,
)
from prunecli.model.events import Spilled, ToolResult
from prunecli.model.messages import INVALID_INPUT, Image, Text


def result(text: str = "", *, name: str = "bash", error: bool = False, **details: object) -> ToolResult:
    return ToolResult("t1", name, (Text(text),) if text else (), error, details)


def nothing(name: str, given: object) -> str:
    return ""


def test_a_command_says_its_last_line_which_is_its_summary() -> None:
    output = "collected 42\n....\n===== 1 failed, 41 passed in 2.1s =====\n[exit code 1]"
    assert outcome_of(result(output, error=True, exit_code=1)) == "exit 1 · 1 failed, 41 passed"
    assert outcome_of(result("all good\n", exit_code=0)) == "all good"
    assert outcome_of(result("-rw-r--r-- 1 a.txt\n----\n", exit_code=0)) == "-rw-r--r-- 1 a.txt"


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("a\nb\n", ToolState.OK, "2 lines"),
        ("  \n", ToolState.OK, "no output"),
        ("(no output)", ToolState.OK, "no output"),
        ("[1, 2]\n[3]\n", ToolState.OK, "2 lines"),
        ("a\nb\n[exit code 3]", ToolState.ERROR, "exit 3 · 2 lines"),
        ("[exit code 127 (not found)]", ToolState.ERROR, "exit 127 · no output"),
        (f"a\n{INTERRUPTED}", ToolState.INTERRUPTED, ""),
        ("a\n[timed out after 3 s]", ToolState.ERROR, "timed out · 1 line"),
        ("a\n[killed by SIGKILL]", ToolState.ERROR, "killed by SIGKILL · 1 line"),
        ("a\n[ended from outside, exit code unknown]", ToolState.ERROR, "ended from outside · 1 line"),
    ],
)
def test_a_command_of_the_users_says_how_it_ended_and_how_much_it_said(
    text: str, state: ToolState, said: str
) -> None:
    assert of_command(text) == (state, said)


def test_a_command_without_output_says_only_how_it_ended() -> None:
    assert outcome_of(result("(no output)", exit_code=2, error=True)) == "exit 2"
    assert outcome_of(result("", exit_code=None, error=True)) == "ended from outside"
    assert (
        outcome_of(result("half\n[timed out after 3 s]", exit_code=-15, timed_out=True)) == "timed out · half"
    )


def test_a_change_says_how_many_lines_it_added_and_removed() -> None:
    edited = result(
        "Edited a.py", name="edit", added=4, removed=2, diff="@@ -1,1 +1,1 @@\n-a\n+b", path="a.py"
    )
    assert outcome_of(edited) == "+4 −2"
    assert body_of(edited) == Diff("@@ -1,1 +1,1 @@\n-a\n+b", "a.py")


def test_reading_says_how_many_lines_it_showed() -> None:
    assert outcome_of(result("7\n", name="recall")) == "7", "a line end begins no line"
    assert outcome_of(result("7\n8\n", name="recall")) == "2 lines"
    assert outcome_of(result("x", name="read", path="a.py", first_line=1, last_line=220)) == "220 lines"
    assert outcome_of(result("x", name="read", path="a.py", first_line=3, last_line=3)) == "1 line"


def test_a_failure_says_its_first_line_and_never_more_than_fits() -> None:
    assert outcome_of(result("no such file\nmore", name="read", error=True)) == "no such file"
    assert len(outcome_of(result("x" * 500, name="read", error=True))) == 200


def test_a_prun_says_how_many_exchanges_go_and_leaves_the_tokens_to_the_line_of_the_prune() -> None:
    promised = {"exchanges": [4, 11], "tokens": 945, "memo": None}
    text = "Will remove 2 exchanges (entries 4-19), ~556 tokens, before the next turn."
    assert outcome_of(result(text, name="prun", prun=promised)) == "2 exchanges"
    assert outcome_of(result("Nothing to remove.", name="prun", prun=None)) == "Nothing to remove."


def test_of_a_denied_call_the_reason_is_shown() -> None:
    said = result("The user did not allow this. They said: later", error=True, denied=True, reason="later")
    assert body_of(said) == Output("later")
    assert body_of(result("The user did not allow this.", error=True, denied=True, reason="")) is None
    by_rule = result("Not allowed: the rule", error=True, denied=True, reason="the rule")
    assert body_of(by_rule) == Output("The rule")
    words = result("The user did not allow this. They said: it is", error=True, denied=True, reason="it is")
    assert body_of(words) == Output("it is")


def test_what_was_denied_or_interrupted_shows_that_as_its_state() -> None:
    assert state_of(result("no", error=True, denied=True)) is ToolState.DENIED
    assert state_of(result("no", error=True, interrupted=True)) is ToolState.INTERRUPTED
    assert outcome_of(result("no", error=True, interrupted=True)) == ""
    assert outcome_of(result("no", error=True, interrupted=True, started=False)) == "not run"
    assert state_of(result("no", error=True)) is ToolState.ERROR
    assert state_of(result("yes")) is ToolState.OK
    assert outcome_of(result("Not allowed: x", error=True, denied=True)) == ""


def test_output_of_a_file_is_code_of_its_language() -> None:
    assert body_of(result("x = 1", name="read", path="src/a.PY")) == Output("x = 1", "py")
    assert body_of(result("a: 1", name="read", path="b.yml")) == Output("a: 1", "yaml")
    assert body_of(result("plain", name="read", path="Makefile")) == Output("plain", "")
    assert body_of(result("(no output)", exit_code=0)) is None


def test_a_result_that_was_sent_in_part_says_how_much() -> None:
    """Of a read, the lines of the file that were sent; of others, what was held back."""
    note = "[2,501 of 4,000 lines held back | continue with offset=1500]"
    details = {"first_line": 1, "last_line": 2000, "lines": 4000}
    page = ToolResult("t1", "read", (Text("text"),), details=details, spilled=Spilled(9_000, note))
    assert outcome_of(page) == "1,499 of 4,000 lines sent"
    note = "[1,240 of 1,500 lines held back | recall 17 lines 130-1369]"
    found = ToolResult(
        "t1", "grep", (Text("text"),), details={"matches": 1_500}, spilled=Spilled(9_000, note)
    )
    assert outcome_of(found) == "1,500 matches · 1,240 lines not sent"
    for what, said in (("1 of 9 lines", "1 line"), ("1,240 of 1,500 characters", "1,240 characters")):
        note = f"[{what} held back | recall 17 lines 5]"
        assert outcome_of(replace(found, spilled=Spilled(9_000, note))) == f"1,500 matches · {said} not sent"


def test_an_image_is_shown_as_words() -> None:
    picture = ToolResult("t1", "read", (Image("image/png", "", 12, 30),))
    assert body_of(picture) == Output("[image/png 12x30]", "")


def test_the_argument_is_the_command_as_it_is_else_the_tools_summary_else_the_input() -> None:
    assert argument_of("bash", {"command": "ls\n  -la"}, nothing) == "ls\n  -la"
    assert argument_of("read", {"path": "a.py"}, lambda *_: "a.py 1-20") == "a.py 1-20"
    assert argument_of("mcp__x", {"q": "ä"}, nothing) == '{"q": "ä"}'
    assert argument_of("read", {INVALID_INPUT: '{"pa'}, nothing) == '{"pa'
    assert argument_of("ls", {}, nothing) == ""


def test_things_are_counted_in_words() -> None:
    assert [counted(n, "match") for n in (0, 1, 2)] == ["0 matches", "1 match", "2 matches"]
    assert counted(12_345, "line") == "12,345 lines"


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("try again in 5m00s, as the endpoint asks", "Try again in 5m00s, as the endpoint asks"),
        ("can't be pruned", "Can't be pruned"),
        ("base_url must not end in /v1", "base_url must not end in /v1"),
        ("/doctor 16 to leave that content out", "/doctor 16 to leave that content out"),
        ("prunecli does not follow redirects", "prunecli does not follow redirects"),
        ("", ""),
    ],
)
def test_a_hint_on_its_own_line_is_a_sentence(hint: str, shown: str) -> None:
    assert advice(hint) == shown
