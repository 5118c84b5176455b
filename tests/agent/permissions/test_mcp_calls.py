"""Calls of MCP servers: asked about by default, named by rules, denied where only reading is allowed."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.safety.permissions.judge import judge
from prunecli.safety.permissions.rules import parse_rule
from prunecli.safety.permissions.verdict import Rules, Verdict
from prunecli.util.errors import ConfigError

CALL = "github:create_issue"


def judged(folder: Path, target: str = CALL, **changed: Any) -> Verdict:
    given = {"mode": "ask", "rules": Rules(), "trusted": True, **changed}
    touches = Touches(calls=(target,))
    return judge("mcp_call", touches, workspace=folder, cwd=folder, home=folder / "home", **given)


def test_a_call_is_asked_about_and_offers_a_rule_for_this_tool(tmp_path: Path) -> None:
    for mode in ("ask", "edits"):
        verdict = judged(tmp_path, mode=mode)
        assert (verdict.kind, verdict.rules) == ("ask", ("mcp(github:create_issue)",))
        assert verdict.may_change_files
    assert judged(tmp_path, "github:a*b").rules == (), "a name with a star cannot be a rule for one tool"
    assert judged(tmp_path, mode="auto").kind == "allow"
    assert judged(tmp_path, mode="plan").kind == "deny"
    assert judged(tmp_path, mode="auto", trusted=False).kind == "deny"
    assert judged(tmp_path, rules=Rules(allow=("*",)), trusted=False).kind == "deny"


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("mcp(github:create_issue)", True),
        ("mcp(github:*)", True),
        ("mcp(github:create_*)", True),
        ("mcp(*)", True),
        ("mcp", True),
        ("mcp_call", True),
        ("*", True),
        ("mcp(github:create)", False),
        ("mcp(git:*)", False),
        ("mcp(GitHub:*)", False),
        ("mcp(github:create_issue_now)", False),
        ("bash", False),
        ("edit(**)", False),
    ],
)
def test_a_rule_names_a_server_and_a_tool(tmp_path: Path, rule: str, names: bool) -> None:
    assert (judged(tmp_path, rules=Rules(allow=(rule,))).kind == "allow") is names
    assert (judged(tmp_path, mode="auto", rules=Rules(deny=(rule,))).kind == "deny") is names
    assert (judged(tmp_path, mode="auto", rules=Rules(ask=(rule,))).kind == "ask") is names


def test_a_dot_in_a_rule_is_a_dot(tmp_path: Path) -> None:
    assert judged(tmp_path, "aXb:c", rules=Rules(allow=("mcp(a.b:c)",))).kind == "ask"
    assert judged(tmp_path, "a:b\nc", rules=Rules(deny=("mcp(a:*)",))).kind == "deny"
    assert judged(tmp_path, "a:b\nc").rules == ()


@pytest.mark.parametrize("rule", ["mcp(github)", "mcp()", "mcp(github:x"])
def test_a_rule_that_names_no_tool_is_an_error(rule: str) -> None:
    with pytest.raises(ConfigError, match="permission rule"):
        parse_rule(rule)


async def test_what_a_server_claims_stands_in_the_question_and_decides_nothing(tmp_path: Path) -> None:
    asked: list[Asked] = []

    async def ask(one: Asked) -> Answer:
        asked.append(one)
        return Answer("deny")

    keeper = SessionGatekeeper(Rules(), "ask", True, tmp_path, asker=ask, claims=lambda _: "only reads")
    touches = Touches(calls=(CALL,))
    verdict = keeper.judge("mcp_call", touches)
    assert verdict.kind == "ask"
    await keeper.ask(Asked(ToolUse("t1", "mcp_call", {}), touches, verdict.reason, verdict.rules))
    assert asked[0].reason.endswith("it says that it only reads, which is not verified")


def test_a_rule_with_many_stars_is_matched_at_once() -> None:
    assert not parse_rule("mcp(x:" + "*a" * 30 + "b)").names_call("x:" + "a" * 5000)
    assert parse_rule("mcp(x:*a*b)").names_call("x:caab")
