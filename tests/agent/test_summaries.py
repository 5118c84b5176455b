"""Summaries by the endpoint: where the range ends, what is asked, what is recorded, and what happens without one."""

import json
from typing import Any

import pytest

from prunecli.agent.assemble import ModelSettings, assemble, compaction_request
from prunecli.agent.policy import Policy
from prunecli.context.compaction import MAX_INSTRUCTIONS, CompactionPlan, Options, plan_compaction
from prunecli.context.economics import Market
from prunecli.context.tokens import words_of
from prunecli.model.events import AssistantMessage, CompactionApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import Opaque, Text, ToolUse, Usage
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import COMPACTION_BETA
from prunecli.model.signals import Notice
from prunecli.providers.thinking import betas_for, thinking_config
from prunecli.util.errors import InvalidRequest, NoSummaryNow, Overloaded
from tests.agent.running import Bench
from tests.scripted import Scripted, ScriptedProvider, fails, says

OPUS = "claude-opus-5-5"
OPTIONS = Options(keep_recent_turns=1)
WINDOW = 200_000
BLOCK = {
    "type": "compaction",
    "content": "The gist.",
    "signature": "c2ln",
    "tool_changes": [],
    "later": {"unknown": [None]},
}
GIST = Scripted((Opaque(BLOCK),), "compaction", Usage(7, 3))
LONG = "long answer " * 300


def bench(*script: Scripted, options: Options = OPTIONS) -> Bench:
    policy = Policy(window=WINDOW, compaction=options, compacts=True, reads_summaries=True)
    return Bench(ScriptedProvider(script), policy=policy)


async def talked(*script: Scripted, turns: int = 2, options: Options = OPTIONS) -> Bench:
    """A bench after some turns with long answers, with `script` still to come."""
    one = bench(*[Scripted((Text(LONG),), usage=Usage()) for _ in range(turns)], *script, options=options)
    for number in range(turns):
        await one.talk(f"words {number}")
    return one


async def compacted(one: Bench) -> CompactionApplied:
    """The compaction that a bench makes now."""
    plan = one.policy.plan_compaction(one.session.context, "")
    assert plan is not None
    await one.run().compact(plan)
    return next(r.event for r in reversed(one.session.records) if isinstance(r.event, CompactionApplied))


def settings() -> ModelSettings:
    thinking = thinking_config(OPUS, 0)
    return ModelSettings(OPUS, 1_000, thinking, "5m", betas_for(thinking), "high")


async def test_the_two_requests_are_these() -> None:
    one = await talked(GIST)
    context = one.session.context
    plan = plan_compaction(context, OPTIONS, WINDOW, "the parser", by_endpoint=True)
    assert plan is not None
    asked = compaction_request(context, settings(), plan, Market())
    first = [
        {"role": "user", "content": [{"type": "text", "text": "words 0"}]},
        {"role": "assistant", "content": [{"type": "text", "text": LONG}]},
    ]
    shared: dict[str, Any] = {
        "model": OPUS,
        "max_tokens": 1_000,
        "stream": True,
        "thinking": settings().thinking,
        "output_config": {"effort": "high"},
        "system": [],
        "tools": [],
    }
    assert json.loads(asked.body()) == {
        **shared,
        "compaction": {"type": "summarize", "instructions": plan.instructions()},
        "messages": first,
    }
    assert "Pay special attention to: the parser." in plan.instructions()
    assert asked.betas == (*settings().betas, COMPACTION_BETA)
    assert asked.optional_fields >= {"compaction"}

    await compacted(one)
    one.say("words 2")
    sent = assemble(context, settings())
    said = "[The user's words in the messages that were summarized:]\n<user-words>\nwords 0\n</user-words>"
    last = [{"type": "text", "text": said}, {"type": "text", "text": "words 2"}]
    assert json.loads(sent.body()) == {
        **shared,
        "messages": [
            {"role": "assistant", "content": [BLOCK]},
            {"role": "user", "content": [{"type": "text", "text": "words 1"}]},
            {"role": "assistant", "content": [{"type": "text", "text": LONG}]},
            {"role": "user", "content": [last[0], {**last[1], "cache_control": {"type": "ephemeral"}}]},
        ],
    }
    assert sent.betas == (*settings().betas, COMPACTION_BETA)
    assert sent.optional_fields >= {"compaction"}


