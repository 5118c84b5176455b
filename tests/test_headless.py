"""Headless runs: what is printed in each form, and the exit codes."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from prunecli.errors import ConnectionLost, PrunecliError, Unauthorized
from prunecli.headless import OutputFormat, run_headless, user_turns
from prunecli.model.messages import Text, ToolUse
from prunecli.providers.scripted import Scripted, ScriptedProvider, calls, fails, says
from tests.starting import start

AUTO = ("permissions.mode=auto", "pruning.pi.protected_turns=0", "pruning.pi.prune_protect=10")


async def run(
    folder: Path, script: list[Scripted], form: OutputFormat = "text", prompts: tuple[str, ...] = ("hi",)
) -> Any:
    out: list[str] = []
    err: list[str] = []
    runtime = start(folder, script, sets=AUTO)
    code = await run_headless(runtime, prompts, form=form, out=out.append, err=err.append)
    return code, out, err


async def test_text_prints_the_answer_alone(tmp_path: Path) -> None:
    assert await run(tmp_path, [calls(ToolUse("t", "ls", {}), text="Looking"), says("Hello.")]) == (
        0,
        ["Hello."],
        [],
    )


async def test_control_characters_of_the_model_never_reach_the_terminal(tmp_path: Path) -> None:
    """TUI-01."""
    _, out, _ = await run(tmp_path, [says("a\x1b]52;c;x\x07b\x9b31m")])
    assert not set(out[0]) & {"\x1b", "\x07", "\x9b"}


async def test_json_prints_one_object(tmp_path: Path) -> None:
    code, out, _ = await run(tmp_path, [says("Hello.")], "json")
    assert (code, len(out)) == (0, 1)
    result = json.loads(out[0])
    assert result["subtype"] == "success"
    assert result["result"] == "Hello."
    assert result["num_turns"] == 1
    assert result["usage"]["input_tokens"] == 100
    assert set(result["ledger"]) >= {"scanned_tokens", "pruned_tokens", "context_tokens", "window"}


async def test_stream_json_prints_an_object_for_each_event(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "x.txt").write_text("words\n" * 25_000)
    script = [
        *(calls(ToolUse(f"t{n}", "read", {"path": "x.txt", "limit": 20_000 + n})) for n in range(6)),
        says("Hello."),
    ]
    code, out, _ = await run(tmp_path, script, "stream-json")
    objects = [json.loads(line) for line in out]
    kinds = [(one["type"], one.get("subtype")) for one in objects]
    assert code == 0
    assert kinds[0] == ("system", "init")
    assert kinds[-1] == ("result", "success")
    assert ("system", "prun_applied") in kinds
    assert objects[2]["message"]["content"][0]["type"] == "tool_use"
    assert objects[3]["message"]["content"][0]["type"] == "tool_result"


async def test_a_summary_is_announced_and_is_no_answer(tmp_path: Path) -> None:
    long = "long answer " * 300
    limits = ("compaction.max_context_tokens=10000", "compaction.compact_at_pct=0.5")
    turns = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1")
    runtime = start(tmp_path, [*[says(long)] * 3, says("The gist."), says("Go.")], sets=(*limits, *turns))
    out: list[str] = []
    err: list[str] = []
    await run_headless(runtime, ("a", "b", "c", "d"), form="text", out=out.append, err=err.append)
    assert out[-1] == "Go."
    assert err == ["summarising the older part of the session …"]


async def test_retries_are_told(tmp_path: Path) -> None:
    _, out, err = await run(tmp_path, [fails(ConnectionLost("gone")), says("Now.")], "stream-json")
    assert any(json.loads(line).get("subtype") == "api_retry" for line in out)
    assert "trying again" in err[0]


async def test_a_failure_of_the_model_is_exit_code_1_with_one_line(tmp_path: Path) -> None:
    code, out, err = await run(
        tmp_path, [fails(Unauthorized("the key is not valid", "prunecli login"))], "json"
    )
    assert code == 1
    assert json.loads(out[0])["subtype"] == "error"
    assert err == ["prunecli: the key is not valid\nprunecli login"]


async def test_a_refusal_is_exit_code_3(tmp_path: Path) -> None:
    code, _, err = await run(tmp_path, [Scripted((Text("No."),), "refusal")])
    assert code == 3
    assert "refused" in err[0]


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
async def test_signals_end_a_run_in_order(tmp_path: Path, number: signal.Signals, expected: int) -> None:
    provider = ScriptedProvider([Scripted((Text("word " * 9),), until=asyncio.Event())])
    runtime = start(tmp_path, provider=provider)
    out: list[str] = []
    running = asyncio.ensure_future(
        run_headless(runtime, ["hi"], form="json", out=out.append, err=out.append)
    )
    await provider.paused.wait()
    os.kill(os.getpid(), number)
    assert await running == expected
    assert json.loads(out[-1])["subtype"] == "interrupted"


async def test_several_prompts_run_one_after_the_other(tmp_path: Path) -> None:
    code, out, _ = await run(tmp_path, [says("One."), says("Two.")], "json", ("a", "b"))
    assert code == 0
    assert json.loads(out[0])["num_turns"] == 2


async def test_nobody_is_asked(tmp_path: Path) -> None:
    script = [calls(ToolUse("t", "bash", {"command": "rm -rf x"})), says("Ok.")]
    runtime = start(tmp_path, script)
    await run_headless(runtime, ["hi"], form="text", out=lambda _: None, err=lambda _: None)
    assert any("did not allow" in entry.text for entry in runtime.session.context.entries.values())


async def test_an_untrusted_directory_is_read_only(tmp_path: Path) -> None:
    """CFG-09."""
    script = [calls(ToolUse("t", "write", {"path": "x", "content": "y"})), says("Ok.")]
    runtime = start(tmp_path, script, sets=("permissions.mode=auto",), trusted=False)
    await run_headless(runtime, ["hi"], form="text", out=lambda _: None, err=lambda _: None)
    assert not (runtime.setup.cwd / "x").exists()


def test_stream_json_input_is_one_message_a_line() -> None:
    lines = '{"type":"user","message":{"role":"user","content":"one"}}\n\n' + json.dumps(
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "two"}]}}
    )
    assert user_turns(lines, "stream-json") == ["one", "two"]
    assert user_turns("  \n", "text") == []


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"message":{"content":[{"type":"image"}]}}', "[]", "3"])
def test_a_malformed_line_of_input_is_named(line: str) -> None:
    with pytest.raises(PrunecliError, match="line 2"):
        user_turns('{"message":{"content":"x"}}\n' + line, "stream-json")
