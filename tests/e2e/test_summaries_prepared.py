"""A summary of bound thinking that was prepared: whatever happens before it is used, no request is refused for it."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from prunecli.agent.policy import Policy
from prunecli.context.compaction import CompactionPlan, prepared_plan
from prunecli.model.events import AttemptBilled, CompactionApplied, PrunReverted, Rewound
from prunecli.model.messages import Usage
from prunecli.runtime import Runtime
from prunecli.runtime.running import prepare
from tests.e2e.bound import OPUS, clear, dropped, results, session, turn
from tests.endpoint import Endpoint, Reply, Rules

OLDER = "claude-opus-4-6"
GIST = Reply("The gist of the first turns.")


def ready(runtime: Runtime) -> CompactionPlan | None:
    policy: Policy = runtime.policy
    return prepared_plan(runtime.session.context, runtime.model_name, by_endpoint=policy.compacts)


async def prepared(runtime: Runtime) -> CompactionApplied:
    """Three turns, and a summary of the first two."""
    for words in ("one", "two", "three"):
        await runtime.submit(words)
    plan = runtime.policy.plan_compaction(runtime.session.context, "")
    assert plan is not None
    before = runtime.session.context.messages()
    assert await prepare(runtime, plan) == ""
    assert runtime.session.context.messages() == before, "it is not in effect"
    billed = runtime.session.records[-1].event
    assert isinstance(billed, AttemptBilled)
    assert billed.prepared is not None
    return billed.prepared


async def warm(runtime: Runtime) -> None:
    await runtime.submit("four")


async def edited(runtime: Runtime) -> None:
    clear(runtime, results(runtime)[0])
    await runtime.submit("four")


async def rewound(runtime: Runtime) -> None:
    runtime.emit(Rewound(runtime.session.context.user_turns[1] - 1))
    await runtime.submit("four")


async def other_model(runtime: Runtime) -> None:
    runtime.set_model("claude-sonnet-5-5")
    await runtime.submit("four")


async def summarized(runtime: Runtime) -> None:
    assert await runtime.compact()
    await runtime.submit("four")


@pytest.mark.parametrize("model", [OPUS, OLDER])
@pytest.mark.parametrize(
    ("meanwhile", "usable"),
    [
        (warm, (OPUS, OLDER)),
        (edited, (OLDER,)),
        (rewound, ()),
        (other_model, (OPUS, OLDER)),
        (summarized, ()),
    ],
    ids=["warm turns", "an edit", "a rewind", "another model", "another summary"],
)
async def test_it_is_used_where_it_is_valid_and_else_left(
    tmp_path: Path, meanwhile: Callable[[Runtime], Awaitable[None]], usable: tuple[str, ...], model: str
) -> None:
    script = [*turn(0), *turn(1), *turn(2), GIST]
    script += [GIST] * (meanwhile is summarized)
    async with Endpoint([*script, *turn(3), *turn(4), *turn(5)]) as endpoint:
        async with session(tmp_path, endpoint, model=model) as runtime:
            kept = await prepared(runtime)
            await meanwhile(runtime)
        async with session(tmp_path, endpoint, model=model, continue_last=True) as runtime:
            plan = ready(runtime)
            assert (plan is not None) == (model in usable)
            if plan and plan.by_endpoint:
                context = runtime.session.context
                assert prepared_plan(context, "claude-sonnet-5-5", by_endpoint=True) is None
                assert prepared_plan(context, model, by_endpoint=False) is None
            asked = len(endpoint.requests)
            if plan:
                assert await runtime.compact(plan=plan)
                made = runtime.session.records[-1]
                assert isinstance(made.event, CompactionApplied)
                assert (made.event.tail_start, made.event.usage) == (kept.tail_start, Usage())
                assert len(endpoint.requests) == asked, "it asks nothing"
            assert runtime.session.context.ahead.is_used == (plan is not None)
            await runtime.submit("five")
            if plan:
                text = json.dumps(endpoint.requests[-1].messages)
                assert text.count("The gist of the first turns.") == 1
                assert text.count('"one"') + text.count("one\\n") == 1, "the user's words stay"
                runtime.emit(PrunReverted((made.seq,), ("summary_undo",)))
            await runtime.submit("six")
        assert [request.refusal for request in endpoint.rejected] == []
        if plan and model == OPUS and meanwhile is warm:
            assert sum(dropped(endpoint)[:-2]) == 0, "thinking of the kept turns stays valid"


@pytest.mark.parametrize(("how", "bills"), [("empty", 1), ("unavailable", 0)])
async def test_where_the_endpoint_makes_none_there_is_none_and_its_cost_is_known(
    tmp_path: Path, how: Any, bills: int
) -> None:
    async with Endpoint([*turn(0), *turn(1)], rules=Rules(summaries=how)) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("one")
            await runtime.submit("two")
            plan = runtime.policy.plan_compaction(runtime.session.context, "")
            assert plan is not None
            assert plan.by_endpoint
            told: list[object] = []
            runtime.session.subscribe(told.append)
            assert await prepare(runtime, plan)
            assert runtime.session.context.ahead.billed is None
            assert len(told) == bills, "nothing is shown"
        assert len(endpoint.requests) == 5, "it is asked for once"