async def test_the_range_is_read_from_the_cache_at_a_breakpoint_that_every_request_keeps_stored() -> None:
    cached = Scripted((Text(LONG),), usage=Usage(5, 5, 5, 5))
    one = bench(*[cached] * 5, options=Options(keep_recent_turns=3))
    for number in range(5):
        await one.talk(f"words {number}")
    context = one.session.context
    asked = [request.cache_marks for request in one.provider.requests]
    assert asked == [(0,), (0, 2), (2, 4), (0, 4, 6), (2, 6, 8)]
    plan = one.policy.plan_compaction(context, "")
    assert plan is not None
    summary = compaction_request(context, settings(), plan, Market())
    assert (len(summary.messages), summary.cache_marks) == (4, (2,))

    idle = Market(now=one.clock + Market().ttl_ms + 1)
    assert compaction_request(context, settings(), plan, idle).cache_marks == (), "written for nobody"


async def test_the_block_is_recorded_as_it_came_with_fields_that_nobody_knows_yet() -> None:
    one = await talked(GIST)
    event = await compacted(one)
    assert (event.block, event.words, event.usage) == (BLOCK, "words 0", Usage(7, 3))
    assert (
        event.summary == "[Earlier messages were replaced by this summary.]\n<summary>\nThe gist.\n</summary>"
    )
    assert event.tokens_after < event.tokens_before
    record = Record(3, 1_000, event)
    assert decode_record(encode_record(record)) == record
    assert b'"block"' not in encode_record(Record(3, 1_000, CompactionApplied("own", 0, 2)))


def test_long_instructions_are_cut_where_the_focus_is() -> None:
    asked = CompactionPlan(0, 1, "", "x" * 50_000, by_endpoint=True).instructions()
    assert len(asked) <= MAX_INSTRUCTIONS
    assert asked.endswith("Answer with the summary only, call no tool.")


async def test_an_endpoint_that_does_not_know_the_field_and_answers_is_not_asked_again() -> None:
    one = await talked(says("An answer."), says("The gist."))
    forgone: list[str] = []
    plan = one.policy.plan_compaction(one.session.context, "")
    assert plan is not None
    run = one.run()
    run.stop_sending = lambda field: bool(forgone.append(field)) or True
    await run.compact(plan)
    assert forgone == ["compaction"]
    assert [request.compaction is None for request in one.provider.requests[-2:]] == [False, True]


async def test_one_that_can_not_for_the_moment_is_asked_three_times() -> None:
    one = await talked(*[fails(NoSummaryNow("529: later"))] * 3, says("Our own gist."))
    event = await compacted(one)
    assert event.block is None
    assert "Our own gist." in event.summary
    assert len(one.slept) == 2


async def test_an_overloaded_endpoint_gets_no_question_of_ours_either() -> None:
    one = await talked(*[fails(Overloaded("529: busy"))] * 10)
    plan = one.policy.plan_compaction(one.session.context, "")
    assert plan is not None
    await one.run().compact(plan)
    assert not any(isinstance(record.event, CompactionApplied) for record in one.session.records)
    assert any(isinstance(told, Notice) and "compaction failed" in told.text for told in one.told)


def plan_of(*events: Any, options: Options = OPTIONS) -> CompactionPlan | None:
    one = bench(options=options)
    for event in events:
        one.session.emit(event)
    return plan_compaction(one.session.context, options, WINDOW, by_endpoint=True)


