"""The running balance of a session: in the ledger, in /prune-stats and /cost, and whether pruning loses money."""

import re
from pathlib import Path

import pytest

from prunecli.commands.command import Say, Table, run_line
from prunecli.context.strategies.auto import LOSING
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, RequestSent, Spilled, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from tests.starting import start

MODEL = "claude-sonnet-4-5"


def answered(runtime: Runtime, read: int, written: int, *calls: ToolUse) -> None:
    runtime.emit(RequestSent(MODEL, 0, "00"))
    runtime.emit(AssistantMessage((Text("b"), *calls), MODEL, usage=Usage(0, 100, read, written)))


def held(folder: Path) -> Runtime:
    """A session that held back 40,000 tokens of a result."""
    runtime = start(folder, sets=(f"model.name={MODEL}",))
    runtime.emit(UserMessage((Text("hello"),)))
    answered(runtime, 0, 9_000, ToolUse("t1", "bash", {"command": "make"}))
    runtime.emit(ToolResult("t1", "bash", (Text("word " * 9),), spilled=Spilled(40_000, "word ")))
    answered(runtime, 9_000, 500)
    return runtime


def words(runtime: Runtime, line: str) -> str:
    effect = run_line(runtime, line)[0]
    assert isinstance(effect, Say | Table)
    return effect.text if isinstance(effect, Say) else effect.note


def test_what_was_held_back_is_in_the_ledger_the_statistics_and_the_bill(tmp_path: Path) -> None:
    runtime = held(tmp_path)
    ledger = runtime.status().ledger.to_json()
    assert ledger["saved_usd"] == ledger["net_usd"] != 0
    assert (ledger["paid_usd"], ledger["regret_usd"]) == (0, 0)
    assert not runtime.balance.losing()
    assert words(runtime, "/cost").endswith("Pruning saved $0.18 net in this session.")
    stats = words(runtime, "/prune-stats")
    assert re.search(r"  less        \$0\.18 for [\d.]+K tokens not sent", stats)
    assert "saved         $0.18" in stats


def test_a_recall_counts_against_it(tmp_path: Path) -> None:
    runtime = held(tmp_path)
    runtime.emit(UserMessage((Text("show it"),)))
    answered(runtime, 9_500, 50, ToolUse("t2", "recall", {"entry": 3}))
    result = next(entry.seq for entry in runtime.session.context.entries.values() if entry.kind == "result")
    runtime.emit(
        AssistantMessage(
            (ToolUse("t3", "recall", {"entry": result}),), MODEL, "tool_use", Usage(0, 9, 9_550, 9)
        )
    )
    runtime.emit(ToolResult("t3", "recall", (Text("word " * 30_000),), tokens=30_000))
    answered(runtime, 9_560, 37_000)
    regret = runtime.status().ledger.to_json()["regret_usd"]
    assert isinstance(regret, float)
    assert regret > 0.1
    assert "for fetching 1 result again" in words(runtime, "/prune-stats")
    assert "; fetching 1 result again cost ~$" in words(runtime, "/cost")


def test_restoring_what_was_held_back_counts_against_it(tmp_path: Path) -> None:
    runtime = held(tmp_path)
    result = next(entry.seq for entry in runtime.session.context.entries.values() if entry.kind == "result")
    runtime.use_config(runtime.config.with_value("ui.confirm", "never"))
    run_line(runtime, f"/restore {result}")
    answered(runtime, 9_500, 40_100)
    assert runtime.status().ledger.to_json()["regret_usd"] == pytest.approx(40_100 * 3.75e-6), "as written"


def test_a_prune_that_only_breaks_the_cache_loses_money(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=(f"model.name={MODEL}",))
    runtime.emit(UserMessage((Text("hello"),)))
    answered(runtime, 0, 9_000, ToolUse("t1", "bash", {"command": "make"}))
    runtime.emit(ToolResult("t1", "bash", (Text("word " * 90),)))
    answered(runtime, 9_000, 81_000)
    result = next(entry.seq for entry in runtime.session.context.entries.values() if entry.kind == "result")
    runtime.emit(PrunApplied("user", (Edit("clear", result, None, "x", 10, 0),), tokens_removed=10))
    answered(runtime, 9_000, 81_000)
    assert runtime.balance.losing()
    assert runtime.policy.losing()
    assert "Pruning cost $0.28 net in this session." in words(runtime, "/cost")
    assert "saved        -$0.28\n" in words(runtime, "/prune-stats")
    said = runtime.balance.said
    said.update({"told", LOSING})
    assert runtime.balance.losing()
    assert said == {"told", LOSING}
    runtime.new_session()
    assert not runtime.balance.losing(), "another session has its own balance"
    assert runtime.balance.said == set()


def test_a_loss_is_reported_again_if_pruning_has_paid_off_meanwhile(tmp_path: Path) -> None:
    runtime = held(tmp_path)
    runtime.balance.said.update({"told", LOSING})
    assert not runtime.balance.losing()
    assert runtime.balance.said == {"told"}


def test_without_a_known_price_there_is_no_figure(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=("model.name=local",))
    runtime.emit(UserMessage((Text("hello"),)))
    runtime.emit(PrunApplied("user", (Edit("clear", 1, None, "x", 10, 0),), tokens_removed=10))
    runtime.emit(AssistantMessage((Text("b"),), "local", usage=Usage(0, 100, 1_000, 10)))
    assert runtime.status().ledger.to_json()["net_usd"] is None
    assert not runtime.balance.losing()
    assert "balance" not in words(runtime, "/prune-stats")
