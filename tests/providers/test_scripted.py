"""The scripted provider plays exactly its script."""

import asyncio

import pytest

from prunecli.errors import ConnectionLost, Overloaded
from prunecli.model.messages import Image, Text, Thinking, ToolUse, Usage
from prunecli.providers.models import Offer
from prunecli.providers.provider import Response, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.providers.scripted import Scripted, ScriptedProvider, ScriptEnded, calls, fails, says
from tests.providers.requests import request


async def played(provider: ScriptedProvider, words: str = "Hello") -> list[StreamEvent]:
    return [event async for event in provider.stream(request(words, "some-model"))]


async def test_words_come_in_deltas_and_then_whole() -> None:
    provider = ScriptedProvider([says("One two three four five.")], delta_chars=10)
    *given, last = await played(provider)
    assert [type(event) for event in given] == [TextDelta] * 3
    assert (
        "".join(event.text for event in given if isinstance(event, TextDelta)) == "One two three four five."
    )
    assert isinstance(last, Response)
    assert last.content == (Text("One two three four five."),)
    assert (last.stop_reason, last.model) == ("end_turn", "some-model")


async def test_a_call_is_announced_before_its_input_comes() -> None:
    call = ToolUse("id1", "read", {"path": "ünï.py"})
    *given, last = await played(ScriptedProvider([calls(call, text="Look.")]))
    assert given[:2] == [TextDelta("Look."), ToolCallDelta("id1", "read")]
    json = "".join(event.json for event in given if isinstance(event, ToolCallDelta))
    assert json == '{"path": "ünï.py"}'
    assert isinstance(last, Response)
    assert last.stop_reason == "tool_use"
    assert last.content == (Text("Look."), call)


async def test_thinking_streams_and_other_blocks_come_only_whole() -> None:
    content = (Thinking("hm", "sig"), Image("image/png", "AAAA"), Text("So."))
    script = Scripted(content, "max_tokens", Usage(7, 8, 9, 10))
    *given, last = await played(ScriptedProvider([script]))
    assert given == [ThinkingDelta("hm"), TextDelta("So.")]
    assert last == Response(content, "max_tokens", Usage(7, 8, 9, 10), "some-model")


async def test_an_error_comes_at_once() -> None:
    provider = ScriptedProvider([fails(Overloaded("busy"), text="never said"), says("after")])
    with pytest.raises(Overloaded, match="busy"):
        await played(provider)
    assert isinstance((await played(provider))[-1], Response)


@pytest.mark.parametrize(("after", "before"), [(2, 2), (3, 3), (99, 3)])
async def test_an_error_comes_after_so_many_deltas(after: int, before: int) -> None:
    provider = ScriptedProvider([fails(ConnectionLost("cut"), text="aabbcc", after=after)], delta_chars=2)
    given: list[StreamEvent] = []

    async def take() -> None:
        async for event in provider.stream(request()):
            given.append(event)

    with pytest.raises(ConnectionLost, match="cut"):
        await take()
    assert len(given) == before
    assert not any(isinstance(event, Response) for event in given)


async def test_a_response_waits_for_the_tests_own_event() -> None:
    gate = asyncio.Event()
    provider = ScriptedProvider([Scripted((Text("aabb"),), after=1, until=gate)], delta_chars=2)
    given: list[StreamEvent] = []

    async def take() -> None:
        async for event in provider.stream(request()):
            given.append(event)

    task = asyncio.create_task(take())
    await asyncio.wait_for(provider.paused.wait(), 10)
    assert given == [TextDelta("aa")]
    gate.set()
    await asyncio.wait_for(task, 10)
    assert given[1] == TextDelta("bb")
    assert isinstance(given[2], Response)
    assert not provider.paused.is_set()


async def test_a_waiting_response_can_be_canceled() -> None:
    provider = ScriptedProvider([Scripted(until=asyncio.Event())])
    task = asyncio.create_task(played(provider))
    await asyncio.wait_for(provider.paused.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not provider.paused.is_set()


async def test_it_waits_before_it_fails() -> None:
    gate = asyncio.Event()
    provider = ScriptedProvider([Scripted(until=gate, error=ConnectionLost("cut"))])
    task = asyncio.create_task(played(provider))
    await asyncio.wait_for(provider.paused.wait(), 10)
    assert not task.done()
    gate.set()
    with pytest.raises(ConnectionLost):
        await asyncio.wait_for(task, 10)


async def test_the_requests_are_kept_in_order() -> None:
    provider = ScriptedProvider([says("a"), says("b")])
    assert provider.left == 2
    await played(provider, "first")
    await played(provider, "second")
    assert [b"first" in one.messages[-1].canonical for one in provider.requests] == [True, False]
    assert provider.left == 0


async def test_a_request_after_the_end_says_what_it_was() -> None:
    provider = ScriptedProvider([says("a")])
    await played(provider)
    with pytest.raises(ScriptEnded, match=r"has 1 response, but request 2 arrived.*\bmore please\b"):
        await played(provider, "more please")


async def test_it_offers_what_it_was_given_and_closes_twice() -> None:
    provider = ScriptedProvider([], offers=(Offer("m", 1000),))
    assert await provider.models() == (Offer("m", 1000),)
    assert not provider.closed
    await provider.close()
    await provider.close()
    assert provider.closed
