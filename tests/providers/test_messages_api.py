"""The provider against the strict endpoint: what arrives there, what comes back, and every way it can fail."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from prunecli.agent.retry import RetryPolicy
from prunecli.model.messages import Opaque, Text, Thinking, ToolUse
from prunecli.model.requests import Request
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.provider import Begun, Provider, Response, StreamEvent, TextDelta, ToolCallDelta
from prunecli.providers.response_reader import LOCAL_PATIENCE, Patience
from prunecli.util.errors import (
    BadRequest,
    ConfigError,
    ConnectionLost,
    Overloaded,
    ProviderError,
    RateLimited,
    Unauthorized,
)
from tests import endpoint as fake
from tests.providers.requests import request
from tests.waiting import ClockLoop, on_clock

KEY = "sk-ant-test-0123456789"


@asynccontextmanager
async def provided(
    script: Any = (), patience: Patience | None = None, path: str = "", **options: Any
) -> AsyncIterator[tuple[AnthropicProvider, fake.Endpoint]]:
    async with fake.Endpoint(script, **options) as endpoint:
        provider = AnthropicProvider(Endpoint(KEY, None, endpoint.base_url + path), patience=patience)
        try:
            yield provider, endpoint
        finally:
            await provider.close()


async def events_of(provider: Provider, sent: Request | None = None) -> list[StreamEvent]:
    return [event async for event in provider.stream(sent or request())]


async def response_of(provider: Provider) -> Response:
    *_, last = await events_of(provider)
    assert isinstance(last, Response)
    return last


async def error_of(provider: Provider) -> tuple[ProviderError, list[StreamEvent]]:
    seen: list[StreamEvent] = []

    async def listen() -> None:
        async for event in provider.stream(request()):
            seen.append(event)

    with pytest.raises(ProviderError) as caught:
        await listen()
    assert not any(isinstance(event, Response) for event in seen)
    return caught.value, seen


# What arrives ------------------------------------------------------------------------------------------------


async def test_one_connection_serves_one_request_after_the_other():
    async with provided() as (provider, endpoint):
        for _ in range(3):
            await events_of(provider)
    assert (len(endpoint.requests), endpoint.connections) == (3, 1)


@pytest.mark.parametrize(
    "base_url",
    ["", "api.anthropic.com", "ftp://x", "https://", "http://[::1", "http://x:y", "file:///etc/passwd"],
)
def test_an_address_that_is_none_is_refused(base_url: str):
    with pytest.raises(ConfigError, match="base_url"):
        Endpoint("key", base_url=base_url)


@pytest.mark.parametrize("key", ["my secret key", "secret\n", "schlüssel", "secret\x00"])
def test_a_key_that_can_t_stand_in_a_header_is_refused_without_being_shown(key: str):
    with pytest.raises(ConfigError) as caught:
        Endpoint(key)
    assert key not in str(caught.value)
    assert "ANTHROPIC_API_KEY" in str(caught.value)


def test_no_representation_shows_a_credential():
    assert "secret" not in repr(Endpoint("secret-key", "secret-token"))


# What comes back ---------------------------------------------------------------------------------------------


async def test_a_reply_comes_as_deltas_and_a_response():
    reply = fake.Reply(
        [fake.Thinking("Let me see."), "Words. " * 20, fake.Call("bash", {"command": "ls"}, id="t1")]
    )
    async with provided([reply]) as (provider, endpoint):
        events = await events_of(provider)
    response = events[-1]
    assert isinstance(response, Response)
    thinking, text, call = response.content
    assert isinstance(thinking, Thinking)
    assert (thinking.thinking, text) == ("Let me see.", Text("Words. " * 20))
    assert thinking.signature
    assert call == ToolUse("t1", "bash", {"command": "ls"})
    assert (response.stop_reason, response.model) == ("tool_use", "claude-sonnet-4-6")
    assert response.request_id.startswith("req_")
    usage = endpoint.requests[0].usage
    assert usage is not None
    assert response.usage.prompt_tokens == usage.input_tokens + usage.cache_creation_input_tokens
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Words. " * 20
    assert ToolCallDelta("t1", "bash") in events


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_the_response_is_the_same_however_the_bytes_are_cut(size: int):
    """Also in the middle of a character and between the halves of a pair."""
    words = "Grüße 漢字 😀🎉 ende"
    reply = fake.Reply([words], split_surrogates=True, faults=fake.Drip(size))
    async with provided([reply]) as (provider, _):
        assert (await response_of(provider)).content == (Text(words),)


async def test_unknown_events_blocks_and_reasons_do_no_harm():
    raw = fake.Raw({"type": "hologram", "x": 1}, ({"type": "hologram_delta"},))
    faults = [
        fake.Insert(at, data=data)
        for at, data in enumerate(["", "[DONE]", "no json", {"type": "mystery"}], 1)
    ]
    reply = fake.Reply([raw, "Hi"], stop_reason="tired", faults=faults)
    async with provided([reply]) as (provider, _):
        response = await response_of(provider)
    assert response.content == (Opaque({"type": "hologram", "x": 1}), Text("Hi"))
    assert response.stop_reason == "tired"


# Streams that end too early ------------------------------------------------------------------------------------

REPLY = fake.Reply(["Some words for it. " * 6, fake.Call("bash", {"command": "ls"})])
N_EVENTS = 13


@pytest.mark.parametrize("fault", [fake.EndOfBody, fake.Close, fake.Reset, fake.BrokenChunk])
async def test_a_stream_that_ends_before_its_end_is_never_a_response(fault: Any):
    """At every event, in good order or broken; behind the last one nothing is lost."""
    script = [fake.Reply(REPLY.content, faults=fault(at)) for at in range(1, N_EVENTS + 1)]
    async with provided(script) as (provider, endpoint):
        for _ in script[:-1]:
            error, _seen = await error_of(provider)
            assert type(error) is ConnectionLost
            assert endpoint.base_url in error.message
        assert len(endpoint.requests) == N_EVENTS - 1
        if fault is not fake.Reset:  # which may take bytes with it that were sent
            assert (await response_of(provider)).stop_reason == "tool_use"


async def test_a_stream_that_ends_before_its_first_event_is_a_cut_that_is_tried_again():
    async with provided([fake.EndOfBody(0)]) as (provider, _):
        error, _ = await error_of(provider)
    assert type(error) is ConnectionLost
    assert "an empty answer" in error.message
    assert RetryPolicy().wait(error, 1, streamed=False, jitter=0.5) is not None


@pytest.mark.parametrize("at", [0, 1, 3, 6])
async def test_an_error_event_ends_the_stream_with_its_own_kind(at: int):
    kinds = {
        "overloaded_error": Overloaded,
        "rate_limit_error": RateLimited,
        "authentication_error": Unauthorized,
    }
    script = [fake.Reply(REPLY.content, faults=fake.ErrorEvent(at, kind)) for kind in kinds]
    async with provided(script) as (provider, endpoint):
        for kind in kinds.values():
            error, seen = await error_of(provider)
            assert type(error) is kind
            assert any(not isinstance(event, Begun) for event in seen) == (at > 3)
        assert len(endpoint.requests) == len(kinds)


async def test_a_broken_event_ends_the_stream():
    script = [
        fake.Reply("Hi", faults=fake.Insert(2, "content_block_delta", data)) for data in ("{", "[1]", "{}x")
    ]
    script.append(fake.Reply("Hi", faults=fake.Insert(2, "content_block_delta", "[" * 100_000)))
    async with provided(script) as (provider, _):
        for _ in script:
            error, _seen = await error_of(provider)
            assert type(error) is ConnectionLost
            assert "malformed answer" in error.message


# Waiting -----------------------------------------------------------------------------------------------------


async def gone_silent(loop: ClockLoop, fault: fake.Stall) -> str:
    """What is said of a server that stalls."""
    async with provided([fake.Reply(REPLY.content, faults=fault)], Patience()) as (provider, endpoint):
        caught = asyncio.create_task(error_of(provider))
        await endpoint.stall_reached()
        loop.jump()
        error, _ = await caught
        await endpoint.client_left()
        endpoint.release()
    assert type(error) is ConnectionLost
    return error.message


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (fake.Stall(0, before_headers=True), "no answer for 90 s"),
        (fake.Stall(0), "nothing received for 90 s"),
        (fake.Stall(4), "nothing received for 60 s"),
    ],
)
def test_silence_is_a_lost_connection(fault: fake.Stall, words: str):
    """Before the answer, before its first event, in its middle."""
    assert words in on_clock(lambda loop: gone_silent(loop, fault))


def test_pings_are_signs_of_life_but_not_for_ever():
    said = on_clock(lambda loop: gone_silent(loop, fake.Stall(2, ping_every=20.0)))
    assert "nothing but pings for 600 s" in said


async def test_a_server_that_pings_while_it_thinks_is_waited_for():
    patience = Patience(silence=5.0, pings=30.0)
    async with provided([fake.Reply("Hi", faults=fake.Stall(2, ping_every=0.01))], patience) as (
        provider,
        endpoint,
    ):
        answer = asyncio.create_task(response_of(provider))
        await endpoint.stall_reached()
        endpoint.release()
        assert (await answer).content == (Text("Hi"),)


def test_a_local_server_is_given_more_time_than_anthropic():
    assert LOCAL_PATIENCE.first > Patience().first >= Patience().silence == 60.0


@pytest.mark.parametrize("fault", [fake.Stall(0, before_headers=True), fake.Stall(3)])
async def test_canceling_closes_the_connection(fault: fake.Fault):
    async with provided([fake.Reply(REPLY.content, faults=fault)]) as (provider, endpoint):
        answer = asyncio.create_task(response_of(provider))
        await endpoint.stall_reached()
        answer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answer
        await endpoint.client_left()
        endpoint.release()
        assert (await response_of(provider)).content == (Text("Done."),)


async def test_leaving_the_stream_early_closes_the_connection():
    async with provided([fake.Reply(REPLY.content, faults=fake.Stall(6))]) as (provider, endpoint):
        stream = provider.stream(request())
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        await endpoint.client_left()
        endpoint.release()
        assert (await response_of(provider)).content == (Text("Done."),)


# Refusals and pages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("header", "expected"), [("3", 3.0), ("86400", 86400.0), ("soon", None)])
async def test_the_time_to_wait_is_handed_on(header: str, expected: float | None):
    """Never waited here."""
    async with provided([fake.HttpError(429, retry_after=header)]) as (provider, _):
        error, _ = await error_of(provider)
    assert isinstance(error, RateLimited)
    assert error.retry_after == expected


@pytest.mark.parametrize("fault", [fake.EchoKey(), fake.EchoKey(after=2)])
async def test_a_key_that_comes_back_is_not_shown(fault: fake.Fault):
    async with provided([fault]) as (provider, _):
        error, _ = await error_of(provider)
    assert KEY not in error.message
    assert "[key]" in error.message


@pytest.mark.parametrize("status", [200, 502])
@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "application/json"])
async def test_a_flood_is_left_before_it_fills_the_memory(status: int, kind: str):
    """200 MB without a line end."""
    flood = fake.RawResponse(b"x" * 100_000, status, {"content-type": kind}, repeat=2_000)
    async with provided([flood]) as (provider, endpoint):
        error, _ = await error_of(provider)
        await endpoint.client_left()
    assert len(error.message) < 700


@pytest.mark.parametrize("garbage", [True, False], ids=["garbage", "a bomb"])
@pytest.mark.parametrize("status", [200, 500])
async def test_compressed_garbage_is_an_error(garbage: bool, status: int):
    body = b"\x1f\x8b\x08garbage" if garbage else gzip.compress(b"x" * 50_000_000, mtime=0)
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    async with provided([fake.RawResponse(body, status, headers)]) as (provider, _):
        error, _ = await error_of(provider)
    assert len(error.message) < 700


async def test_a_compressed_stream_is_read_though_none_was_asked_for():
    events = (
        b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{}}}\n\n'
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    async with provided([fake.RawResponse(gzip.compress(events), 200, headers)]) as (provider, _):
        assert (await response_of(provider)).content == (Text("Hi"),)


@pytest.mark.slow
async def test_other_work_goes_on_while_a_compressed_flood_of_empty_lines_is_read():
    """A gigabyte of line ends in one megabyte: it is left after a few megabytes, with turns for the loop before."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    lines = b"".join(packer.compress(b"\n" * 10_000_000) for _ in range(100)) + packer.flush()
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with provided([fake.Reply("Hi"), fake.RawResponse(lines, 200, headers)]) as (provider, _):
        await response_of(provider)  # imports what is needed
        working = asyncio.create_task(work())
        error, _ = await error_of(provider)
        working.cancel()
    assert "bytes without an event" in error.message
    assert turns > 200


