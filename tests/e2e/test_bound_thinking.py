"""Pruning, undo, restore, rewind, another model, resume and compaction where thinking is bound to its prefix.

No request is refused, what the endpoint drops is what the session foretold, and the log proves every request.
"""

import asyncio
from functools import reduce
from pathlib import Path

import pytest

from prunecli.commands.command import Choose, Confirm, InThread, Work, run_line
from prunecli.context.again import shown_in
from prunecli.features.inspector.inspect import inspect
from prunecli.features.rewind.rewinding import effect_of, points_of, rewind
from prunecli.model.events import (
    Record,
    RequestSent,
    Rewound,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.requests import link
from prunecli.model.signals import Notice, TextDelta
from prunecli.providers.models import token_factor
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime.entry_numbers import bring_back, carry_out
from tests.e2e.bound import answers, clear, dropped, results, session, step, strips, turn, undo
from tests.endpoint import Call, Endpoint, HttpError, Redacted, Reply, Rules, Text, Thinking
from tests.waiting import DEADLINE

BOUND = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2")
GATEWAY = ("thinking.block_binding",)


def refusals(endpoint: Endpoint) -> list[str]:
    return [request.refusal.message for request in endpoint.rejected if request.refusal]


@pytest.mark.parametrize("model", BOUND)
async def test_pruned_and_undone_nothing_is_refused_and_the_drops_are_foretold(
    tmp_path: Path, model: str
) -> None:
    script = [*turn(0, 1, 2), *turn(3), *turn(4), *turn(5)]
    async with Endpoint(script) as endpoint:
        async with session(tmp_path, endpoint, model=model) as runtime:
            thoughts = runtime.session.context.thoughts
            await runtime.submit("look")
            assert thoughts.stale() == ()
            prune = clear(runtime, results(runtime)[1])
            with_forecast = thoughts.blocks(thoughts.stale())
            assert with_forecast == 2, "the third step and the last answer"
            await runtime.submit("again")
            assert dropped(endpoint)[-2:] == [with_forecast, with_forecast]
            assert [len(one.input_transformations or ()) for one in answers(runtime)] == dropped(endpoint)
            assert all(one.thinking_tokens for one in answers(runtime)), "recorded as reported"
            undo(runtime, prune)
            with_forecast = thoughts.blocks(thoughts.stale())
            assert with_forecast == 2, "what was thought while the result was pruned"
            await runtime.submit("and again")
            assert dropped(endpoint)[-2:] == [with_forecast, with_forecast]
            prune_seqs = results(runtime)
            clear(runtime, prune_seqs[-1])
            await runtime.submit("once more")
            assert dropped(endpoint)[-1] == len(answers(runtime)[-1].input_transformations or ())
            assert dropped(endpoint)[-1] == thoughts.blocks(thoughts.stale())
        assert refusals(endpoint) == []
        assert strips(runtime) == [], "the endpoint drops them in place"


async def test_an_answer_that_is_stopped_keeps_the_thinking_before_its_text(tmp_path: Path) -> None:
    thoughts = [Thinking("First this."), Redacted(), Thinking("Then that.")]
    script = [Reply([*thoughts, "word " * 400], chunk=5, delay=0.01), *turn(1)]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        written = asyncio.Event()
        runtime.session.subscribe(lambda event: written.set() if isinstance(event, TextDelta) else None)
        working = asyncio.ensure_future(runtime.submit("look"))
        await asyncio.wait_for(written.wait(), DEADLINE)
        runtime.interrupt()
        await working
        (stopped,) = answers(runtime)
        assert [type(block).__name__ for block in stopped.content] == [
            "Thinking",
            "RedactedThinking",
            "Thinking",
            "Text",
        ]
        assert runtime.session.context.thoughts.stale() == ()
        await runtime.submit("go on")
        assert refusals(endpoint) == []
        assert dropped(endpoint) == [0, 0, 0]
        assert endpoint.requests[1].body.count(b'"type":"redacted_thinking"') == 1


async def test_a_rewind_says_before_it_what_thinking_it_drops(tmp_path: Path) -> None:
    async with (
        Endpoint([*turn(0, 1, 2), *turn(3), *turn(4), *turn(5)]) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        await runtime.submit("look")
        prune = clear(runtime, results(runtime)[1])
        await runtime.submit("again")
        undo(runtime, prune)
        await runtime.submit("and again")
        point = next(one.seq for one in points_of(runtime) if one.text == "again")
        lost = effect_of(runtime, point).lost
        assert lost.blocks == 2, (
            "the third step and the last answer of the first turn, behind the pruned result"
        )
        (asking,) = run_line(runtime, f"/rewind {point}")
        assert isinstance(asking, InThread)
        asked = next(effect for effect in asking.work() if isinstance(effect, Choose))
        said = f"{lost.blocks} thinking blocks lost"
        details = [choice.detail for choice in asked.choices if choice.label.endswith("conversation")]
        assert [said in detail for detail in details] == [True]
        (typed,) = run_line(runtime, f"/rewind {point} conversation")
        assert isinstance(typed, InThread)
        agree = next(effect for effect in typed.work() if isinstance(effect, Confirm))
        assert said in agree.line
        (done,) = agree.then()
        assert isinstance(done, Work)
        await rewind(runtime, point, conversation=True, files=False)
        found = inspect(
            runtime.session.records,
            (),
            window=200_000,
            counter=SHIPPED,
            factor_of=token_factor,
            recorded=True,
        )
        assert (found.dropped, found.thinking.blocks) == (lost, 2)
        await runtime.submit("anew")
        assert dropped(endpoint)[-1] == lost.blocks
        assert endpoint.rejected == []


async def test_going_forward_again_costs_no_thinking_that_was_lost_there_before(tmp_path: Path) -> None:
    async with (
        Endpoint([*turn(0, 1, 2), *turn(3), *turn(4), *turn(5), *turn(6)]) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        await runtime.submit("look")
        start = runtime.session.records[-1].seq
        await runtime.submit("again")
        clear(runtime, results(runtime)[0])
        await runtime.submit("and again")
        assert dropped(endpoint)[-1] == 5
        await rewind(runtime, start, conversation=True, files=False)
        await runtime.submit("otherwise")
        assert dropped(endpoint)[-1] == 0
        forward = next(one.seq for one in points_of(runtime) if one.forward)
        assert effect_of(runtime, forward).lost.blocks == 3, "the model sees them now"
        clear(runtime, results(runtime)[0])
        assert effect_of(runtime, forward).lost.blocks == 0
        await rewind(runtime, forward, conversation=True, files=False)
        await runtime.submit("and on")
        assert dropped(endpoint)[-1] == 5


@pytest.mark.parametrize(
    "words",
    [
        "Extra inputs are not permitted",
        "extraneous key [block_binding] is not permitted",
        "Unknown parameter: 'thinking.block_binding'",
    ],
)
async def test_an_endpoint_that_refuses_block_binding_gets_the_request_without_it_and_is_remembered(
    tmp_path: Path, words: str
) -> None:
    script = [*turn(0, 1, 2), *turn(3), *turn(4), *turn(5)]
    async with Endpoint(script, rules=Rules(refused=GATEWAY, refusal=words)) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            told: list[object] = []
            runtime.session.subscribe(told.append)
            await runtime.submit("look")
            prune = clear(runtime, results(runtime)[1])
            assert [len(seqs) for seqs in strips(runtime)] == [2], "left out by the prune itself"
            await runtime.submit("again")
            undo(runtime, prune)
            await runtime.submit("and again")
            assert [len(seqs) for seqs in strips(runtime)] == [2, 2], "what was thought meanwhile"
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            runtime.session.subscribe(told.append)
            await runtime.submit("once more")
        assert len(refusals(endpoint)) == 1, "asked once, by the first request"
        notices = [one.text for one in told if isinstance(one, Notice)]
        assert notices == ["This endpoint rejects `thinking.block_binding`; later requests omit it"]
        assert sum(dropped(endpoint)) == 0


async def test_a_gateway_that_starts_to_refuse_in_a_long_session_gets_what_it_takes(tmp_path: Path) -> None:
    async with Endpoint([*turn(0, 1, 2), *turn(3)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("look")
            clear(runtime, results(runtime)[0])
            await runtime.submit("again")
            assert strips(runtime) == []
        (tmp_path / "log").write_text(str(runtime.session.path))
    async with Endpoint([*turn(4)], rules=Rules(refused=GATEWAY)) as endpoint:
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            await runtime.submit("go on")
            assert [len(seqs) for seqs in strips(runtime)] == [3], "everything stale, once"
        assert len(refusals(endpoint)) == 1


async def test_thinking_refused_inside_the_open_tool_loop_is_left_out_and_the_loop_goes_on(
    tmp_path: Path,
) -> None:
    """A block whose signature was damaged, which no field of the request excuses."""

    def damaged(number: int) -> Reply:
        return Reply(
            [Thinking("x", signature="AAAA"), Text(f"Step {number}."), Call("read", {"path": "0.txt"})]
        )

    script = [step(0), damaged(1), step(2), Reply([Thinking("so"), "Done."]), *turn(3)]
    async with Endpoint(script) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            done = await runtime.submit("look")
            assert done.reason == "finished"
            await runtime.submit("and go on")
            assert [len(seqs) for seqs in strips(runtime)] == [1], "the first thinking is kept"
        assert len(refusals(endpoint)) == 1
        assert sum(dropped(endpoint)) == 0


async def test_a_prune_that_the_endpoint_refuses_costs_only_the_thinking_behind_it(tmp_path: Path) -> None:
    """A gateway that passes the field on without effect; the error also names the place that was edited."""
    refusal = HttpError(
        400,
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Content before this block differs from when it was created, first at `messages.0.content.0`.",
    )
    async with Endpoint([*turn(0, 1), refusal, *turn(2)]) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("look")
        await runtime.submit("again")
        heads = [exchange.seq for exchange in runtime.session.context.exchanges]
        assert strips(runtime) == [heads[1:3]], "the first thinking is kept"


async def test_thinking_of_another_account_is_known_to_be_lost_after_a_rewind_too(tmp_path: Path) -> None:
    script, other = [*turn(0), *turn(1), *turn(2), *turn(3)], "sk-ant-test-1111111111"
    model, rules = "claude-sonnet-5-5", Rules(accounts={other: "another"})
    async with Endpoint(script, rules=rules) as endpoint:
        async with session(tmp_path, endpoint, model=model) as runtime:
            await runtime.submit("one")
        async with session(tmp_path, endpoint, model=model, key=other, continue_last=True) as runtime:
            await runtime.submit("two")
            context = runtime.session.context
            runtime.emit(Rewound(context.user_turns[-1] - 1))
            assert context.thoughts.blocks(context.unseen.dropped) == 2, "as the endpoint said"
            await runtime.submit("two, another way")
        assert dropped(endpoint)[-2:] == [2, 2]
        assert refusals(endpoint) == []


async def test_redacted_thinking_that_is_refused_is_left_out_too(tmp_path: Path) -> None:
    damaged = Reply([Redacted(data="AAAA"), Text("Step 1."), Call("read", {"path": "0.txt"})])
    async with Endpoint([step(0), damaged, *turn(2)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            assert (await runtime.submit("look")).reason == "finished"
            assert [len(seqs) for seqs in strips(runtime)] == [1], "the first thinking is kept"
        assert len(refusals(endpoint)) == 1


@pytest.mark.parametrize("last", [Thinking("And then " * 900), Redacted("And then")])
async def test_an_answer_cut_off_in_its_thinking_is_sent_back_without_that_thinking(
    tmp_path: Path, last: Thinking | Redacted
) -> None:
    cut = Reply([Thinking("First."), Text("I begin."), last, Text(" ")], stop_reason="max_tokens")
    async with Endpoint([cut, *turn(0), *turn(1)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("look")
            await runtime.submit("continue")
            prune = clear(runtime, results(runtime)[0])
            with_forecast = runtime.session.context.thoughts.blocks(runtime.session.context.unseen.dropped)
            await runtime.submit("again")
            undo(runtime, prune)
            sizes = [
                record.event.tokens
                for record in runtime.session.records
                if isinstance(record.event, RequestSent)
            ]
        assert refusals(endpoint) == []
        kinds = [block["type"] for block in endpoint.requests[-1].messages[1]["content"]]
        assert kinds == ["thinking", "text"], "its first thinking is kept"
        assert dropped(endpoint)[-1] == with_forecast == 1, "the answer behind the pruned result"
        assert sizes[1] - sizes[0] < 200, "what is not sent is not counted"


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-haiku-4-5"])
async def test_with_a_budget_a_damaged_signature_in_the_open_loop_is_survived_too(
    tmp_path: Path, model: str
) -> None:
    damaged = Reply([Thinking("x", signature="AAAA"), Call("read", {"path": "0.txt"})])
    async with Endpoint([damaged, step(1), Reply("Done."), *turn(2)]) as endpoint:
        async with session(tmp_path, endpoint, "model.thinking=2000", model=model) as runtime:
            assert (await runtime.submit("look")).reason == "finished"
            await runtime.submit("and go on")
        assert len(refusals(endpoint)) == 1
        asked = [bool(request.json.get("thinking")) for request in endpoint.requests]
        assert asked == [True, True, False, False, True, True], "off until the loop was over"


@pytest.mark.parametrize(
    ("refused", "sets"),
    [
        ("thinking.display", ()),
        ("anthropic-beta", ()),
        ("cache_control.ttl", ("model.cache_ttl=1h",)),
    ],
)
async def test_other_optional_fields_are_left_out_in_the_same_way(
    tmp_path: Path, refused: str, sets: tuple[str, ...]
) -> None:
    async with Endpoint([*turn(0), *turn(1)], rules=Rules(refused=(refused,))) as endpoint:
        for words in ("one", "two"):
            async with session(tmp_path, endpoint, *sets) as runtime:
                assert (await runtime.submit(words)).reason == "finished"
        assert len(refusals(endpoint)) == 1


async def test_what_is_restored_at_the_end_costs_no_thinking_and_survives_a_resume(tmp_path: Path) -> None:
    script = [*turn(0, 1, 2), *turn(3), *turn(4), *turn(5)]
    async with Endpoint(script) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            context = runtime.session.context
            await runtime.submit("look")
            target = results(runtime)[1]
            clear(runtime, target)
            await runtime.submit("again")
            by_the_prune = dropped(endpoint)[-1]
            digest, before = context.sha256(), context.messages()
            plan, effect = bring_back(runtime, [target])
            assert plan.allowed
            carry_out(runtime, plan.events)
            assert effect.after == context.counts.context_tokens
            assert context.messages()[: len(before)] == before
            assert reduce(link, before, context.preamble.digest()).hex() == digest
            await runtime.submit("and again")
            assert dropped(endpoint)[-2:] == [by_the_prune] * 2, "none by the restore"
            assert b"line of file 1" in context.messages()[len(before)].canonical
            sent = context.sha256()
        async with session(tmp_path, endpoint, continue_last=True) as runtime:
            assert runtime.session.context.sha256() == sent
            assert shown_in(runtime.session.context, target) > 0
            await runtime.submit("once more")
            assert dropped(endpoint)[-1] == by_the_prune
        assert refusals(endpoint) == []


async def test_what_is_restored_while_the_agent_runs_goes_in_where_steering_does(tmp_path: Path) -> None:
    async with Endpoint([*turn(0, 1), *turn(2, 3)]) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            await runtime.submit("look")
            target = results(runtime)[0]
            clear(runtime, target)

            def restore(told: object) -> None:
                if isinstance(told, Record) and isinstance(told.event, ToolStarted):
                    for _ in range(2):  # the second time does nothing
                        carry_out(runtime, bring_back(runtime, [target])[0].events)

            stop = runtime.session.subscribe(restore)
            assert (await runtime.submit("go on")).reason == "finished"
            stop()
            events = [record.event for record in runtime.session.records]
            restored = [at for at, one in enumerate(events) if isinstance(one, UserMessage) and one.restores]
            assert len(restored) == 1
            assert isinstance(events[restored[0] - 1], ToolResult)
        assert refusals(endpoint) == []
