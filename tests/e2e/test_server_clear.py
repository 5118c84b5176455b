"""The endpoint clears tool results itself: nothing is refused, no thinking is lost, every figure says so."""

import json
from pathlib import Path

import pytest

from prunecli.commands import prune
from prunecli.commands.command import Say, Table
from prunecli.context.labels import Key
from prunecli.context.ledger import Ledger
from prunecli.context.outline import Outline
from prunecli.context.state import Context
from prunecli.features.inspector import command as context_command
from prunecli.features.inspector.inspect import inspect
from prunecli.features.money import cost_command as cost
from prunecli.features.money import prune_stats_command as prune_stats
from prunecli.front.presentation.entry_text import status_line
from prunecli.model.signals import Notice
from prunecli.providers.models import token_factor
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime import Runtime
from prunecli.session.audit import audit
from prunecli.util.figures import short
from tests.e2e.bound import answers, dropped, session, turn
from tests.endpoint import Endpoint, Reply, Rules

ON = (
    *("pruning.enabled=true", "pruning.strategy=server_clear", "pruning.server_clear.trigger=4"),
    *("pruning.server_clear.trigger_by=tool_uses", "pruning.server_clear.keep=2"),
)
BETA = "context-management-2025-06-27"
FIELD = "context_management"
GOLDEN = Path(__file__).parents[1] / "golden" / "server_clear.json"


def cleared(endpoint: Endpoint) -> list[int]:
    """Tool uses cleared from each request that was answered."""
    answered = (request for request in endpoint.requests if request.refusal is None)
    return [sum(edit["cleared_tool_uses"] for edit in request.applied_edits) for request in answered]


def ledger(runtime: Runtime) -> Ledger:
    return runtime.status().ledger


def outside(runtime: Runtime) -> Ledger:
    """The ledger of the recorded log, as `prunecli context` has it."""
    chosen = runtime.policy.chosen
    found = inspect(
        runtime.session.records,
        chosen,
        window=runtime.policy.window,
        counter=SHIPPED,
        factor_of=token_factor,
        recall=True,
        recorded=True,
    )
    return found.ledger


async def test_the_endpoint_clears_and_no_thinking_is_dropped(tmp_path: Path) -> None:
    async with Endpoint([*turn(0, 1, 2, 3), *turn(4), *turn(5)]) as endpoint:
        async with session(tmp_path, endpoint, *ON) as runtime:
            for words in ("look", "again", "and again"):
                await runtime.submit(words)
            assert endpoint.rejected == []
            assert dropped(endpoint) == [0] * 9
            assert cleared(endpoint) == [0, 0, 0, 0, 0, 0, 3, 3, 4]
            reported = [edit for one in answers(runtime) for edit in one.applied_edits or ()]
            assert [edit["cleared_tool_uses"] for edit in reported] == [3, 3, 4]
            live = ledger(runtime)
            assert live.cleared_tool_uses == 4
            assert live.cleared_tokens == reported[-1]["cleared_input_tokens"]
            assert outside(runtime) == live
            before = runtime.session.context.preamble
        async with session(tmp_path, endpoint, *ON, continue_last=True) as runtime:
            assert ledger(runtime) == live
            assert runtime.session.context.preamble == before
        async with session(tmp_path, endpoint, continue_last=True) as runtime:  # pruning is off
            await runtime.submit("without")
            assert endpoint.requests[-1].applied_edits == ()
            assert FIELD not in endpoint.requests[-1].json
            assert BETA not in endpoint.requests[-1].headers["anthropic-beta"]
            assert runtime.session.context.preamble == before
            assert ledger(runtime).cleared_tool_uses == 0
    assert endpoint.rejected == []


async def test_a_summary_by_the_endpoint_is_asked_for_without_clearing(tmp_path: Path) -> None:
    """The endpoint takes only one of both."""
    gist = Reply("The gist.")
    async with Endpoint([*turn(0, 1, 2, 3), *turn(4), gist, *turn(5)]) as endpoint:
        async with session(tmp_path, endpoint, *ON) as runtime:
            await runtime.submit("look")
            await runtime.submit("again")
            assert await runtime.compact()
            await runtime.submit("go on")
        assert endpoint.rejected == []
        summaries = [request.json for request in endpoint.requests if "compaction" in request.json]
        assert [FIELD in body for body in summaries] == [False]
        assert FIELD in endpoint.requests[-1].json


async def test_a_prompt_that_the_endpoint_made_smaller_spoils_no_estimate(tmp_path: Path) -> None:
    """What is learned of how the endpoint counts is what is learned where it clears nothing."""
    script = [*turn(0, 1, 2, 3), *turn(4, 5), *turn(6, 7)]
    scales, sizes = [], []
    for sets in ((), ON):
        async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *sets) as runtime:
            for words in ("look", "again", "and again"):
                await runtime.submit(words)
            counts = runtime.session.context.counts
            scales.append(counts.scale)
            sizes.append(counts.context_tokens + counts.clearing.tokens)
    assert cleared(endpoint)[-1] == 6
    assert scales[0] == scales[1]
    assert sizes[0] == sizes[1]


