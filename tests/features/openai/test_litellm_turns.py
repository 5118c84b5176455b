"""Tool turns over both protocols through LiteLLM's proxy: the figures are those of the server behind it.

Opt-in, as in tests/providers/test_litellm.py. A relay between the proxy and llama.cpp notes what the server reports.
"""

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from prunecli.features.openai.provider import OpenAiProvider, Target
from prunecli.features.openai.tables import Dialect
from prunecli.model.messages import Text, ToolUse
from tests.features.openai.asking import WIRES, answered, request, response_to, returned, said
from tests.providers.test_litellm import KEY, proxy  # noqa: F401  # a fixture
from tests.providers.test_real_server import address as server  # noqa: F401  # a fixture
from tests.serving import Answer, serving

pytestmark = pytest.mark.endpoint

TURNS = 10
_USAGE = re.compile(r'"usage":\s*(\{(?:[^{}]|\{[^{}]*\})*\})')


class Relay:
    """Passes requests on to a server, and keeps the usage that it reports: (prompt, cached)."""

    def __init__(self, address: str) -> None:
        self._host = urlsplit(address).netloc
        self.usage: list[tuple[int, int]] = []

    def __call__(self, method: str, path: str, body: bytes) -> Answer:
        connection = http.client.HTTPConnection(self._host, timeout=60)
        connection.request(method, path, body or None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if found := _USAGE.findall(content.decode()):
            usage = json.loads(found[-1])
            details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
            prompt = usage.get("prompt_tokens") or usage.get("input_tokens")
            self.usage.append((prompt, details.get("cached_tokens", 0)))
        return answer.status, answer.headers["Content-Type"], content


@pytest.fixture(scope="module")
def relay(server: str) -> Relay:  # noqa: F811
    """The relay before the model server."""
    return Relay(server)


@pytest.fixture(scope="module")
def address(relay: Relay) -> Iterator[str]:
    """Where the proxy finds the relay."""
    with serving(relay) as served:
        yield served.address


@pytest.mark.parametrize("wire", WIRES)
async def test_tool_turns_have_the_figures_of_the_server(proxy: int, relay: Relay, wire: Any) -> None:  # noqa: F811
    target = Target(f"http://127.0.0.1:{proxy}/v1", wire, Dialect(), {"Authorization": f"Bearer {KEY}"})
    made, seen = OpenAiProvider(target), []
    asked = replace(request(said("Count the files, one by one."), model="any"), max_tokens=4)
    relay.usage.clear()
    for turn in range(TURNS):
        usage = (await response_to(made, asked)).usage
        seen.append((usage.prompt_tokens, usage.cache_read_input_tokens or 0))
        call = ToolUse(f"call_{turn}", "bash", {"command": f"ls {turn}"})
        step = answered((Text(f"Step {turn}."), call)), returned(call, text=f"{turn}.txt")
        asked = replace(asked, messages=(*asked.messages, *step))
    await made.close()
    assert seen == relay.usage
    assert seen[-1][1] > seen[1][1] > 0
