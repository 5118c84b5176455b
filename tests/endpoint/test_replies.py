"""Does the real SDK understand what is sent, streamed and not, and does it say what the script says?"""

import json
from typing import Any

import pytest

from tests.endpoint.faults import CutToolJson
from tests.endpoint.sample import body, user
from tests.endpoint.script import Call, Raw, Redacted, Reply, Text, Thinking
from tests.endpoint.server import Endpoint
from tests.endpoint.signatures import verify, verify_redacted

ASK: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "hi"}],
}
EVERYTHING = Reply(
    [
        Thinking("Let me see… 🤔"),
        Redacted("hidden"),
        "Hello, wörld 🎉.",
        Call("read", {"path": "ä.txt", "lines": [1, 2]}),
        Call("ls"),
    ],
    chunk=3,
)


async def streamed(client: Any, **more: Any) -> list[Any]:
    """The events of a streamed request."""
    stream = await client.messages.create(**ASK, **more, stream=True)
    return [event async for event in stream]


def of_type(events: list[Any], kind: str) -> list[Any]:
    return [event for event in events if event.type == kind]


def texts(events: list[Any], field: str) -> str:
    return "".join(
        getattr(event.delta, field, "") or "" for event in events if event.type == "content_block_delta"
    )


async def test_the_sdk_reads_every_kind_of_block_from_a_stream(sdk: Any):
    async with Endpoint([EVERYTHING]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    kinds = [event.content_block.type for event in of_type(events, "content_block_start")]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert texts(events, "thinking") == "Let me see… 🤔"
    assert texts(events, "text") == "Hello, wörld 🎉."
    assert texts(events, "partial_json") == '{"path": "ä.txt", "lines": [1, 2]}{}'
    assert verify("Let me see… 🤔", texts(events, "signature")) is not None
    redacted = of_type(events, "content_block_start")[1].content_block
    assert verify_redacted(redacted.data) is not None
    longest = max(
        len(event.delta.text) for event in events if getattr(event, "delta", None) and texts([event], "text")
    )
    assert longest == 3
    assert [event.type for event in events][-2:] == ["message_delta", "message_stop"]
    assert of_type(events, "message_delta")[0].delta.stop_reason == "tool_use"


async def test_the_sdk_reads_the_same_message_when_it_is_not_streamed(sdk: Any):
    async with Endpoint([EVERYTHING]) as endpoint, sdk(endpoint) as client:
        message = await client.messages.create(**ASK)
    thinking, redacted, text, read, ls = message.content
    assert verify(thinking.thinking, thinking.signature) is not None
    assert verify_redacted(redacted.data) is not None
    assert text.text == "Hello, wörld 🎉."
    assert (read.name, read.input) == ("read", {"path": "ä.txt", "lines": [1, 2]})
    assert (ls.name, ls.input) == ("ls", {})
    assert read.id.startswith("toolu_")
    assert read.id != ls.id
    assert (message.role, message.model, message.stop_reason) == ("assistant", "claude-sonnet-5", "tool_use")


async def test_usage_comes_with_the_start_and_with_the_end(sdk: Any):
    async with Endpoint(["a" * 40]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    start, end = events[0].message.usage, of_type(events, "message_delta")[0].usage
    assert (start.input_tokens, start.output_tokens, start.cache_read_input_tokens) == (1, 1, 0)
    assert start.cache_creation.ephemeral_5m_input_tokens == 0
    assert (end.input_tokens, end.output_tokens) == (1, 10)


async def test_usage_can_be_set_and_left_out(sdk: Any):
    script = [
        Reply("x", usage={"input_tokens": 7, "cache_read_input_tokens": None}),
        Reply("x", cache_fields=False),
    ]
    async with Endpoint(script) as endpoint, sdk(endpoint) as client:
        set_by_hand = (await client.messages.create(**ASK)).usage
        local = (await client.messages.create(**ASK)).usage
    assert (set_by_hand.input_tokens, set_by_hand.cache_read_input_tokens) == (7, None)
    assert set_by_hand.cache_creation_input_tokens == 0
    assert local.model_dump(exclude_none=True) == {"input_tokens": 1, "output_tokens": 1}


async def test_an_endpoint_without_cache_fields_reports_none(sdk: Any):
    """As local servers do."""
    async with Endpoint(cache_fields=False) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    assert events[0].message.usage.cache_read_input_tokens is None


async def test_the_script_is_played_in_order_and_then_the_default(sdk: Any):
    async with Endpoint(["one", Reply(Text("two"))], default="over") as endpoint, sdk(endpoint) as client:
        said = [(await client.messages.create(**ASK)).content[0].text for _ in range(4)]
    assert said == ["one", "two", "over", "over"]


async def test_a_script_can_be_played_again_from_the_start(sdk: Any):
    async with Endpoint(["one", "two"], loop=True) as endpoint, sdk(endpoint) as client:
        said = [(await client.messages.create(**ASK)).content[0].text for _ in range(3)]
    assert said == ["one", "two", "one"]


async def test_a_script_can_answer_what_it_is_asked(sdk: Any):
    def script(request: Any, index: int) -> Reply:
        return Reply(f"{index}: {request['messages'][-1]['content']}")

    for judge in ("incremental", "off"):
        async with Endpoint(script, judge=judge) as endpoint, sdk(endpoint) as client:
            said = [(await client.messages.create(**ASK)).content[0].text for _ in range(2)]
        assert said == ["0: hi", "1: hi"]


async def test_a_refused_request_uses_up_no_reply(post_json: Any):
    async with Endpoint(["one"]) as endpoint:
        refused = await post_json(endpoint, body(user(" ")))
        answered = await post_json(endpoint, body(stream=None))
    assert refused["error"]["type"] == "invalid_request_error"
    assert answered["content"] == [{"type": "text", "text": "one"}]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("x"), "end_turn"),
        (Reply(Call("ls")), "tool_use"),
        (Reply(Call("ls"), stop_reason="max_tokens"), "max_tokens"),
        (Reply("x", stop_reason="refusal"), "refusal"),
        (Reply("x", stop_reason="pause_turn"), "pause_turn"),
        (Reply("x", stop_reason="model_context_window_exceeded"), "model_context_window_exceeded"),
        (Reply("x", stop_reason="galaxy"), "galaxy"),
        (Reply(), "end_turn"),
    ],
)
async def test_the_stop_reason_is_the_scripts(sdk: Any, reply: Reply, reason: str):
    """Also one that nobody knows."""
    async with Endpoint([reply, reply]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
        message = await client.messages.create(**ASK)
    assert of_type(events, "message_delta")[0].delta.stop_reason == reason
    assert message.stop_reason == reason


async def test_an_unknown_block_and_an_unknown_delta_reach_the_client(sdk: Any):
    raw = Raw({"type": "hologram", "size": 3}, ({"type": "beam_delta", "beam": "x"},))
    async with Endpoint([Reply([raw, "words"])]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    assert of_type(events, "content_block_start")[0].content_block.type == "hologram"
    assert of_type(events, "content_block_delta")[0].delta.type == "beam_delta"
    assert texts(events, "text") == "words"


async def test_unsigned_thinking_can_be_scripted(sdk: Any):
    """The stream ends before the signature."""
    async with Endpoint([Reply([Thinking("why", signature=""), "x"])]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    assert texts(events, "thinking") == "why"
    assert texts(events, "signature") == ""


async def test_a_surrogate_pair_is_split_over_two_deltas(connect: Any):
    async with Endpoint([Reply("a🎉b", split_surrogates=True)]) as endpoint, connect(endpoint) as client:
        client.send(body())
        _, _, stream = await client.response()
    deltas = [json.loads(line[6:]) for line in stream.splitlines() if b'"text_delta"' in line]
    assert [delta["delta"]["text"] for delta in deltas] == ["a", "\ud83c", "\udf89", "b"]
    assert b'"\\ud83c"' in stream
    assert b'"\\udf89"' in stream


@pytest.mark.parametrize("at", range(25))
async def test_a_tool_input_can_be_cut_at_every_byte(sdk: Any, at: int):
    whole = '{"path": "ä.txt", "n": 1}'
    reply = Reply(["x", Call("read", {"path": "ä.txt", "n": 1})], faults=CutToolJson(at))
    async with Endpoint([reply]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    assert texts(events, "partial_json") == whole.encode()[:at].decode(errors="ignore")
    assert of_type(events, "message_delta")[0].delta.stop_reason == "max_tokens"
    assert events[-1].type == "message_stop"


async def test_a_tool_input_can_be_any_text(sdk: Any):
    async with Endpoint([Reply(Call("read", json='{"path": }'))]) as endpoint, sdk(endpoint) as client:
        events = await streamed(client)
    assert texts(events, "partial_json") == '{"path": }'
    assert of_type(events, "message_delta")[0].delta.stop_reason == "tool_use"


async def test_ids_differ_from_reply_to_reply_and_repeat_from_run_to_run(post_json: Any):
    async def ids() -> list[str]:
        async with Endpoint([Reply([Call("a"), Call("b")])] * 3) as endpoint:
            replies = [await post_json(endpoint, body(stream=None)) for _ in range(3)]
        return [reply["id"] for reply in replies] + [
            block["id"] for reply in replies for block in reply["content"]
        ]

    first = await ids()
    assert len(set(first)) == 9
    assert await ids() == first


async def test_ids_can_be_given(post_json: Any):
    async with Endpoint([Reply(Call("a", id="toolu_mine"))]) as endpoint:
        reply = await post_json(endpoint, body(stream=None))
    assert reply["content"][0]["id"] == "toolu_mine"


async def test_pings_come_unless_they_are_switched_off(connect: Any):
    async with Endpoint(["a", Reply("b", pings=False)]) as endpoint, connect(endpoint) as client:
        streams = []
        for _ in range(2):
            client.send(body())
            streams.append((await client.response())[2])
    assert [stream.count(b"event: ping") for stream in streams] == [1, 0]


async def test_the_sdk_lists_models_and_counts_tokens(sdk: Any):
    async with Endpoint() as endpoint, sdk(endpoint) as client:
        names = [model.id async for model in client.models.list()]
        one = await client.models.retrieve("claude-opus-5")
        counted = await client.messages.count_tokens(
            model="claude-sonnet-5", messages=[{"role": "user", "content": "x" * 400}]
        )
    assert "claude-sonnet-5" in names
    assert one.max_input_tokens == 1_000_000
    assert counted.input_tokens == 100
    assert [request.path for request in endpoint.others] == [
        "/v1/models",
        "/v1/models/claude-opus-5",
        "/v1/messages/count_tokens",
    ]
    assert endpoint.requests == []


def test_a_delta_has_at_least_one_character():
    with pytest.raises(ValueError, match="chunk: 0"):
        Reply("x", chunk=0)
