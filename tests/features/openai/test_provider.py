"""Both protocols against the stand-in: what is sent is accepted, and what comes back is what was said."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

import prunecli
from prunecli.context import render
from prunecli.features.doctor.probing import probe
from prunecli.features.openai.tables import OPENAI, Dialect
from prunecli.features.openai.wording import short_name
from prunecli.model.messages import (
    INVALID_INPUT,
    Document,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolUse,
    tool_uses,
)
from prunecli.model.requests import WireMessage
from prunecli.providers.models import ModelTable
from prunecli.providers.provider import Begun, TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.runtime.refusals import Refusals
from prunecli.util.errors import (
    BadRequest,
    ConnectionLost,
    ContextOverflow,
    FieldRefused,
    Overloaded,
    RateLimited,
    SignatureRejected,
    Unauthorized,
)
from tests.endpoint.faults import (
    BrokenChunk,
    Close,
    CloseBeforeResponse,
    CutToolJson,
    Drip,
    DropKeepAlive,
    EchoKey,
    EndOfBody,
    ErrorEvent,
    HttpError,
    Insert,
    RawResponse,
    Reset,
    Stall,
)
from tests.endpoint.script import Call, Raw, Reply
from tests.endpoint.script import Thinking as Thought
from tests.features.openai.asking import (
    KEY,
    SHORT,
    TOOL,
    WIRES,
    answered,
    events_of,
    provider,
    request,
    response_to,
    returned,
    said,
    turn,
)
from tests.openai_endpoint.rules import OpenAiRules
from tests.openai_endpoint.server import OpenAiEndpoint

DATA = Path(prunecli.__file__).parent / "data"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
every_wire = pytest.mark.parametrize("wire", WIRES)
LENIENT = OpenAiRules(lenient=True)


@every_wire
async def test_a_conversation_with_calls_and_thinking_is_accepted_throughout(wire):
    script = [
        Reply(
            [
                Thought("Let me look."),
                "I look.",
                Call("bash", {"command": "ls"}),
                Call("bash", {"command": "pwd"}),
            ]
        ),
        Reply([Thought("One more."), Call("bash", {"command": "cat ä"})]),
        "All done.",
        "Bye.",
    ]
    async with OpenAiEndpoint(script, rules=LENIENT) as endpoint:
        made = provider(endpoint, wire, OPENAI if wire == "responses" else Dialect())
        asked, first = await turn(made, request())
        asked, _ = await turn(made, asked)
        asked, third = await turn(made, asked)
        await turn(made, asked)
        await made.close()
    assert endpoint.rejected == []
    thought, text, *calls = first.content
    assert (thought.thinking, text) == ("Let me look.", Text("I look."))
    assert [call.input for call in calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert (first.stop_reason, third.stop_reason) == ("tool_use", "end_turn")
    assert third.content == (Text("All done."),)
    sent = endpoint.requests[-1].json
    if wire == "responses":
        kinds = [item["type"] for item in sent["input"]]
        assert kinds[:4] == ["message", "reasoning", "message", "function_call"]
        assert kinds.count("reasoning") == 2
    else:
        assert [one.get("reasoning_content") for one in sent["messages"] if one["role"] == "assistant"] == [
            "Let me look.",
            "One more.",
            None,
            None,
        ][:3]


@every_wire
async def test_text_thinking_and_arguments_stream(wire):
    reply = Reply([Thought("Hm, hm."), "Words.", Call("bash", {"command": "ls -la"})], chunk=3)
    async with OpenAiEndpoint([reply]) as endpoint:
        made = provider(endpoint, wire)
        events = await events_of(made, request())
        await made.close()
    assert "".join(one.text for one in events if isinstance(one, ThinkingDelta)) == "Hm, hm."
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "Words."
    pieces = [one for one in events if isinstance(one, ToolCallDelta)]
    assert {one.name for one in pieces} == {"bash"}
    assert json.loads("".join(one.json for one in pieces)) == {"command": "ls -la"}


@every_wire
async def test_images_documents_and_failures_are_sent(wire):
    picture = Image("image/png", PIXEL)
    call = ToolUse("call_1", "bash", {})
    messages = (
        answered_prompt(picture, Document("application/pdf", PIXEL)),
        answered((call,)),
        returned(call, content=(Text("see"), picture), is_error=True),
    )
    async with OpenAiEndpoint() as endpoint:
        made = provider(endpoint, wire)
        await response_to(made, request(*messages))
        await made.close()
    assert endpoint.rejected == []
    body = endpoint.requests[0].body.decode()
    assert body.count(PIXEL) == 3
    assert "the call failed" in body


def answered_prompt(*blocks):
    made = render.blocks((Text("Look."), *blocks))
    return WireMessage.of("user", made, (0,) * len(made))


@every_wire
async def test_the_cache_is_read_and_reported(wire):
    async with OpenAiEndpoint(loop=True) as endpoint:
        made = provider(endpoint, wire)
        asked, first = await turn(made, request(said("word " * 3_000)))
        asked, second = await turn(made, asked)
        await made.close()
    assert first.usage.cache_read_input_tokens == 0
    read = second.usage.cache_read_input_tokens
    assert read % 128 == 0
    assert read == endpoint.requests[1].usage.cache_read_input_tokens > 3_000
    assert second.usage.prompt_tokens == endpoint.requests[1].usage.prompt_tokens
    assert second.usage.cache_creation_input_tokens is None, "written for nothing"
    keys = {one.json["prompt_cache_key"] for one in endpoint.requests}
    assert len(keys) == 1


@every_wire
async def test_paid_writes_follow_the_breakpoints(wire):
    async with OpenAiEndpoint(loop=True) as endpoint:
        made = provider(endpoint, wire)
        asked = request(said("word " * 3_000), model="gpt-6-sol", cache_marks=(0,))
        asked, first = await turn(made, asked)
        _, second = await turn(made, replace(asked, cache_marks=(0, 2)))
        await made.close()
    assert endpoint.rejected == []
    assert first.usage.cache_creation_input_tokens > 3_000
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.cache_creation_input_tokens > 0


@every_wire
@pytest.mark.parametrize(
    ("reply", "stop", "content"),
    [
        (Reply("cut", stop_reason="max_tokens"), "max_tokens", (Text("cut"),)),
        (Reply("no", stop_reason="refusal"), "refusal", (Text("no"),)),
        (Reply(Call("bash", json='{"command": "l')), "tool_use", None),
        (Reply(Call("bash", {"command": "ls"}), faults=CutToolJson(8)), "max_tokens", None),
    ],
)
async def test_each_end_is_told(wire, reply, stop, content):
    async with OpenAiEndpoint([reply]) as endpoint:
        made = provider(endpoint, wire)
        response = await response_to(made, request())
        await made.close()
    assert response.stop_reason == stop
    if content is None:
        assert list(tool_uses(response.content)[0].input) == [INVALID_INPUT]
    else:
        assert response.content == content


@every_wire
async def test_arguments_that_are_no_json_are_sent_back_as_json(wire):
    async with OpenAiEndpoint([Reply(Call("bash", json="{'no': json}"))]) as endpoint:
        made = provider(endpoint, wire)
        asked, _ = await turn(made, request())
        await turn(made, asked)
        await made.close()
    assert endpoint.rejected == []


@every_wire
async def test_long_names_and_ids_are_shortened_and_come_back(wire):
    long = "mcp__" + "very_long_server_name__" * 4
    call = ToolUse("toolu_" + "x" * 60, long, {"a": 1})
    tool = {**TOOL, "name": long}
    async with OpenAiEndpoint([Reply(Call(short_name(long), {}))]) as endpoint:
        made = provider(endpoint, wire)
        asked = request(said("x"), answered((call,)), returned(call), tools=(tool,))
        response = await response_to(made, asked)
        await made.close()
    assert endpoint.rejected == []
    assert tool_uses(response.content)[0].name == long


@every_wire
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (HttpError(401), Unauthorized),
        (HttpError(429, "Slow down", retry_after=7), RateLimited),
        (HttpError(429, body='{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}'),
         Unauthorized),
        (HttpError(503), Overloaded),
        (HttpError(400, body='{"error":{"message":"too long","code":"context_length_exceeded"}}'), ContextOverflow),
        (HttpError(400, body='{"error":{"message":"no","code":"content_filter"}}'), BadRequest),
        (HttpError(400, body='[{"error":{"message":"quota","code":400,"status":"INVALID_ARGUMENT"}}]'), BadRequest),
        (HttpError(400, body='{"error":{"message":"bad","code":"invalid_encrypted_content"}}'), SignatureRejected),
        (HttpError(400, body='{"error":{"message":"Unsupported parameter: \'prompt_cache_key\'",'
                             '"param":"prompt_cache_key"}}'), FieldRefused),
        (RawResponse(b"<html><title>Login</title></html>"), BadRequest),
        (RawResponse(b'{"error":{"message":"prompt is too long"}}', headers={"content-type": "application/json"}),
         ContextOverflow),
        (CloseBeforeResponse(), ConnectionLost),
        (CloseBeforeResponse(reset=True), ConnectionLost),
        (ErrorEvent(3, "server_error", "Overloaded"), Overloaded),
        (EndOfBody(2), ConnectionLost),
        (Close(3), ConnectionLost),
        (Reset(2), ConnectionLost),
        (BrokenChunk(2), ConnectionLost),
    ],
)  # fmt: skip
async def test_each_failure_is_one_that_the_loop_knows(wire, fault, error):
    async with OpenAiEndpoint([fault]) as endpoint:
        made = provider(endpoint, wire)
        with pytest.raises(error) as raised:
            await events_of(made, request())
        await made.close()
    assert KEY not in str(raised.value)
    if isinstance(fault, HttpError) and fault.retry_after:
        assert raised.value.retry_after == 7


@every_wire
@pytest.mark.parametrize("headers", [{}, {"api-key": KEY}], ids=["no key", "a key in its own header"])
async def test_only_the_given_credential_is_sent(wire, headers):
    async with OpenAiEndpoint() as endpoint:
        made = provider(endpoint, wire, headers=headers)
        await response_to(made, request())
        await made.models()
        await made.close()
    for sent in (*endpoint.requests, *endpoint.others):
        assert "authorization" not in sent.headers
        assert sent.headers.get("api-key") == headers.get("api-key")


@every_wire
async def test_an_echoed_key_is_not_repeated(wire):
    async with OpenAiEndpoint([EchoKey()], rules=OpenAiRules(key=KEY)) as endpoint:
        made = provider(endpoint, wire)
        with pytest.raises(Unauthorized) as raised:
            await events_of(made, request())
        await made.close()
    assert KEY not in str(raised.value)
    assert "[key]" in str(raised.value)


@every_wire
async def test_silence_is_a_lost_connection(wire):
    async with OpenAiEndpoint([Stall(3)]) as endpoint:
        made = provider(endpoint, wire, patience=SHORT)
        with pytest.raises(ConnectionLost, match="nothing received"):
            await events_of(made, request())
        await made.close()


@every_wire
@pytest.mark.parametrize(
    "fault", [Drip(7, 0), Insert(2, "mystery"), Insert(2, "x", ": only words"), DropKeepAlive()]
)
async def test_oddities_cost_nothing(wire, fault):
    script = [
        Reply(["Wörds 🐍.", Call("bash", {"command": "ls"})], faults=fault, split_surrogates=True),
        "Then.",
    ]
    async with OpenAiEndpoint(script) as endpoint:
        made = provider(endpoint, wire)
        asked, first = await turn(made, request())
        _, second = await turn(made, asked)
        await made.close()
    assert first.content[0] == Text("Wörds 🐍.")
    assert second.content == (Text("Then."),)


@every_wire
async def test_a_canceled_answer_closes_its_connection(wire):
    async with OpenAiEndpoint([Reply("Long.", faults=Stall(3))]) as endpoint:
        made = provider(endpoint, wire)
        task = asyncio.ensure_future(events_of(made, request()))
        await endpoint.stall_reached()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await endpoint.client_left()
        await made.close()


@every_wire
async def test_a_rejected_field_is_named_and_left_out(wire):
    async with OpenAiEndpoint(loop=True, rules=OpenAiRules(refused=("prompt_cache_key",))) as endpoint:
        made = provider(endpoint, wire)
        with pytest.raises(FieldRefused) as refused:
            await response_to(made, request())
        without = frozenset(refused.value.fields[:1])
        assert await response_to(made, request(without=without))
        await made.close()


async def test_a_refused_limit_is_sent_by_its_other_name():
    rules = OpenAiRules(refused=("max_tokens",), lenient=True)
    async with OpenAiEndpoint(loop=True, rules=rules) as endpoint:
        made, asked = provider(endpoint, "chat", Dialect()), request(model="local")
        with pytest.raises(FieldRefused) as refused:
            await response_to(made, asked)
        await response_to(made, replace(asked, without=frozenset(refused.value.fields[:1])))
        await made.close()
    assert endpoint.requests[1].json["max_completion_tokens"] == 1000


@every_wire
async def test_the_models_are_listed(wire):
    async with OpenAiEndpoint() as endpoint:
        made = provider(endpoint, wire)
        assert "gpt-5.5" in [one.name for one in await made.models()]
        await made.close()


async def test_reasoning_of_another_model_is_left_out():
    async with OpenAiEndpoint([Reply([Thought("hm"), "One."]), "Two."]) as endpoint:
        made = provider(endpoint, "responses")
        asked, _ = await turn(made, request())
        await response_to(made, replace(asked, model="gpt-5"))
        await made.close()
    assert endpoint.rejected == []
    assert b'reasoning",' not in endpoint.requests[1].body.replace(b"reasoning.encrypted", b"")


async def test_removed_reasoning_is_reported_with_its_place():
    removed = {"type": "reasoning", "action": "removed", "reason": "prefix_mismatch"}
    script = [Reply([Thought("hm"), "One."]), "Two."]
    async with OpenAiEndpoint(script) as endpoint:
        made = provider(endpoint, "responses")
        asked, first = await turn(made, request())
        item = json.loads(first.content[0].signature.partition(":reasoning:")[2])
        script[1:] = []
        endpoint._service._player._script = (
            *script,
            Reply("Two.", transformations=[{**removed, "id": item["id"]}]),
        )
        second = await response_to(made, asked)
        await made.close()
    assert second.input_transformations == (
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"},
    )


async def test_a_search_by_the_endpoint_is_a_pair_of_blocks_and_goes_back():
    action = {"type": "search", "query": "x", "sources": [{"type": "url", "url": "https://a.b"}]}
    search = Raw({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action})
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    async with OpenAiEndpoint([Reply([search, "Found."]), "Two."]) as endpoint:
        made = provider(endpoint, "responses", has_search=True)
        asked, first = await turn(made, request(tools=(TOOL, tool)))
        await response_to(made, asked)
        await made.close()
    use, result, _ = first.content
    assert isinstance(use, Opaque)
    assert use.json["input"]["query"] == "x"
    assert result.json["content"][0]["url"] == "https://a.b"
    assert first.usage.web_search_requests == 1
    assert endpoint.rejected == []
    assert [one["type"] for one in endpoint.requests[1].json["input"]][1] == "web_search_call"


@every_wire
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tools": ({"type": "web_search_20250305", "name": "web_search"},)}, "web_search"),
        ({"context_management": {"edits": []}}, "context_management"),
        ({"compaction": {"type": "summarize"}}, "compaction"),
    ],
)
async def test_what_these_protocols_lack_is_a_refused_field(wire, options, field):
    async with OpenAiEndpoint() as endpoint:
        made = provider(endpoint, wire)
        with pytest.raises(FieldRefused) as refused:
            await response_to(made, request(**options))
        await made.close()
    assert refused.value.fields == (field,)
    assert endpoint.requests == []


async def test_usage_is_reported_early_enough_to_be_billed():
    async with OpenAiEndpoint(["Hi."]) as endpoint:
        made = provider(endpoint)
        events = await events_of(made, request())
        await made.close()
    assert any(isinstance(event, Begun) and event.usage.prompt_tokens for event in events)


async def test_thinking_without_encrypted_content_is_shown_and_not_kept():
    item = Raw({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})
    async with OpenAiEndpoint([Reply([item, "One."]), "Two."]) as endpoint:
        made = provider(endpoint, "responses")
        asked, first = await turn(made, request())
        await response_to(made, asked)
        await made.close()
    assert first.content[0] == Thinking("Hm.", "")
    assert endpoint.rejected == []


def answering(asked, _: int) -> Reply:
    """An answer to each question of the probe."""
    return Reply(Call("ping", {"word": "x"}) if asked.get("tools") else [Thought("hm"), "red OK"])


@every_wire
async def test_the_doctor_probes_an_endpoint(wire, tmp_path):
    found = {}
    async with OpenAiEndpoint(answering) as endpoint:
        refusals = Refusals(tmp_path / "endpoints.json", lambda: 1_000, lambda _: endpoint.api)
        info = ModelTable.load(DATA).info("gpt-5.5")
        await probe(provider(endpoint, wire), info, refusals, lambda one: found.setdefault(one.name, one))
    assert endpoint.rejected == []
    assert {found[name].state for name in ("streaming", "tools", "images", "cache", "effort")} == {"ok"}
    assert found["context edits"].said == "no: requests omit context_management"
