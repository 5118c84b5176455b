"""One log, one set of figures: in the session, headless, on the command line, and in another program."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import run_line
from prunecli.context.labels import tokens_pruned_by
from prunecli.front.headless.run import run_headless
from prunecli.front.presentation.entry_text import status_line
from prunecli.library import Pruner
from prunecli.model.events import AssistantMessage, PrunApplied, RequestSent, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.runtime import Runtime
from prunecli.util.figures import short
from tests.scripted import says
from tests.starting import start

SETS = (
    "model.name=claude-sonnet-4-5",
    "pruning.strategy=pi",
    "pruning.pi.prune_protect=200",
    "pruning.pi.protected_turns=0",
)
LINE = "结果已经写入文件 def main() -> None: return None\n"


def worked(folder: Path, *sets: str) -> Runtime:
    """A session in a file: three results, of which the oldest was pruned, and what the endpoint reported."""
    runtime = start(folder, [says("Done.")], sets=(*SETS, *sets))
    runtime.prepare()
    runtime.emit(UserMessage((Text("read them"),)))
    for number in range(3):
        counts = runtime.session.context.counts
        runtime.emit(RequestSent("claude-sonnet-4-5", counts.context_tokens, "00"))
        usage = Usage(round(1.1 * counts.context_tokens), 40, 0, 0)
        call = ToolUse(f"t{number}", "read", {"path": f"{number}.py"})
        runtime.emit(AssistantMessage((Text("I read it."), call), "claude-sonnet-4-5", "tool_use", usage))
        runtime.emit(ToolResult(call.id, "read", (Text(LINE * 60),)))
    usage = Usage(counts.context_tokens, 40, 0, 0)
    runtime.emit(AssistantMessage((Text("All is read."),), "claude-sonnet-4-5", "end_turn", usage))
    run_line(runtime, "/prune")
    assert runtime.session.context.pruns
    runtime.session.commit()
    return runtime


def ledger_of(runtime: Runtime) -> dict[str, Any]:
    return runtime.status().ledger.to_json()


def told(folder: Path, *words: str, sets: tuple[str, ...] = ()) -> Any:
    """What the command line answers, as JSON, where these values are configured."""
    return json.loads(printed(folder, *words, "--json", sets=sets))


def printed(folder: Path, *words: str, sets: tuple[str, ...] = ()) -> str:
    home = folder / "home"
    config = home / ".config" / "prunecli" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("".join(line(one) for one in (*SETS, *sets)))
    runner = CliRunner(env={"HOME": str(home), "XDG_CONFIG_HOME": None, "PRUNECLI_HOME": None})
    done = runner.invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.stdout


def line(setting: str) -> str:
    key, _, value = setting.partition("=")
    return f"{key} = {value if value.isdigit() else json.dumps(value)}\n"


@pytest.mark.parametrize("estimator", ["tiktoken", "chars4"])
async def test_the_ledger_of_a_log_is_the_same_everywhere(tmp_path: Path, estimator: str) -> None:
    setting = f"pruning.estimator={estimator}"
    runtime = worked(tmp_path, setting)
    path, live = runtime.session.path, ledger_of(runtime)
    assert path
    assert live["pruned_tokens"] > 0
    assert f"pruned {short(live['pruned_tokens'])}, " in status_line(runtime.status())
    await runtime.close()
    assert told(tmp_path, "context", str(path), sets=(setting,))["ledger"] == live
    resumed = start(tmp_path, [says("Done.")], sets=(*SETS, setting))
    resumed.open_session(path)
    assert ledger_of(resumed) == live
    (prune,) = (record for record in resumed.session.records if isinstance(record.event, PrunApplied))
    tokens = tokens_pruned_by(resumed.session.context, prune.seq)
    assert tokens == live["pruned_tokens"]
    shown = printed(tmp_path, "sessions", "show", str(path), sets=(setting,))
    assert f"✂ pruned ~{short(tokens)} tokens" in shown
    rows = told(tmp_path, "sessions", "audit", str(path), sets=(setting,))["requests"]
    asked = [record.event for record in resumed.session.records if isinstance(record.event, RequestSent)]
    assert [row["estimated"] for row in rows if row["kind"] == "request"] == [event.tokens for event in asked]
    out: list[str] = []
    await run_headless(resumed, ("go on",), form="json", out=out.append, err=out.append)
    assert json.loads(out[-1])["ledger"] == ledger_of(resumed)
    await resumed.close()
    assert told(tmp_path, "context", str(path), sets=(setting,))["ledger"] == ledger_of(resumed)


async def test_another_estimator_moves_the_figures_of_the_session_that_is_open(tmp_path: Path) -> None:
    runtime = worked(tmp_path)
    path, before = runtime.session.path, ledger_of(runtime)
    run_line(runtime, "/prune-config estimator chars4")
    after = ledger_of(runtime)
    assert after["scanned_tokens"] != before["scanned_tokens"]
    assert runtime.session.context.counts.counter.name == "chars4"
    await runtime.close()
    assert path
    assert told(tmp_path, "context", str(path), sets=("pruning.estimator=chars4",))["ledger"] == after
    assert told(tmp_path, "context", str(path), "--estimator", "chars4")["ledger"] == after


def test_a_programs_pruner_says_what_the_command_line_says(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "read them"}]
    for number in range(4):
        use = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": LINE * 60}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps({"messages": messages}))
    options = {"prune_minimum": 0, "prune_protect": 900, "protected_turns": 0}
    pruner = Pruner("pi", window=50_000, **options)
    sent = pruner.request(messages)
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    asked = ("context", str(path), "--strategy", "pi", *words, "--window", "50000", "--no-recall")
    found = told(tmp_path, *asked)
    assert (found["messages"], found["ledger"]) == (sent, pruner.ledger.to_json())
    assert found["edits"]
