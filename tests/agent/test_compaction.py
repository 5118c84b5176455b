"""Compaction: what is summarized, what stays, and that it never loops or loses a word of the user."""

import asyncio

import pytest

from prunecli.agent.assemble import ModelSettings, assemble, summary_request
from prunecli.agent.policy import Policy
from prunecli.context.compaction import Options, plan_compaction
from prunecli.context.strategies import pi
from prunecli.context.strategy import Chosen
from prunecli.model.events import AssistantMessage, CompactionApplied, PrunApplied, ToolResult
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.signals import Notice, SummaryEnded, SummaryStarted
from prunecli.providers.thinking import betas_for, thinking_config
from prunecli.util.errors import BadRequest
from tests.agent.running import Bench
from tests.calls import calls_of
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says

NO_USAGE = Usage()
OPTIONS = Options(max_context_tokens=4_000, compact_at_pct=0.5, keep_first_turns=1, keep_recent_turns=1)


def bench(*script: Scripted, options: Options = OPTIONS) -> Bench:
    quiet = [
        Scripted(one.content, one.stop_reason, NO_USAGE, one.after, one.until, one.error) for one in script
    ]
    return Bench(ScriptedProvider(quiet), policy=Policy(window=200_000, max_tokens=1_000, compaction=options))


def compactions(one: Bench) -> list[CompactionApplied]:
    return [r.event for r in one.session.records if isinstance(r.event, CompactionApplied)]


def brackets(one: Bench) -> list[type]:
    return [type(told) for told in one.told if isinstance(told, SummaryStarted | SummaryEnded)]


LONG = "long answer " * 300


async def test_the_middle_turns_become_a_summary_and_the_users_words_stay() -> None:
    one = bench(says(LONG), says(LONG), says(LONG), says("The gist."), says("Go."))
    for words in ("first", "second <words>", "third"):
        await one.talk(words)
    await one.talk("fourth")
    assert len(compactions(one)) == 1
    body = one.provider.requests[-1].body().decode()
    assert body.count("long answer") < 700
    for words in ("first", "second <words>", "third", "fourth", "The gist."):
        assert words in body, words
    assert one.session.context.counts.context_tokens < 2_000


async def test_the_question_for_the_summary_continues_what_was_sent_before() -> None:
    one = bench(says(LONG), says(LONG), says(LONG), says("The gist."), says("Go."))
    for words in ("first", "second", "third", "fourth"):
        await one.talk(words)
    before, asked = one.provider.requests[2], one.provider.requests[3]
    assert [m.canonical for m in asked.messages[: len(before.messages)]] == [
        m.canonical for m in before.messages
    ]
    assert b"[This is prunecli, not the user.]" in asked.messages[-1].blocks[-1]


async def test_the_question_for_the_summary_is_asked_with_everything_the_model_is_asked_with() -> None:
    """The endpoint refuses a configuration of thinking whose beta is not named."""
    one = bench(says(LONG), says(LONG), says(LONG))
    for words in ("first", "second", "third"):
        await one.talk(words)
    one.say("fourth")
    thinking = thinking_config("claude-sonnet-5-5", 0)
    model = ModelSettings("claude-sonnet-5-5", 1_000, thinking, "1h", betas_for(thinking))
    context = one.session.context
    plan = plan_compaction(context, OPTIONS, 200_000)
    assert plan is not None
    sent, asked = assemble(context, model), summary_request(context, model, plan)
    assert asked.betas == sent.betas != ()
    for name in ("model", "max_tokens", "preamble", "thinking", "cache_ttl"):
        assert getattr(asked, name) == getattr(sent, name), name


async def test_what_survived_is_not_pruned_any_more() -> None:
    one = bench(says(LONG), says(LONG), says(LONG), says("The gist."), says("Go."))
    for words in ("first", "second", "third", "fourth"):
        await one.talk(words)
    context = one.session.context
    boundary = context.boundary
    assert all(context.locked(item.seq) for item in context.items if item.seq < boundary)
    assert one.policy.view(context).exchanges == context.exchanges[-1:]


async def test_a_failed_summary_changes_nothing_and_is_not_tried_again_in_the_run() -> None:
    one = bench(says(LONG), says(LONG), says(LONG), fails(BadRequest("no")), says("Go."))
    for words in ("first", "second", "third", "fourth"):
        await one.talk(words)
    assert compactions(one) == []
    assert any(isinstance(told, Notice) and "compaction failed" in told.text for told in one.told)
    assert brackets(one) == [SummaryStarted, SummaryEnded]
    assert len(one.provider.requests) == 5


