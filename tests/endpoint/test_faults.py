"""Does every fault happen as its docstring says, and does the real SDK meet it as a fault?"""

import asyncio
import json
from typing import Any

import pytest

from tests.endpoint.faults import (
    SIGNATURE_ERROR,
    SIGNATURE_MESSAGE,
    BrokenChunk,
    Close,
    CloseBeforeResponse,
    Drip,
    DropKeepAlive,
    EchoKey,
    EndOfBody,
    ErrorEvent,
    Fault,
    HttpError,
    Insert,
    RawResponse,
    Reset,
    Stall,
)
from tests.endpoint.sample import body
from tests.endpoint.script import Call, Reply
from tests.endpoint.server import Endpoint

ASK: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "hi"}],
}
LETTERS = Reply("abcdef", chunk=1)
"""Streamed as message_start, content_block_start, ping, six deltas, and three events to end."""


def with_fault(*faults: Fault) -> Reply:
    return Reply(LETTERS.content, chunk=1, faults=faults)


async def streamed(client: Any) -> tuple[list[Any], Exception | None]:
    """The events of a stream up to its end, and the error it ended with."""
    import anthropic
    import httpx2

    events: list[Any] = []
    try:
        async for event in await client.messages.create(**ASK, stream=True):
            events.append(event)
    except (anthropic.APIError, httpx2.HTTPError) as error:
        return events, error
    return events, None