async def test_every_view_says_what_the_endpoint_cleared(tmp_path: Path) -> None:
    async with (
        Endpoint([*turn(0, 1, 2, 3), *turn(4)]) as endpoint,
        session(tmp_path, endpoint, *ON) as runtime,
    ):
        await runtime.submit("look")
        await runtime.submit("again")
        (said,) = [effect for effect in prune.run(runtime, "") if isinstance(effect, Say)]
        assert said.text.startswith("Nothing to prune: the endpoint chooses which results it clears")
        (said,) = [effect for effect in prune_stats.run(runtime, "") if isinstance(effect, Say)]
        assert "tokens in 3 tool uses, by the endpoint" in said.text
        assert "endpoint pruned 3 tool uses" in context_command.table(runtime).note
        assert "endpoint pruned 3 tool uses" in status_line(runtime.status())
        (bill,) = [effect for effect in cost.run(runtime, "") if isinstance(effect, Table)]
        assert "The endpoint itself pruned ~" in bill.note
        figures = json.loads(json.dumps(ledger(runtime).to_json()))
        assert figures["cleared_tool_uses"] == 3
        assert figures["cleared_tokens"] > 0


async def test_no_part_is_larger_than_its_whole(tmp_path: Path) -> None:
    async with (
        Endpoint([*turn(0, 1, 2, 3), *turn(4), *turn(5)]) as endpoint,
        session(tmp_path, endpoint, *ON) as runtime,
    ):
        for words in ("look", "again", "and again"):
            await runtime.submit(words)
        context, records = runtime.session.context, runtime.session.records
        outline = Outline(context, records)
        turns = [outline.figures(Key("turn", turn.seq)) for turn in outline.turns]
        tools = [sums for _, sums in outline.tools]
        assert (
            sum(sums.left for sums in tools)
            < sum(turn.tokens for turn in turns)
            <= context.counts.context_tokens
        )
        carried = [sums.carried(outline.carry_cost.requests) for sums in tools]
        assert sum(carried) < sum(turn.carried for turn in turns)
        told = [sum(edit["cleared_input_tokens"] for edit in one.applied_edits) for one in endpoint.requests]
        assert sum(sums.spared for sums in tools) == sum(told) > 0
        results = [entry for entry in context.entries.values() if entry.kind == "result"]
        parts = [outline.figures(Key("result", entry.seq, entry.seq)) for entry in results]
        assert sum(part.tokens for part in parts) == pytest.approx(
            sum(sums.left for sums in tools), abs=len(parts)
        )
        assert sum(part.carried for part in parts) == pytest.approx(sum(carried), abs=len(parts))


async def test_an_audit_says_what_the_endpoint_cleared(tmp_path: Path) -> None:
    async with (
        Endpoint([*turn(0, 1, 2, 3), *turn(4), *turn(5)]) as endpoint,
        session(tmp_path, endpoint, *ON) as runtime,
    ):
        for words in ("look", "again", "and again"):
            await runtime.submit(words)
        found = audit(runtime.session.records, Context(SHIPPED, token_factor), lambda *_: 0.0)
    told = [
        sum(edit["cleared_input_tokens"] for edit in request.applied_edits) for request in endpoint.requests
    ]
    assert [row.cleared for row in found.rows] == told
    assert found.to_json()["summary"]["cleared_tokens"] == sum(told) > 0
    head, *rows = found.lines()
    assert "cleared" in head
    assert short(told[-1]) in rows[len(told) - 1]


async def test_the_wire_is_the_golden_one(tmp_path: Path) -> None:
    """With every option set. The golden file is written by hand: it is what the endpoint's documentation says."""
    options = ("clear_at_least=10", 'exclude_tools=["bash"]', 'clear_tool_inputs=["read"]')
    sets = (*ON, *(f"pruning.server_clear.{option}" for option in options))
    async with Endpoint(turn(0)) as endpoint, session(tmp_path, endpoint, *sets) as runtime:
        await runtime.submit("look")
    assert endpoint.rejected == []
    golden = json.loads(GOLDEN.read_text("utf-8"))
    for request in endpoint.requests:
        assert {"anthropic-beta": request.headers["anthropic-beta"], FIELD: request.json[FIELD]} == golden


async def test_an_endpoint_that_refuses_the_field_gets_requests_without_it(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), *turn(1)], rules=Rules(refused=(FIELD,))) as endpoint:
        told: list[object] = []
        for words in ("one", "two"):
            async with session(tmp_path, endpoint, *ON) as runtime:
                runtime.session.subscribe(told.append)
                assert (await runtime.submit(words)).reason == "finished"
        assert len(endpoint.rejected) == 1
        assert [FIELD in request.json for request in endpoint.requests] == [True, *[False] * 4]
        notices = [one.text for one in told if isinstance(one, Notice)]
        assert notices == [f"This endpoint rejects `{FIELD}`; later requests omit it"]
