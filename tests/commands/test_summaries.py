"""/compact and /undo of a summary: what they say before, what they do, and that an undo leaves nothing behind."""

from pathlib import Path

import pytest

from prunecli.commands.command import CompactNow, Confirm, Effect, InThread, run_line
from prunecli.model.events import SUMMARY_UNDO, CompactionApplied, PrunApplied, PrunReverted
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from tests.commands.test_commands import say
from tests.scripted import calls, says
from tests.starting import start

SETS = (
    "permissions.mode=auto",
    "pruning.spill.enabled=false",
    "compaction.keep_first_turns=1",
    "compaction.keep_recent_turns=1",
    "model.name=claude-opus-5",
)


async def long_session(folder: Path, *sets: str) -> Runtime:
    """Four turns, of which the last but one and the last read a long file."""
    turns = [(calls(ToolUse(f"t{n}", "read", {"path": "long.txt"})), says("Read.")) for n in range(4)]
    answers = [one for turn in turns for one in turn]
    runtime = start(
        folder, [*answers, says("The gist."), says("More."), says("The gist.")], sets=(*SETS, *sets)
    )
    (runtime.setup.cwd / "long.txt").write_text("a line of some length\n" * 900)
    for n in range(4):
        await runtime.submit(f"read it {n}")
    return runtime


async def undone(runtime: Runtime, line: str = "/undo") -> list[Effect]:
    (work,) = run_line(runtime, line)
    assert isinstance(work, InThread)
    return list(work.work())


async def test_a_summary_says_its_gain_its_price_and_what_becomes_protected_first(tmp_path: Path) -> None:
    runtime = await long_session(tmp_path, "ui.confirm=always")
    (asked,) = run_line(runtime, "/compact the parser")
    assert isinstance(asked, Confirm)
    assert asked.line.startswith("Frees ")
    assert "price unknown" in asked.line, "this endpoint reports no cache"
    assert "in 2 results stay and become protected" in asked.line
    assert list(asked.then()) == [CompactNow("the parser")]


async def test_a_summary_prunes_what_it_keeps_and_undo_takes_both_back(tmp_path: Path) -> None:
    runtime = await long_session(
        tmp_path, "ui.confirm=never", "pruning.strategy=aggressive", "aggressive.keep_last_assistants=0"
    )
    context = runtime.session.context
    before, tokens = context.messages(), context.counts.context_tokens
    assert await runtime.compact()
    *_, prune, summary = [
        one for one in runtime.session.records if isinstance(one.event, PrunApplied | CompactionApplied)
    ]
    assert isinstance(prune.event, PrunApplied)
    assert prune.event.reason == "the summary rewrites the cache anyway"
    assert isinstance(summary.event, CompactionApplied)
    assert summary.event.tokens_after < summary.event.tokens_before
    assert abs(context.counts.context_tokens - summary.event.tokens_after) <= 2
    assert "Summary undone" in say(await undone(runtime))
    assert (context.messages(), context.counts.context_tokens) == (before, tokens)
    last = runtime.session.records[-1].event
    assert last == PrunReverted((summary.seq,), (SUMMARY_UNDO,))
    assert "Nothing to undo" in say(list(run_line(runtime, "/undo")))
    assert await runtime.compact(), "and it may be summarized again"


@pytest.mark.parametrize("limit", [9_000, 200_000])
async def test_the_undo_of_a_summary_that_would_come_again_at_once_is_refused(
    tmp_path: Path, limit: int
) -> None:
    runtime = await long_session(tmp_path, "ui.confirm=never")
    assert await runtime.compact()
    runtime.use_config(runtime.config.with_value("compaction.max_context_tokens", str(limit)))
    said = say(await undone(runtime))
    assert ("The summary stays: " in said) is (limit == 9_000)
    assert bool(runtime.session.context.summaries) is (limit == 9_000)
    if limit == 9_000:
        assert "would be over 7.7K, where it is summarized at 85% of" in said
