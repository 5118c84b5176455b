"""What each stop reason does to each kind of request: an answer, a summary, a task and an answer under a schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.policy import Policy
from prunecli.agent.summaries import FAILED, MAX_FAILED
from prunecli.context.compaction import Options
from prunecli.front.headless.run import run_headless
from prunecli.model.events import AttemptBilled, CompactionApplied, SettingChanged
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.signals import Notice
from prunecli.runtime.answer_schema import AnswerSchema
from prunecli.util.errors import BadRequest
from tests.agent.running import Bench
from tests.agent.test_summaries import GIST, compacted, talked
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says
from tests.starting import closed, results, start

CUT = "not complete"
REASONS = {
    # reason: exit code of -p, of --json-schema, what the parent of a task reads, and whether a summary counts
    "end_turn": (0, 0, "", True),
    "stop_sequence": (0, 0, "", True),
    "tool_use": (0, 0, "", True),
    "pause_turn": (0, 0, "", False),
    "max_tokens": (3, 3, CUT, False),
    "model_context_window_exceeded": (3, 3, CUT, False),
    "refusal": (3, 3, CUT, False),
    "something_new": (0, 0, "", False),
}
EACH = pytest.mark.parametrize("reason", REASONS)
LONG = "long answer " * 300
OPTIONS = Options(max_context_tokens=4_000, compact_at_pct=0.5, keep_first_turns=1, keep_recent_turns=1)


def script(reason: str, words: str) -> list[Scripted]:
    """A reply with this stop reason; a paused one is followed by the rest of the turn."""
    return [Scripted((Text(words),), reason), *([says(words)] if reason == "pause_turn" else [])]


@EACH
@pytest.mark.parametrize("schema", [False, True])
async def test_an_answer_that_is_not_complete_is_a_limit(tmp_path: Path, reason: str, schema: bool) -> None:
    out: list[str] = []
    err: list[str] = []
    runtime = start(tmp_path, script(reason, '{"a": 1}'))
    asked = AnswerSchema({"type": "object"}) if schema else None
    code = await run_headless(runtime, ("hi",), form="json", out=out.append, err=err.append, schema=asked)
    result = json.loads(out[-1])
    assert code == REASONS[reason][schema]
    assert result["subtype"] == ("limit" if code else "success")
    assert bool(err) == bool(result.get("note")) == bool(code)
    await closed(runtime)


@EACH
async def test_a_task_whose_answer_is_not_complete_says_so_to_the_model(tmp_path: Path, reason: str) -> None:
    task = calls(ToolUse("t", "task", {"agent": "explore", "prompt": "look", "description": "look"}))
    runtime = start(tmp_path, [task, *script(reason, "found it"), says("Done.")])
    await runtime.submit("go")
    answer = results(runtime)[-1]
    assert "found it" in answer or reason == "refusal"
    assert (CUT in answer) == bool(REASONS[reason][2])
    assert "continue" not in answer
    await closed(runtime)


def summaries(one: Bench) -> list[CompactionApplied]:
    return [record.event for record in one.session.records if isinstance(record.event, CompactionApplied)]


async def due(*replies: Scripted, prompts: int = 1) -> Bench:
    """A bench on which a compaction is due before each of the last prompts."""
    quiet = [Scripted((Text(LONG),), usage=Usage())] * 3
    policy = Policy(window=200_000, max_tokens=1_000, compaction=OPTIONS)
    one = Bench(ScriptedProvider([*quiet, *replies]), policy=policy)
    for number in range(3 + prompts):
        await one.talk(f"prompt {number}")
    return one


@EACH
async def test_only_a_whole_summary_becomes_the_memory_of_the_session(reason: str) -> None:
    one = await due(Scripted((Text("The gist."),), reason), says("Go."))
    assert bool(summaries(one)) == REASONS[reason][3]
    billed = [record.event for record in one.session.records if isinstance(record.event, AttemptBilled)]
    assert len(billed) == (not REASONS[reason][3])
    assert one.texts()[-1] == "Go."


@EACH
async def test_only_a_whole_summary_by_the_endpoint_counts_else_the_model_writes_one(reason: str) -> None:
    one = await talked(Scripted(GIST.content, reason, GIST.usage), says("Our own gist."))
    event = await compacted(one)
    assert ("Our own gist." in event.summary) != REASONS[reason][3]


@pytest.mark.parametrize(
    "failure", [Scripted((Text("Half"),), "max_tokens"), fails(BadRequest("no")), says(""), says(LONG * 9)]
)
async def test_after_three_failures_no_summary_is_asked_for_until_something_changes(
    failure: Scripted,
) -> None:
    def told() -> list[str]:
        return [one.text for one in bench.told if isinstance(one, Notice) and "compaction failed" in one.text]

    tries: list[Scripted] = []
    for _ in range(MAX_FAILED):
        tries += [failure, says("Go.")]
    more = [says("Go."), says("Go."), says("The gist."), says("Go.")]
    bench = await due(*tries, *more, prompts=MAX_FAILED + 2)
    assert len(told()) == MAX_FAILED
    assert ["in a row" in line for line in told()] == [False, False, True]
    assert summaries(bench) == []

    changed = SettingChanged(FAILED, {"model": "another", "count": MAX_FAILED})
    bench.session.emit(changed)  # as after a switch to this model
    await bench.talk("again")
    assert [one.summary.count("The gist.") for one in summaries(bench)] == [1]


async def test_a_calling_answer_goes_on_whatever_its_reason() -> None:
    call: Any = ToolUse("t", "echo", {"words": "x"})
    bench = Bench(ScriptedProvider([Scripted((call,), "stop_sequence"), says("Done.")]))
    assert (await bench.talk("go")).reason == "finished"
    assert bench.echo.ran == ["x"]
