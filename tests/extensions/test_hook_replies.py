"""What hooks answer: exit codes, JSON, and everything that is neither."""

import json
from typing import Any

import pytest

from prunecli.features.hooks.replies import CONTEXT_CHARS, Ran, Reply, reply_of, strictest
from prunecli.features.hooks.settings import EVENTS, Hook


def answer(event: str, code: int | None = 0, out: object = "", err: str = "") -> Reply:
    text = out if isinstance(out, str) else json.dumps(out)
    return reply_of(Hook(event, "check"), Ran(code, text, err))


@pytest.mark.parametrize("event", EVENTS)
def test_silence_asks_for_nothing(event: str) -> None:
    assert answer(event) == Reply("check")
    assert answer(event, out={}) == Reply("check")
    assert answer(event, out={"suppressOutput": True, "unknown": [1]}) == Reply("check")


@pytest.mark.parametrize(
    ("event", "reply"),
    [
        ("PreToolUse", Reply("check", "deny", "why")),
        ("UserPromptSubmit", Reply("check", "deny", "why")),
        ("Stop", Reply("check", "deny", "why")),
        ("SubagentStop", Reply("check", "deny", "why")),
        ("PreCompact", Reply("check", "deny", "why")),
        ("PrePrune", Reply("check", "deny", "why")),
        ("PostToolUse", Reply("check", context="why")),
        ("PostToolUseFailure", Reply("check", context="why")),
        ("SessionStart", Reply("check", message="why")),
        ("SessionEnd", Reply("check", message="why")),
        ("Notification", Reply("check", message="why")),
    ],
)
def test_exit_code_2_blocks_where_an_event_can_be_blocked(event: str, reply: Reply) -> None:
    assert answer(event, 2, '{"decision": "allow"}', "why\n") == reply


def test_another_exit_code_is_a_failure_with_its_first_line() -> None:
    assert answer("PreToolUse", 1, err="\n bad\nmore").failure == "exit code 1: bad"
    assert answer("PreToolUse", 127).failure == "exit code 127"
    assert answer("PreToolUse", -9).failure == "ended by signal 9"
    said = answer("PreToolUse", 1, {"decision": "block", "reason": "x"})
    assert (said.decision, said.failure) == ("", "exit code 1")


def test_the_colors_of_a_linter_are_left_out_of_its_reason_and_output() -> None:
    assert answer("PreToolUse", 2, err="\x1b[31mno\x1b[0m\n").reason == "no"
    assert answer("SessionStart", out="\x1b[1mhi\x1b[0m").context == "hi"


@pytest.mark.parametrize("event", EVENTS)
def test_plain_output_is_context_only_at_the_start_and_for_prompts(event: str) -> None:
    known = event in ("SessionStart", "UserPromptSubmit")
    assert answer(event, out="it rains\n").context == ("it rains" if known else "")
    assert answer(event, out="[1, 2]").context == ("[1, 2]" if known else "")


def special(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


def test_decisions_of_pre_tool_use_and_their_older_form() -> None:
    for word in ("allow", "deny", "ask"):
        out = special(permissionDecision=word, permissionDecisionReason="r")
        assert answer("PreToolUse", out=out) == Reply("check", word, "r")  # type: ignore[arg-type]
    assert answer("PreToolUse", out={"decision": "approve", "reason": "r"}) == Reply("check", "allow", "r")
    assert answer("PreToolUse", out={"decision": "block", "reason": "r"}) == Reply("check", "deny", "r")
    assert answer("PreToolUse", out={"decision": "block"}).reason == "no reason given"


@pytest.mark.parametrize(
    "out",
    [
        {"permissionDecision": "deny", "permissionDecisionReason": "r"},
        {"hookSpecificOutput": {"decision": "block", "reason": "r"}},
        'Loading...\n{"permissionDecision": "deny", "reason": "r"}',
        "Loading {\n"
        + json.dumps(special(permissionDecision="deny", permissionDecisionReason="r"), indent=1),
    ],
)
def test_a_deny_counts_at_the_top_level_and_after_other_text(out: object) -> None:
    assert answer("PreToolUse", out=out) == Reply("check", "deny", "r")


def test_an_object_that_is_no_answer_stays_text() -> None:
    text = 'Our package:\n{"name": "x"}'
    assert answer("SessionStart", out=text).context == text


def test_the_other_fields() -> None:
    out = {"continue": False, "stopReason": "s", "systemMessage": "m", **special(additionalContext="c")}
    assert answer("PreToolUse", out=out) == Reply("check", context="c", message="m", stop="s")
    assert answer("PreToolUse", out=special(updatedInput={"a": 1})).changed == {"a": 1}
    assert answer("PrePrune", out=special(veto=[3], pin=[4, 5])) == Reply("check", veto=(3,), pin=(4, 5))
    assert answer("PrePrune", out=special(veto="all")).decision == "deny"
    both = answer("PostToolUse", out={"decision": "block", "reason": "r", **special(additionalContext="c")})
    assert both == Reply("check", context="r\nc", reason="r")
    assert answer("SessionStart", out={"decision": "block", "reason": "r"}).decision == ""


@pytest.mark.parametrize(
    "out",
    [
        "{",
        "{'a': 1}",
        '{"a": 1} trailing',
        "{" * 100_000,
        '{"a":' * 100_000,
        {"hookSpecificOutput": 3},
        special(permissionDecision="perhaps"),
        special(permissionDecision=["allow"]),
        special(updatedInput=[1]),
        special(additionalContext={}),
        special(veto=3),
        special(veto=["3"]),
        special(pin=[True]),
        {"systemMessage": 3},
        {"permission_decision": "deny"},
        'Loading...\n{"permissionDecision": "deny"',
        '{"permissionDecision": "allow"}\n{"permissionDecision": "deny"}',
        'a\n{"permissionDecision": "allow"}\n{"permissionDecision": "deny"} b',
        {"continue": False, "stopReason": 3},
    ],
)
def test_output_that_is_not_understood_is_a_failure_and_changes_nothing(out: object) -> None:
    said = answer("PreToolUse", out=out)
    assert said == Reply("check", failure=said.failure)
    assert said.failure.startswith(("its output is not valid JSON", "unexpected output"))


def test_long_texts_are_cut() -> None:
    said = answer("UserPromptSubmit", out="x" * 50_000)
    assert said.context == "x" * CONTEXT_CHARS + "\n[… 50,000 characters in all]"


def test_lone_surrogates_reach_no_log() -> None:
    reply = answer("UserPromptSubmit", out='{"hookSpecificOutput": {"additionalContext": "a\\ud800b"}}')
    assert reply.context.encode().startswith(b"a")


def test_the_strictest_decision_counts() -> None:
    replies = [Reply("a", "allow"), Reply("b", "deny", "1"), Reply("c", "ask"), Reply("d", "deny", "2")]
    assert strictest(replies).name == "b"
    assert strictest(replies[::2]).name == "c"
    assert strictest([]) == Reply()