@pytest.mark.parametrize("summary", ["", "  ", LONG * 9])
async def test_a_summary_that_shrinks_nothing_is_not_applied(summary: str) -> None:
    one = bench(says(LONG), says(LONG), says(LONG), says(summary), says("Go."))
    for words in ("first", "second", "third", "fourth"):
        await one.talk(words)
    assert compactions(one) == []


async def test_a_canceled_summary_leaves_the_log_as_it_was() -> None:
    gate = asyncio.Event()
    one = bench(says(LONG), says(LONG), says(LONG), Scripted((Text("The gist."),), until=gate), says("Go."))
    for words in ("first", "second", "third"):
        await one.talk(words)
    one.say("fourth")
    running = asyncio.ensure_future(one.run().run())
    await one.provider.paused.wait()
    running.cancel()
    assert (await running).reason == "interrupted"
    assert compactions(one) == []
    assert one.texts()[-1] == "fourth"
    assert brackets(one) == [SummaryStarted, SummaryEnded]


async def test_one_long_turn_is_compacted_by_exchanges_and_only_once() -> None:
    script = [calls(ToolUse(f"t{n}", "echo", {"words": f"{n} line ", "times": 300})) for n in range(12)]
    one = bench(*script[:4], says("The gist."), *script[4:], says("Done."))
    await one.talk("do it all")
    assert len(compactions(one)) == 1
    body = one.provider.requests[-1].body().decode()
    assert "do it all" in body
    assert "The gist." in body
    assert "5 line" in body


@pytest.mark.parametrize("enabled", [True, False])
async def test_pruning_goes_first_unless_it_is_off(enabled: bool) -> None:
    options = pi.Options(prune_minimum=10**9, prune_protect=0, protected_turns=0, prunable_tools=())
    script = [calls(ToolUse(f"t{n}", "echo", {"words": f"{n} line ", "times": 200})) for n in range(6)]
    one = bench(*script, says("Done."), *([] if enabled else [says("Done.")]))
    one.policy = Policy((Chosen("pi", pi, options),), compaction=OPTIONS, max_tokens=1_000, enabled=enabled)
    await one.talk("do it all")
    prunes = [r.event for r in one.session.records if isinstance(r.event, PrunApplied)]
    assert len(prunes) == (1 if enabled else 0)
    assert all(prune.reason.endswith("; instead of a compaction") for prune in prunes)
    assert len(compactions(one)) == (0 if enabled else 1)


def test_nothing_between_is_no_plan() -> None:
    one = bench()
    one.say("hello")
    assert plan_compaction(one.session.context, OPTIONS, 200_000) is None


def calls_of_a_plan(turns: int) -> int:
    """How often planning calls a function in a session where each prompt follows a result, so that no range ends."""
    one = bench()
    one.say("go")
    for number in range(turns):
        use = ToolUse(f"t{number}", "read", {})
        one.session.emit(AssistantMessage((use,), "m", "tool_use", Usage(100, 5)))
        one.session.emit(ToolResult(use.id, "read", (Text("found"),)))
        one.say("more")
    context = one.session.context
    context.messages()
    plan = plan_compaction(context, OPTIONS, 200_000, by_endpoint=True)
    assert plan is not None
    assert not plan.by_endpoint
    return calls_of(lambda: plan_compaction(context, OPTIONS, 200_000, by_endpoint=True))


def test_planning_takes_no_more_than_twice_as_long_for_twice_as_many_turns() -> None:
    assert calls_of_a_plan(80) < 2.2 * calls_of_a_plan(40)


async def test_a_compacted_session_reads_back_the_same() -> None:
    from tests.context.project import project

    one = bench(says(LONG), says(LONG), says(LONG), says("The gist."), says("Go."))
    for words in ("first", "second", "third", "fourth"):
        await one.talk(words)
    assert one.session.context.messages() == project(one.session.records)


def test_long_words_of_the_user_are_cut_and_the_cut_is_named() -> None:
    one = bench()
    for words in ("first", "x" * 900 + "the end", "last"):
        one.say(words)
    options = Options(keep_first_turns=1, keep_recent_turns=1, keep_user_chars=100)
    plan = plan_compaction(one.session.context, options, 200_000)
    assert plan is not None
    assert plan.words.endswith("the end")
    assert "were cut" in plan.words
