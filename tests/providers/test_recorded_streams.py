"""What other servers really send (streams/README.md): their differences from the API arrive as if there were none."""

from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.provider import Begun, Response, StreamEvent
from prunecli.util.errors import ContextOverflow
from tests.providers.requests import request
from tests.serving import EVENTS, Answer, as_json, serving

STREAMS = Path(__file__).parent / "streams"


async def replayed(answer: Answer, max_tokens: int = 1000) -> list[StreamEvent]:
    with serving(lambda *_: answer) as served:
        provider = AnthropicProvider(Endpoint("key", None, served.address))
        try:
            sent = replace(request(model="smol"), max_tokens=max_tokens)
            return [event async for event in provider.stream(sent)]
        finally:
            await provider.close()


async def response_of(name: str, max_tokens: int = 1000) -> Response:
    *_, last = await replayed((200, EVENTS, (STREAMS / f"{name}.sse").read_bytes()), max_tokens)
    assert isinstance(last, Response)
    return last


@pytest.mark.parametrize(
    ("name", "text", "usage"),
    [
        ("llamacpp_cut", "Hello, welcome to the AI! I", Usage(1, 8, 20, None)),
        ("litellm_cut", "I'm glad I could meet you at", Usage(1, 8, 20, 0)),
    ],
)
async def test_a_reply_at_its_limit_is_whole_with_its_figures(name: str, text: str, usage: Usage) -> None:
    response = await response_of(name, 8)
    assert response.content == (Text(text),)
    assert (response.stop_reason, response.usage) == ("max_tokens", usage)


async def test_a_gateway_that_calls_a_cut_reply_finished_is_not_believed() -> None:
    assert (await response_of("litellm_responses_cut", 16)).stop_reason == "max_tokens"
    assert (await response_of("litellm_responses_cut", 17)).stop_reason == "end_turn"


async def test_calls_arrive_with_their_ids_and_inputs() -> None:
    local = await response_of("llamacpp_tool")
    assert local.content == (ToolUse("oslX6MPEp4XAG1Ph6Z7Fu4tWmfBNmWp0", "read", {"path": "h.txt"}),)
    assert (local.stop_reason, local.usage) == ("tool_use", Usage(617, 32, 0, None))
    gateway = await response_of("litellm_tool")
    assert gateway.content == (Text("Reading file 0."), ToolUse("call_0", "read", {"path": "f0.txt"}))
    assert (gateway.stop_reason, gateway.usage) == ("tool_use", Usage(39, 20, 39, 0))


async def test_a_stopped_reply_of_a_gateway_has_no_figures_before_its_end() -> None:
    events = await replayed((200, EVENTS, (STREAMS / "litellm_cut.sse").read_bytes()))
    first, last = [event.usage for event in events if isinstance(event, Begun)]
    assert (first.prompt_tokens, last.prompt_tokens) == (0, 21)


async def test_a_prompt_beyond_a_local_window_is_an_overflow() -> None:
    said = "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it"
    error = {"code": 400, "message": said, "type": "exceed_context_size_error", "n_ctx": 8192}
    with pytest.raises(ContextOverflow):
        await replayed(as_json({"error": error}, 400))
