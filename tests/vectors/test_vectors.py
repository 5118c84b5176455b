"""Each strategy gives the answers of its original, compared by the rule in README.md."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.config.effective import Config
from prunecli.context.view import View
from prunecli.model.events import PrunApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import Text
from prunecli.session.importers.anthropic_messages import records_of
from tests.session.points import folded

FOLDER = Path(__file__).parent
PROGRAMS = ("openclaw", "opencode", "pi", "tinyagent")
"""The original programs, each with a file of cases here and one in `large`."""


def cases_of(program: str) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(FOLDER.rglob(f"{program}.jsonl.xz"))
        for line in lzma.decompress(path.read_bytes()).decode().splitlines()
    ]


def options_of(case: dict[str, Any]) -> Any:
    config = Config()
    for key, value in case["options"].items():
        config = config.with_value(
            f"{case['strategy']}.{key}", value if isinstance(value, str) else json.dumps(value)
        )
    return config.strategy_options(case["strategy"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_answers_are_those_of_the_original(program: str) -> None:
    cases = cases_of(program)
    assert cases
    assert failing(cases, engine_agrees) == {}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_command_line_gives_the_same_answers(program: str, tmp_path: Path) -> None:
    cases = [case for case in cases_of(program) if int(case["id"].rpartition("-")[2]) % 8 == 0]
    assert cases
    assert failing(cases, lambda case: command_line_agrees(case, tmp_path)) == {}


def failing(cases: list[dict[str, Any]], check: Callable[[dict[str, Any]], None]) -> dict[str, str]:
    """Return why cases fail, by their ids. As tests of their own they would take longer to collect than to run."""
    failures: dict[str, str] = {}
    for case in cases:
        try:
            check(case)
        except Exception as failure:  # noqa: BLE001  # each case is named
            failures[case["id"]] = f"{type(failure).__name__}: {failure}"
    return failures


def engine_agrees(case: dict[str, Any]) -> None:
    records = records_of(case["messages"])
    context = folded(records)
    module = Config().strategies.module(case["strategy"])
    proposal = module.propose(View(context, case["context_window"]), options_of(case))
    context.apply(
        Record(len(records), 9_999_999_999_999, PrunApplied("strategy", proposal.edits, case["strategy"]))
    )
    agrees(case, [json.loads(message.canonical) for message in context.messages()])
    assert module.propose(View(context, case["context_window"]), options_of(case)).edits == ()


def command_line_agrees(case: dict[str, Any], tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text(json.dumps({"messages": case["messages"]}))
    options = [
        word
        for key, value in case["options"].items()
        for word in ("-o", f"{key}={value if isinstance(value, str) else json.dumps(value)}")
    ]
    window = ["--window", str(case["context_window"])]
    flags = ["--estimator", "chars4", "--no-recall", "--json"]
    runner = CliRunner(env={"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data")})
    done = runner.invoke(
        app, ["context", str(source), "--strategy", case["strategy"], *options, *window, *flags]
    )
    assert (done.exit_code, done.stderr) == (0, "")
    agrees(case, json.loads(done.stdout)["messages"])


def agrees(case: dict[str, Any], sent: list[dict[str, Any]]) -> None:
    """Holds what would be sent against the original's answer; all words of the user are there."""
    records = records_of(case["messages"])
    before = {r.event.tool_use_id: r.event for r in records if isinstance(r.event, ToolResult)}
    shown = {
        block["tool_use_id"]: "\n".join(part.get("text", "") for part in block["content"])
        for message in sent
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    check(case["expected"], before, shown)
    typed = [block for r in records if isinstance(r.event, UserMessage) for block in r.event.content]
    words = [block.text for block in typed if isinstance(block, Text)]
    said = [b["text"] for m in sent if m["role"] == "user" for b in m["content"] if b["type"] == "text"]
    assert said == words


def check(expected: dict[str, Any], before: dict[str, ToolResult], shown: dict[str, str]) -> None:
    original = {
        use: "\n".join(getattr(b, "text", "") for b in result.content) for use, result in before.items()
    }
    if "kept" in expected:
        assert set(shown) == set(expected["kept"])
    if "changed" in expected:
        for use, text in shown.items():
            wanted = expected["changed"].get(use, original[use])
            unchanged = text == original[use]
            if unchanged and len(original[use]) - len(wanted) < 8:
                continue
            assert text == (wanted or "(no output)") or (unchanged and not original[use].strip())
    if "cleared" in expected:
        cleared = {use for use, text in shown.items() if text != original[use] and original[use].strip()}
        wanted_cleared = {use for use in expected["cleared"] if len(original[use]) >= 200}
        assert wanted_cleared <= cleared <= set(expected["cleared"])
