"""A request that the endpoint refuses as too long: pruned, compacted once, and cut without the model at last."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from prunecli.agent.policy import TOO_LONG, Policy
from prunecli.context.compaction import Options
from prunecli.context.strategies import pi
from prunecli.context.strategy import Chosen
from prunecli.model.events import CompactionApplied, PrunApplied
from prunecli.model.messages import ToolUse, Usage
from prunecli.model.signals import Notice
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.util.errors import BadRequest, ContextOverflow
from tests import endpoint as fake
from tests.agent.running import Bench
from tests.context.project import project
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says

PATIENT = pi.Options(prune_minimum=10**9, prune_protect=0, protected_turns=0, prunable_tools=())
"""Prunes nothing by itself and everything when it is asked to."""
PI = (Chosen("pi", pi, PATIENT),)
COMPACTION = Options(keep_first_turns=1, keep_recent_turns=1)
LONG = "a long answer " * 200


def refused() -> Scripted:
    return fails(ContextOverflow("prompt is too long"))


def bench(*script: Scripted, chosen: tuple[Chosen, ...] = (), compaction: Options = COMPACTION) -> Bench:
    quiet = [
        Scripted(one.content, one.stop_reason, Usage(), one.after, one.until, one.error) for one in script
    ]
    policy = Policy(chosen, window=200_000, max_tokens=1_000, compaction=compaction)
    return Bench(ScriptedProvider(quiet), policy=policy)


def work(*words: str) -> list[Scripted]:
    return [calls(ToolUse(f"t{n}", "echo", {"words": word, "times": 400})) for n, word in enumerate(words)]


def remedies(one: Bench) -> list[str]:
    """What was done to the context, in order: the strategy of a prune, or "compaction"."""
    return [
        str(record.event.strategy) if isinstance(record.event, PrunApplied) else "compaction"
        for record in one.session.records
        if isinstance(record.event, PrunApplied | CompactionApplied)
    ]


async def talk(one: Bench, *words: str) -> None:
    for said in words:
        await one.talk(said)


async def test_what_the_strategies_would_prune_goes_first() -> None:
    one = bench(*work("one ", "two "), refused(), says("Done."), chosen=PI)
    assert (await one.talk("go")).reason == "finished"
    assert remedies(one) == ["pi"]
    event = next(r.event for r in one.session.records if isinstance(r.event, PrunApplied))
    assert event.reason == TOO_LONG
    assert len(one.provider.requests) == 4


async def test_what_pruning_does_not_solve_is_compacted() -> None:
    one = bench(
        *work("one ", "two ", "three "), refused(), refused(), says("The gist."), says("Done."), chosen=PI
    )
    assert (await one.talk("go")).reason == "finished"
    assert remedies(one) == ["pi", "compaction"]
    assert "The gist." in one.provider.requests[-1].body().decode()


async def test_with_nothing_to_prune_it_is_compacted_at_once() -> None:
    one = bench(says(LONG), says(LONG), refused(), says("The gist."), says("Done."), chosen=PI)
    await talk(one, "first", "second", "third")
    assert remedies(one) == ["compaction"]
    assert len(one.provider.requests) == 5


async def test_the_question_for_the_summary_leaves_out_what_stays() -> None:
    one = bench(says("early " + LONG), says("late " + LONG), refused(), says("The gist."), says("Done."))
    await talk(one, "first", "second", "third words")
    asked = one.provider.requests[3].body().decode()
    assert "This is prunecli, not the user" in asked
    assert "late " in asked
    assert "third words" not in asked


async def test_at_last_the_oldest_goes_without_the_model() -> None:
    summary = refused()
    script = [*work("one ", "two ", "three "), refused(), refused(), summary, says("Done.")]
    one = bench(*script, chosen=PI)
    assert (await one.talk("go")).reason == "finished"
    assert remedies(one) == ["pi", "pressure"]
    assert "one one" not in one.provider.requests[-1].body().decode()


async def test_it_is_compacted_once_and_no_more() -> None:
    """No loop: where the last resort is refused too, the run ends."""
    one = bench(says(LONG), says(LONG), refused(), says("The gist."), *[refused()] * 9)
    await talk(one, "first", "second")
    with pytest.raises(ContextOverflow):
        await one.talk("third")
    assert remedies(one).count("compaction") == 1
    assert len(one.provider.requests) <= 6


@pytest.mark.parametrize("summary", [refused(), fails(BadRequest("no")), says("  "), says(LONG * 9)])
async def test_a_summary_that_fails_leaves_the_last_resort(summary: Scripted) -> None:
    one = bench(says(LONG), says(LONG), refused(), summary, says("Done."))
    await talk(one, "first", "second", "third")
    assert remedies(one) == ["pressure"]
    assert any(isinstance(told, Notice) and "compaction failed" in told.text for told in one.told)


async def test_without_compaction_there_is_none() -> None:
    one = bench(says(LONG), says(LONG), refused(), says("Done."), compaction=Options(enabled=False))
    await talk(one, "first", "second", "third")
    assert remedies(one) == ["pressure"]


async def test_strategies_that_are_off_stay_off() -> None:
    one = bench(*work("one ", "two "), refused(), says("Done."), compaction=Options(enabled=False))
    one.policy = Policy(PI, max_tokens=1_000, enabled=False, compaction=Options(enabled=False))
    await one.talk("go")
    assert remedies(one) == ["pressure"]


async def test_a_compaction_is_not_followed_by_another_without_a_word_of_the_user() -> None:
    later = [calls(ToolUse(f"u{n}", "echo", {"words": "later ", "times": 400})) for n in range(3)]
    script = [*work("one ", "two "), refused(), says("The gist."), *later, refused(), says("Done.")]
    one = bench(*script)
    await one.talk("go")
    assert remedies(one) == ["compaction", "pressure"]


@asynccontextmanager
async def strict(window: int, *script: fake.Reply | str) -> AsyncIterator[tuple[Bench, fake.Endpoint]]:
    """A bench at the strict endpoint, which refuses prompts of more tokens than its window."""
    rules = fake.Rules(window=window, any_model=True, max_output=8_000)
    async with fake.Endpoint(script, rules=rules) as endpoint:
        provider = AnthropicProvider(Endpoint("sk-ant-test", None, endpoint.base_url))
        policy = Policy(PI, window=200_000, max_tokens=1_000, compaction=COMPACTION)
        try:
            yield Bench(provider, policy=policy), endpoint
        finally:
            await provider.close()


@pytest.mark.parametrize("times", [500, 900])
async def test_at_a_strict_endpoint_no_request_but_the_long_one_is_refused(times: int) -> None:
    """The window is smaller than the model table says: found out, made room for, and the work goes on."""
    reads = [fake.Reply((fake.Call("echo", {"words": f"{n} line ", "times": times}),)) for n in range(6)]
    async with strict(2_500, *reads, "Done.", "Done.", "Done.") as (one, endpoint):
        assert (await one.talk("do it all")).reason == "finished"
        assert endpoint.rejected
        assert all("too long" in str(refusal.refusal) for refusal in endpoint.rejected)
        assert remedies(one)[0] == "pi"
        assert one.session.context.messages() == project(one.session.records)


async def test_a_message_that_leaves_no_room_is_named_with_the_way_around_it() -> None:
    """It was recorded already; what is typed after it must not end the program either."""
    one = bench(says("Hello."), *[refused() for _ in range(9)])
    await one.talk("hello")
    for words in ("x" * 2_000_000, "and now?"):
        with pytest.raises(ContextOverflow) as caught:
            await one.talk(words)
        named = one.session.context.user_turns[1]
        assert caught.value.hint == (
            f"your message {named} is too large (2.0 MB): /rewind to before it, "
            f"or copy the session up to it: prunecli -r {one.session.started.id}@{named - 1} --fork"
        )


async def test_what_is_too_large_for_any_request_is_not_asked_for_and_does_not_end_the_program() -> None:
    one = bench(says("Hello."), says("Hello again."), says("never asked"))
    for words in ("hello", "hello again"):
        await one.talk(words)
    for words in ("x" * 25_000_000, "and now?"):
        with pytest.raises(ContextOverflow, match="too large for the endpoint") as caught:
            await one.talk(words)
        assert "(25.0 MB): /rewind to before it" in caught.value.hint


async def test_where_no_message_of_the_users_is_to_blame_the_ways_to_a_shorter_request_are_named() -> None:
    one = bench(*work("a", "b"), says("Done."), *[refused() for _ in range(9)])
    await one.talk("work")
    with pytest.raises(ContextOverflow) as caught:
        await one.talk("more")
    assert caught.value.hint.startswith("make it shorter: /prune, /compact")


async def test_however_often_it_is_shortened_a_person_is_told_once() -> None:
    one = bench(*work("one ", "two ", "three "), refused(), refused(), refused(), says("Done."), chosen=PI)
    assert (await one.talk("go")).reason == "finished"
    assert remedies(one) == ["pi", "pressure"]
    said = [told.text for told in one.told if isinstance(told, Notice) and "too long" in told.text]
    assert said == ["prompt is too long; sending it again, shorter"]
