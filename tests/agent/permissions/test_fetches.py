"""Requests to web hosts: asked about by host, named by rules, offered as a rule, never in an untrusted directory."""

from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.gatekeeper import SessionGatekeeper, nobody
from prunecli.features.web.fetch_tool import WebFetchInput
from prunecli.front.presentation.questions import sheet_of
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.safety.permissions.judge import judge
from prunecli.safety.permissions.rules import covers
from prunecli.safety.permissions.verdict import Rules, Verdict
from prunecli.tools.registry import load
from prunecli.tools.tool import touches_of
from prunecli.util.errors import ConfigError

HOST = "docs.python.org"


def judged(folder: Path, host: str = HOST, **changed: Any) -> Verdict:
    given = {"mode": "ask", "rules": Rules(), "trusted": True, **changed}
    touches = Touches(fetches=(host,))
    return judge("web_fetch", touches, workspace=folder, cwd=folder, home=folder / "home", **given)


def test_each_host_is_asked_about_and_offers_a_rule(tmp_path: Path) -> None:
    for mode in ("ask", "edits", "plan"):
        verdict = judged(tmp_path, mode=mode)
        assert (verdict.kind, verdict.rules) == ("ask", ("web_fetch(docs.python.org)",))
        assert verdict.reason == "sends a request to docs.python.org"
        assert not verdict.may_change_files
    assert judged(tmp_path, mode="auto").kind == "allow"
    assert judged(tmp_path, mode="plan", rules=Rules(allow=("web_fetch",))).kind == "allow"
    assert judged(tmp_path, mode="auto", trusted=False).kind == "deny"
    assert judged(tmp_path, rules=Rules(allow=("*",)), trusted=False).kind == "deny"
    for host in ("localhost:8000", "93.184.216.34", "[2606:4700::1111]:8443", "xn--bcher-kva.example"):
        assert judged(tmp_path, host).rules == (f"web_fetch({host})",)


@pytest.mark.parametrize(
    ("rule", "host", "names"),
    [
        ("web_fetch(docs.python.org)", HOST, True),
        ("Web_Fetch(Docs.Python.org)", HOST, True),
        ("web_fetch(domain:docs.python.org)", HOST, True),
        ("web_fetch(*.python.org)", HOST, True),
        ("web_fetch(*)", HOST, True),
        ("web_fetch(domain:*)", HOST, True),
        ("web_fetch", HOST, True),
        ("*", HOST, True),
        ("web_fetch(python.org)", HOST, False),
        ("web_fetch(*.docs.python.org)", HOST, False),
        ("web_fetch(docs.python.org)", "docs.python.org.evil.example", False),
        ("web_fetch(*.python.org)", "evilpython.org", False),
        ("bash", HOST, False),
        ("read", HOST, False),
        ("mcp", HOST, False),
        ("web_fetch(localhost)", "localhost:8000", True),
        ("web_fetch(localhost:8000)", "localhost:8000", True),
        ("web_fetch(localhost:8000)", "localhost:9000", False),
        ("web_fetch(localhost:8000)", "localhost", False),
        ("web_fetch(10.0.0.1)", "10.0.0.1", True),
        ("web_fetch([::1]:80)", "[::1]:80", True),
        ("web_fetch([::1])", "[::1]", True),
        ("web_fetch([::1])", "[::2]", False),
    ],
)
def test_a_rule_names_hosts(tmp_path: Path, rule: str, host: str, names: bool) -> None:
    assert (judged(tmp_path, host, rules=Rules(allow=(rule,))).kind == "allow") is names
    assert (judged(tmp_path, host, mode="auto", rules=Rules(deny=(rule,))).kind == "deny") is names
    assert (judged(tmp_path, host, mode="auto", rules=Rules(ask=(rule,))).kind == "ask") is names


@pytest.mark.parametrize(
    "rule",
    ["web_fetch()", "web_fetch(https://a.b/)", "web_fetch(*.com)", "web_fetch(a b)", "web_fetch(2130706433)"],
)
def test_a_rule_for_no_host_is_an_error_with_the_way_to_write_it(rule: str) -> None:
    with pytest.raises(ConfigError, match="permission rule") as error:
        Rules(allow=(rule,))
    assert "web_fetch" in error.value.hint or "bash(" in error.value.hint


async def test_an_answer_keeps_the_host_and_headless_nobody_is_asked(tmp_path: Path) -> None:
    async def always(_: Asked) -> Answer:
        return Answer("always")

    keeper = SessionGatekeeper(Rules(), "ask", True, tmp_path, asker=always)
    touches = Touches(fetches=(HOST,))
    asked = Asked(ToolUse("t", "web_fetch", {}), touches, "", keeper.judge("web_fetch", touches).rules)
    await keeper.ask(asked)
    assert keeper.judge("web_fetch", touches).kind == "allow"
    assert keeper.judge("web_fetch", Touches(fetches=("pypi.org",))).kind == "ask"
    assert keeper.forget("web_fetch(docs.python.org)")
    assert keeper.judge("web_fetch", touches).kind == "ask"
    assert (await nobody(asked)).kind == "deny"


def test_the_question_shows_the_whole_url_with_its_host_as_punycode(tmp_path: Path) -> None:
    url = "http://pyp\u0456.org/a?token=\u202esecret"
    tool = load("web_fetch")
    asked = Asked(
        ToolUse("t", "web_fetch", {"url": "http://pyp\u0456.org/a?b=c"}), Touches(fetches=("x",)), ""
    )
    sheet = sheet_of(asked, lambda _: None, tmp_path)
    assert (sheet.title, sheet.text) == (
        "Fetch this page?",
        "https://xn--pyp-jma.org/a?b=c"[:12] + sheet.text[12:],
    )
    assert sheet.text.startswith("https://xn--pyp-")
    assert sheet.text.endswith(".org/a?b=c")
    assert touches_of(tool, WebFetchInput(url)) == Touches(), "a URL that is refused is not asked about"
    assert touches_of(tool, WebFetchInput("http://user:x@a.b/")) == Touches()
    assert covers(("web_fetch(pypi.org)",)) == "every page of pypi.org"