EVENTS = b"".join(
    b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind, **fields}).encode())
    for kind, fields in [
        ("message_start", {"message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3}}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        *[("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Words. " * 8}})] * 20,
    ]
)
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
FRAMED = {
    "to its end": b"%b\r\n%b" % (STREAM, EVENTS),
    "in chunks": b"%btransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (STREAM, len(EVENTS), EVENTS),
    "with a length": b"%bcontent-length: %d\r\n\r\n%b" % (STREAM, len(EVENTS), EVENTS),
    "compressed": b"%bcontent-encoding: gzip\r\n\r\n%b" % (STREAM, gzip.compress(EVENTS, 0, mtime=0)),
}
"""A stream in each form that its body can have."""


async def cut_everywhere(whole: bytes, step: int) -> None:
    """A stream that is cut after every `step`th byte of its first 2,000 is a lost connection, worth another try."""
    cuts = iter(range(0, 2_000, step))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(whole[: next(cuts)])
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = AnthropicProvider(Endpoint("key", base_url=address))
        for _ in range(0, 2_000, step):
            error, _seen = await error_of(provider)
            assert type(error) is ConnectionLost
            assert error.message.startswith(f"{address}: ")
            assert RetryPolicy().wait(error, 1, streamed=False, jitter=0.5) is not None
        await provider.close()


@pytest.mark.parametrize("framing", FRAMED)
async def test_a_stream_that_is_cut_in_its_first_event_is_tried_again(framing: str):
    await cut_everywhere(FRAMED[framing], 61)


@pytest.mark.long
@pytest.mark.parametrize("framing", FRAMED)
async def test_a_stream_that_is_cut_at_any_byte_is_tried_again(framing: str):
    await cut_everywhere(FRAMED[framing], 1)


async def test_events_that_arrive_together_are_handled_together():
    events = [one + b"\n\n" for one in EVENTS.split(b"\n\n") if one]
    ends = (
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
    many = [*events[:2], *events[2:] * 50, *(b"data: %b\n\n" % json.dumps(one).encode() for one in ends)]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in many)
        writer.write(b"%btransfer-encoding: chunked\r\n\r\n%b0\r\n\r\n" % (STREAM, chunks))
        await writer.drain()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = AnthropicProvider(Endpoint("key", base_url=address))
        deltas = [one for one in await events_of(provider) if isinstance(one, TextDelta)]
        await provider.close()
    assert "".join(one.text for one in deltas) == "Words. " * 8 * 20 * 50
    assert len(deltas) < 100


async def test_a_connection_that_breaks_while_a_refusal_is_handled_is_no_refusal():
    """The request without the refused field is sent where the refusal is caught."""
    script = [
        fake.HttpError(400, "cache_control: Extra inputs are not permitted"),
        fake.CloseBeforeResponse(),
    ]
    async with provided(script) as (provider, _):
        try:
            await response_of(provider)
        except BadRequest:
            lost, _ = await error_of(provider)
    assert type(lost) is ConnectionLost
    assert "400" not in lost.message
    assert "without sending a response" in lost.message


# Connections -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["after_response", "next_request"])
async def test_a_connection_that_was_dropped_while_idle_costs_nothing(when: Any):
    async with provided([fake.Reply("One", faults=fake.DropKeepAlive(when)), "Two"]) as (provider, endpoint):
        assert (await response_of(provider)).content == (Text("One"),)
        assert (await response_of(provider)).content == (Text("Two"),)
        assert endpoint.connections == 2


async def test_a_second_drop_is_not_tried_again():
    script = [fake.Reply("One"), fake.CloseBeforeResponse(), fake.CloseBeforeResponse(), fake.Reply("Never")]
    async with provided(script) as (provider, endpoint):
        await response_of(provider)
        assert type((await error_of(provider))[0]) is ConnectionLost
        assert len(endpoint.requests) == 3


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody, without listening; its host and port."""

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_tls_that_is_none_is_a_lost_connection():
    async with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        provider = AnthropicProvider(Endpoint("key", base_url=f"https://{address}"))
        error, _ = await error_of(provider)
        await provider.close()
    assert type(error) is ConnectionLost
    assert "TLS connection failed" in error.message


@pytest.mark.parametrize(
    "answer", [b"", b"\x00" * 100, b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx" * 9]
)
async def test_what_is_not_http_is_a_lost_connection(answer: bytes):
    async with saying(answer) as address:
        provider = AnthropicProvider(Endpoint("key", base_url=f"http://{address}"))
        error, _ = await error_of(provider)
        await provider.close()
    assert type(error) is ConnectionLost


# Models and life ---------------------------------------------------------------------------------------------


async def test_models_are_listed():
    async with provided() as (provider, _):
        found = {one.name for one in await provider.models()}
    assert found == {model.id for model in fake.MODELS}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"data": [{"id": "a", "max_input_tokens": 7}, {"id": "b"}]}', (("a", 7), ("b", 0))),
        (b'{"data": [{"id": "a", "meta": {"n_ctx": 2048}}], "models": []}', (("a", 2048),)),
        (b'{"data": [{"id": "a", "max_model_len": null, "context_length": 9}]}', (("a", 9),)),
        (b'{"data": [{"id": 7}, 3, {"id": "a", "context_window": "many"}]}', (("a", 0),)),
        (b'{"data": {}}', ()),
        (b"[]", ()),
        (b"<html>", ()),
        (b"[" * 100_000, ()),
    ],
)
async def test_lists_of_other_servers_are_read_as_far_as_they_go(body: bytes, expected: Any):
    async with saying(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)) as address:
        provider = AnthropicProvider(Endpoint(base_url=f"http://{address}"))
        assert tuple(one[:2] for one in await provider.models()) == expected
        await provider.close()


async def test_a_server_without_a_list_offers_nothing():
    async with provided(path="/nothing/here") as (provider, _):
        assert await provider.models() == ()


async def test_closing_twice_is_once_and_a_closed_provider_sends_nothing():
    async with provided() as (provider, endpoint):
        await response_of(provider)
        await provider.close()
        await provider.close()
        assert type((await error_of(provider))[0]) is ConnectionLost
        assert len(endpoint.requests) == 1


async def test_warming_in_threads_makes_one_client():
    async with provided() as (provider, endpoint):
        await asyncio.gather(*(asyncio.to_thread(provider.warm) for _ in range(4)), response_of(provider))
        await response_of(provider)
        assert endpoint.connections == 1