def user(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def answer(words: str, reason: str = "end_turn") -> AssistantMessage:
    return AssistantMessage((Text(words),), OPUS, reason)


CALLED = (
    AssistantMessage((ToolUse("t1", "read", {}),), OPUS, "tool_use"),
    ToolResult("t1", "read", (Text("lines"),)),
)


def test_the_range_ends_where_a_user_message_follows_an_answer() -> None:
    plan = plan_of(user("one"), answer("1"), user("two"), answer("2"), user("three"))
    assert plan is not None
    assert (plan.head_end, plan.tail_start, plan.words, plan.by_endpoint) == (0, 5, "one\n\ntwo", True)


def test_a_turn_that_ended_with_results_is_kept_with_the_next_one() -> None:
    plan = plan_of(user("one"), answer("1"), user("two"), *CALLED, user("three"))
    assert plan is not None
    assert (plan.tail_start, plan.words, plan.by_endpoint) == (3, "one", True)


@pytest.mark.parametrize(
    "events",
    [
        (user("one"), *CALLED, user("two")),
        (user("one"), user("two"), answer("2")),
        (user("one"), answer("1"), user("two"), answer("2", "pause_turn")),
        (user("one"), answer("1")),
        (user("one"), answer("1"), user("two"), answer("2"), user("three"), CompactionApplied("s", 2, 5)),
    ],
)
def test_where_the_conditions_are_not_met_it_is_our_own(events: tuple[Any, ...]) -> None:
    plan = plan_of(*events)
    assert plan is None or not plan.by_endpoint


async def test_the_users_words_are_kept_up_to_the_limit_over_several_summaries() -> None:
    options = Options(keep_recent_turns=1, keep_user_chars=20)
    quiet = Scripted((Text(LONG),), usage=Usage())
    one = await talked(GIST, quiet, quiet, GIST, options=options)
    await compacted(one)
    await one.talk("words 2")
    await one.talk("words 3")
    event = await compacted(one)
    assert event.words.endswith("]\n 0\n\nwords 1\n\nwords 2")
    assert "were cut" in event.words


async def test_words_that_stand_behind_kept_turns_stay_there_when_the_next_summary_is_made() -> None:
    quiet = Scripted((Text(LONG),), usage=Usage())
    one = await talked(GIST, quiet, quiet, GIST, quiet, turns=3, options=Options(keep_recent_turns=2))
    await compacted(one)
    await one.talk("words 3")
    await one.talk("words 4")
    one.policy = Policy(
        window=WINDOW, compaction=Options(keep_recent_turns=3), compacts=True, reads_summaries=True
    )
    before = one.session.context.messages()
    await compacted(one)
    after = one.session.context.messages()
    assert [m.canonical for m in after[1 : len(before) - 2]] == [m.canonical for m in before[3:]]
    texts = b"".join(message.canonical for message in after).decode()
    assert [texts.count(f"words {number}") for number in range(5)] == [1] * 5


async def test_words_that_stay_behind_kept_turns_are_counted_after_the_next_summary() -> None:
    quiet = Scripted((Text(LONG),), usage=Usage())
    one = bench(*[quiet] * 3, GIST, quiet, quiet, GIST, options=Options(keep_recent_turns=2))
    for words in (LONG, "words 1", "words 2"):
        await one.talk(words)
    await compacted(one)
    await one.talk("words 3")
    await one.talk("words 4")
    one.policy = Policy(
        window=WINDOW, compaction=Options(keep_recent_turns=3), compacts=True, reads_summaries=True
    )
    event = await compacted(one)
    counts = one.session.context.counts
    assert counts.shown.words > words_of(LONG).words
    assert abs(event.tokens_after - counts.context_tokens) < 20


def test_a_summary_that_is_not_first_is_sent_as_text() -> None:
    one = bench()
    one.session.emit(user("one"))
    one.session.emit(answer("1"))
    one.session.emit(user("two"))
    one.session.emit(CompactionApplied("as text", 1, 3, model=OPUS, block=BLOCK))
    shown = b"".join(message.canonical for message in one.session.context.messages())
    assert b"as text" in shown
    assert b"compaction" not in shown
    assert COMPACTION_BETA not in assemble(one.session.context, settings()).betas


def test_a_block_in_an_answer_is_left_out() -> None:
    one = bench()
    one.session.emit(user("one"))
    one.session.emit(AssistantMessage((Opaque(BLOCK), Text("1")), OPUS))
    one.session.emit(user("two"))
    assert b"compaction" not in assemble(one.session.context, settings()).body()


async def test_a_request_for_a_summary_that_ends_with_the_user_is_not_sent() -> None:
    context = (await talked()).session.context
    plan = CompactionPlan(0, context.items[1].seq, "", by_endpoint=True)
    with pytest.raises(InvalidRequest, match="end with an answer"):
        compaction_request(context, settings(), plan, Market())