def said(events: list[Any]) -> str:
    return "".join(event.delta.text for event in events if event.type == "content_block_delta")


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", "BadRequestError"),
        (401, "authentication_error", "AuthenticationError"),
        (402, "billing_error", "PaymentRequiredError"),
        (403, "permission_error", "PermissionDeniedError"),
        (404, "not_found_error", "NotFoundError"),
        (413, "request_too_large", "ContentTooLargeError"),
        (429, "rate_limit_error", "RateLimitError"),
        (500, "api_error", "InternalServerError"),
        (529, "overloaded_error", "OverloadedError"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_raises_the_error_of_the_status(
    sdk: Any, status: int, kind: str, error: str, stream: bool
):
    import anthropic

    async with Endpoint([HttpError(status)]) as endpoint, sdk(endpoint) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await client.messages.create(**ASK, stream=stream)
    assert type(caught.value).__name__ == error
    assert (caught.value.status_code, caught.value.type) == (status, kind)
    assert caught.value.request_id.startswith("req_")
    assert endpoint.requests[0].usage is None
    assert endpoint.rejected == []


@pytest.mark.parametrize("after", [3, "120", "Wed, 21 Oct 2026 07:28:00 GMT", "soon"])
async def test_retry_after_is_sent_as_it_is_written(connect: Any, after: str | int):
    fault = HttpError(429, retry_after=after, headers={"x-should-retry": "true"})
    async with Endpoint([fault]) as endpoint, connect(endpoint) as client:
        client.send(body())
        status, headers, _ = await client.response()
    assert (status, headers["retry-after"], headers["x-should-retry"]) == (429, str(after), "true")


async def test_an_error_can_have_any_type_message_and_body(connect: Any):
    script = [HttpError(529, "busy", "odd_error"), HttpError(500, body="<html>"), SIGNATURE_ERROR]
    async with Endpoint(script) as endpoint, connect(endpoint) as client:
        answers = []
        for _ in script:
            client.send(body())
            answers.append((await client.response())[2])
    assert json.loads(answers[0])["error"] == {"type": "odd_error", "message": "busy"}
    assert answers[1] == b"<html>"
    assert json.loads(answers[2])["error"]["message"] == SIGNATURE_MESSAGE


async def test_a_request_that_met_an_error_can_be_sent_again(sdk: Any):
    async with Endpoint([HttpError(529), HttpError(429), "at last"]) as endpoint, sdk(endpoint) as client:
        for _ in range(2):
            assert (await streamed(client))[1] is not None
        assert said((await streamed(client))[0]) == "at last"


@pytest.mark.parametrize("after", range(14))
async def test_an_error_event_ends_the_stream_at_its_place(sdk: Any, after: int):
    """It arrives as an error with status 200."""
    fault = ErrorEvent(after, "overloaded_error", "Overloaded")
    async with Endpoint([with_fault(fault)]) as endpoint, sdk(endpoint) as client:
        events, error = await streamed(client)
    assert (error.status_code, error.type) == (200, "overloaded_error")  # type: ignore[union-attr]
    assert len(events) == len([n for n in range(min(after, 12)) if n != 2]), "the SDK keeps the ping"


async def test_an_error_event_is_a_status_when_nothing_is_streamed(sdk: Any):
    import anthropic

    async with Endpoint([with_fault(ErrorEvent(3))]) as endpoint, sdk(endpoint) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await client.messages.create(**ASK)
    assert caught.value.status_code == 529


@pytest.mark.parametrize("after", range(13))
async def test_a_body_can_end_in_good_order_at_every_event(sdk: Any, after: int):
    """The SDK raises nothing; only the missing message_stop tells."""
    async with Endpoint([with_fault(EndOfBody(after))]) as endpoint, sdk(endpoint) as client:
        events, error = await streamed(client)
    assert error is None
    assert (after == 12) == any(event.type == "message_stop" for event in events)
    assert said(events) == "abcdef"[: max(0, after - 3)]


@pytest.mark.parametrize("fault", [Close, Reset, BrokenChunk])
@pytest.mark.parametrize("after", [0, 1, 5, 11])
async def test_a_broken_body_is_an_error_of_the_connection(sdk: Any, fault: type, after: int):
    async with Endpoint([with_fault(fault(after)), "next"]) as endpoint, sdk(endpoint) as client:
        events, error = await streamed(client)
        assert error is not None
        assert not any(event.type == "message_stop" for event in events)
        assert "abcdef".startswith(said(events))
        assert said((await streamed(client))[0]) == "next", "a new connection works"


@pytest.mark.parametrize("fault", [Close(1), Reset(1), BrokenChunk(1)])
async def test_a_message_that_is_not_streamed_can_break_too(sdk: Any, fault: Fault):
    import anthropic

    async with Endpoint([with_fault(fault)]) as endpoint, sdk(endpoint) as client:
        with pytest.raises(anthropic.APIConnectionError):
            await client.messages.create(**ASK)


async def test_a_message_that_is_not_streamed_can_end_in_the_middle(connect: Any):
    async with Endpoint([with_fault(EndOfBody(1))]) as endpoint, connect(endpoint) as client:
        client.send(body(stream=None))
        _, _, answer = await client.response()
    assert answer.startswith(b'{"id":"msg_')
    with pytest.raises(ValueError, match="char"):
        json.loads(answer)


@pytest.mark.parametrize("fault", [CloseBeforeResponse(), CloseBeforeResponse(reset=True)])
async def test_a_connection_can_end_before_any_byte(sdk: Any, fault: Fault):
    import anthropic

    async with Endpoint([fault, "next"]) as endpoint, sdk(endpoint) as client:
        _, error = await streamed(client)
        assert isinstance(error, anthropic.APIConnectionError)
        assert said((await streamed(client))[0]) == "next"
    assert endpoint.connections == 2


async def test_a_kept_connection_is_gone_when_the_next_request_comes(connect: Any):
    """What local servers do: the answer was whole, the next request meets a reset."""
    async with Endpoint([Reply("a", faults=DropKeepAlive())]) as endpoint, connect(endpoint) as client:
        client.send(body())
        assert (await client.response())[0] == 200
        client.send(body())
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.head()
    assert len(endpoint.requests) == 1


async def test_a_kept_connection_can_go_at_once(connect: Any):
    fault = DropKeepAlive("after_response")
    async with Endpoint([Reply("a", faults=fault)]) as endpoint, connect(endpoint) as client:
        client.send(body())
        status, headers, _ = await client.response()
        assert (status, headers.get("connection")) == (200, None), "unannounced"
        assert await client.reader.read() == b""


async def test_a_stall_lasts_until_it_is_released(connect: Any):
    async with Endpoint([with_fault(Stall(4))]) as endpoint, connect(endpoint) as client:
        client.send(body())
        await endpoint.stall_reached()
        _, headers = await client.head()
        chunks = client.chunks()
        before = [await anext(chunks) for _ in range(4)]
        assert before[-1].endswith(b'"text":"a"}}\n\n')
        assert endpoint.answered == 0
        endpoint.release()
        after = [chunk async for chunk in chunks]
        await endpoint.response_ended(1)
    assert headers["content-type"].startswith("text/event-stream")
    assert len(after) == 8
    assert after[-1].startswith(b"event: message_stop")


async def test_a_stall_can_hold_back_even_the_status_line(connect: Any):
    fault = Stall(before_headers=True)
    async with Endpoint([with_fault(fault)]) as endpoint, connect(endpoint) as client:
        client.send(body())
        await endpoint.stall_reached()
        reading = asyncio.ensure_future(client.response())
        async with connect(endpoint) as other:
            other.send(body())
            assert (await other.response())[0] == 200
        assert not reading.done()
        assert client.reader.at_eof() is False
        endpoint.release()
        assert (await reading)[0] == 200


async def test_a_stall_with_pings_sends_nothing_else(connect: Any):
    """Pings only."""
    async with Endpoint([with_fault(Stall(1, ping_every=0.001))]) as endpoint, connect(endpoint) as client:
        client.send(body())
        await client.head()
        chunks = client.chunks()
        seen = [await anext(chunks) for _ in range(5)]
        endpoint.release()
        rest = b"".join([chunk async for chunk in chunks])
    assert seen[0].startswith(b"event: message_start")
    assert {chunk.split(b"\n")[0] for chunk in seen[1:]} == {b"event: ping"}
    assert rest.endswith(b'{"type":"message_stop"}\n\n')


async def test_a_release_ahead_of_time_counts_for_the_next_stall(connect: Any):
    async with Endpoint([with_fault(Stall(1), Stall(2))]) as endpoint, connect(endpoint) as client:
        endpoint.release(2)
        client.send(body())
        assert (await client.response())[0] == 200
        assert endpoint.stalls == 2


async def test_a_client_that_leaves_during_a_stall_is_noticed(connect: Any):
    """Esc at an exact place."""
    async with Endpoint([with_fault(Stall(5)), "next"]) as endpoint:
        async with connect(endpoint) as client:
            client.send(body())
            await endpoint.stall_reached()
        await endpoint.client_left()
        async with connect(endpoint) as client:
            client.send(body())
            assert (await client.response())[0] == 200
    assert (endpoint.clients_left, endpoint.answered) == (1, 2)


async def test_events_nobody_knows_can_be_inserted(connect: Any):
    faults = [Insert(0), Insert(3, "content_block_delta", "not json"), Insert(99, "end", {"a": "ü"})]
    async with Endpoint([with_fault(*faults)]) as endpoint, connect(endpoint) as client:
        client.send(body())
        stream = (await client.response())[2]
    events = stream.decode().split("\n\n")
    assert events[0] == 'event: mystery\ndata: {"type":"mystery"}'
    assert events[4] == "event: content_block_delta\ndata: not json"
    assert events[-2] == 'event: end\ndata: {"a":"ü"}'


async def test_an_unknown_event_does_not_disturb_the_sdk(sdk: Any):
    async with Endpoint([with_fault(Insert(4))]) as endpoint, sdk(endpoint) as client:
        events, error = await streamed(client)
    assert (said(events), error) == ("abcdef", None)


async def test_html_from_a_proxy_is_sent_with_status_200(connect: Any):
    page = RawResponse(b"<html>Sign in</html>")
    garbage = RawResponse(
        b"not gzip", headers={"content-type": "text/event-stream", "content-encoding": "gzip"}
    )
    async with Endpoint([page, garbage]) as endpoint, connect(endpoint) as client:
        for expected in (b"<html>Sign in</html>", b"not gzip"):
            client.send(body())
            status, headers, answer = await client.response()
            assert (status, answer) == (200, expected)
    assert headers["content-encoding"] == "gzip"


async def test_a_flood_waits_for_a_client_that_does_not_read(connect: Any):
    """A gigabyte is never in memory at once."""
    flood = RawResponse(b"x" * 65_536, repeat=16_384)
    async with Endpoint([flood]) as endpoint:
        async with connect(endpoint) as client:
            client.send(body())
            _, headers = await client.head()
            assert int(headers["content-length"]) == 1 << 30
            assert endpoint.answered == 0
        await endpoint.client_left()


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_drip_cuts_events_lines_and_characters(sdk: Any, size: int):
    reply = Reply(["äöü 🎉", Call("read", {"path": "ü"})], faults=Drip(size))
    async with Endpoint([reply]) as endpoint, sdk(endpoint) as client:
        events, error = await streamed(client)
    assert error is None
    texts = [event.delta.text for event in events if getattr(getattr(event, "delta", None), "text", None)]
    assert texts == ["äöü 🎉"]


@pytest.mark.parametrize("header", ["x_api_key", "authorization"])
@pytest.mark.parametrize("after", [None, 2])
async def test_an_error_can_repeat_the_key_of_the_request(connect: Any, header: str, after: int | None):
    key = "sk-ant-api03-secret"
    sent = (
        {"x_api_key": key} if header == "x_api_key" else {"x_api_key": "", "authorization": f"Bearer {key}"}
    )
    async with Endpoint([with_fault(EchoKey(after=after))]) as endpoint, connect(endpoint) as client:
        client.send(body(), **sent)
        status, _, answer = await client.response()
    assert status == (401 if after is None else 200)
    assert key.encode() in answer


async def test_a_delay_comes_between_two_events(connect: Any):
    """Real time, so only that all of it arrives is asserted."""
    async with Endpoint([Reply("abc", chunk=1, delay=0.0001)]) as endpoint, connect(endpoint) as client:
        client.send(body())
        stream = (await client.response())[2]
    assert stream.count(b"text_delta") == 3
