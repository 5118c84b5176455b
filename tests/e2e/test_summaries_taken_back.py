"""Random sessions with prunes, summaries, undos, rewinds and resumes on the strict endpoint."""

import random
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands.command import InThread, run_line
from prunecli.context.compaction import CompactionPlan
from prunecli.features.rewind.rewinding import points_of
from prunecli.model.events import CompactionApplied, Rewound
from prunecli.runtime import Runtime
from tests.e2e.bound import session
from tests.endpoint import Call, Endpoint, Reply, Thinking

OLDER = "claude-opus-4-5"
MODELS = ("claude-opus-5-5", OLDER, "claude-sonnet-5-5")
CLEARING = (
    *("pruning.enabled=true", "pruning.strategy=pi", "pi.prune_protect=100", "pi.protected_turns=0"),
    "ui.confirm=never",
)
GIST = "What was asked and done so far, in a few words."


class Model:
    """Reads a file at each prompt, then answers; writes a summary where it is asked for one."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def __call__(self, body: Any, _: int) -> Reply:
        last = body["messages"][-1]
        texts = [block.get("text", "") for block in last["content"] if isinstance(block, dict)]
        if "compaction" in body or any(text.startswith("[This is prunecli") for text in texts):
            return Reply(GIST)
        if last["role"] == "user" and not any(block["type"] == "tool_result" for block in last["content"]):
            number = self.chance.randrange(12)
            return Reply([Thinking(f"I look at {number}."), Call("read", {"path": f"{number}.txt"})])
        return Reply([Thinking("That is all."), "Done."])


def run(runtime: Runtime, line: str) -> None:
    for effect in run_line(runtime, line):
        for more in effect.work() if isinstance(effect, InThread) else ():
            assert more


async def do(runtime: Runtime, chance: random.Random) -> None:
    """Do something that a person may do."""
    context = runtime.session.context
    deeds = ["say", "say", "say", "compact", "compact", "undo", "undo", "prune", "kept", "rewind", "redo"]
    match chance.choice(deeds):
        case "say":
            await runtime.submit(f"look at something, {chance.randrange(100)}")
        case "compact":
            await summarized(runtime)
        case "undo":
            run(runtime, "/undo")
        case "redo":
            run(runtime, "/redo")
        case "prune":
            run(runtime, "/prune")
        case "kept":
            prune_kept(runtime)
        case "rewind" if points := points_of(runtime):
            runtime.emit(Rewound(chance.choice(points).seq))
    assert context.counts.context_tokens >= 0


async def summarized(runtime: Runtime) -> None:
    """Summarize; what was said before the summary is true of it."""
    context = runtime.session.context
    plan: CompactionPlan | None = runtime.policy.plan_compaction(context, "")
    effect = runtime.policy.summary(context, plan) if plan else None
    if not await runtime.compact():
        return
    event = runtime.session.context.entries[runtime.session.context.boundary].event
    assert isinstance(event, CompactionApplied)
    assert event.tokens_after < event.tokens_before
    assert effect is not None
    assert effect.before == event.tokens_before
    assert effect.freed >= 0


def prune_kept(runtime: Runtime) -> None:
    """What a summary kept is protected from strategies, and pruned by the person."""
    context = runtime.session.context
    kept = [
        part
        for item in context.items
        if item.exchange and item.seq < context.boundary and not context.dropped(item.exchange)
        for part in item.exchange.results
        if context.text_edit(part.seq) is None and part.seq not in context.pinned
    ]
    view = runtime.policy.view(context)
    for part in kept[:1]:
        assert view.locked(part) == "kept by a summary"
        run(runtime, f"/prune {part.seq}")
        edit = context.text_edit(part.seq)
        assert edit is not None
        assert edit.kind == "clear"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("part", range(10))
async def test_no_request_of_random_sessions_with_summaries_is_rejected(
    tmp_path: Path, model: str, part: int
) -> None:
    """7 sessions for each of 10 parts and 3 models, each resumed once; `session` verifies each log."""
    made = back = 0
    for number in range(7):
        chance = random.Random(1000 * part + number)
        folder = tmp_path / str(number)
        async with Endpoint(Model(chance)) as endpoint:
            async with session(folder, endpoint, *CLEARING, model=model) as runtime:
                for number in range(3):
                    await runtime.submit(f"look at something first, {number}")
                for _ in range(10):
                    await do(runtime, chance)
                tokens, sha = runtime.session.context.counts.context_tokens, runtime.session.context.sha256()
                name = runtime.session.id
            async with session(folder, endpoint, *CLEARING, model=model, resume=name) as runtime:
                assert runtime.session.context.sha256() == sha
                assert runtime.session.context.counts.context_tokens == tokens
                for _ in range(6):
                    await do(runtime, chance)
            assert [request.refusal.message for request in endpoint.rejected if request.refusal] == []
            made += sum(isinstance(record.event, CompactionApplied) for record in runtime.session.records)
            back += sum(bool(getattr(record.event, "requires", ())) for record in runtime.session.records[1:])
    assert made > 5
    assert back > 0
