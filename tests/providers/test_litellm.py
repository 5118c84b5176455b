"""prunecli through LiteLLM's proxy, before a model server of OpenAI's kind: the recipe of docs/models.md.

Opt-in: PRUNECLI_TEST_LITELLM names the program `litellm`; PRUNECLI_TEST_LLAMA_PYTHON is as in test_real_server.py.
"""

import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from prunecli.model.messages import Text
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.runtime.local_servers import find
from prunecli.util.errors import ContextOverflow
from tests.providers.test_real_server import address, asked, response_to  # noqa: F401  # address is a fixture
from tests.waiting import wait_until

pytestmark = pytest.mark.endpoint

LITELLM = os.environ.get("PRUNECLI_TEST_LITELLM", "")
KEY = "sk-local-0123456789abcdef"
PRICE_IN, PRICE_OUT = 1e-6, 2e-6


@pytest.fixture(scope="module")
def proxy(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:  # noqa: F811
    """The port of a proxy before the model server."""
    if not LITELLM:
        pytest.skip("PRUNECLI_TEST_LITELLM is not set")
    folder = tmp_path_factory.mktemp("litellm")
    prices = {"input_cost_per_token": PRICE_IN, "output_cost_per_token": PRICE_OUT}
    upstream = {"model": "openai/smol", "api_base": f"{address}/v1", "api_key": "none", **prices}
    model = {"model_name": "any", "litellm_params": upstream, "model_info": {"max_input_tokens": 2048}}
    settings = {"use_chat_completions_url_for_anthropic_messages": True}
    config = folder / "config.yaml"
    config.write_text(json.dumps({"model_list": [model], "litellm_settings": settings}))  # JSON is YAML
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {**os.environ, "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    words = [LITELLM, "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
    with subprocess.Popen(
        words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        try:
            wait_until(lambda: answers(port), "the proxy answers")
            yield port
        finally:
            program.terminate()


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/health/liveliness")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


async def test_models_counts_replies_and_figures_come_through(proxy: int) -> None:
    provider = AnthropicProvider(Endpoint(KEY, None, f"http://127.0.0.1:{proxy}"))
    try:
        assert [one[:2] for one in await provider.models()] == [("any", 2048)]
        request = asked("Say hello.", 8)
        response = await response_to(provider, request)
        assert isinstance(response.content[0], Text)
        assert (response.stop_reason, response.usage.output_tokens) == ("max_tokens", 8)
        assert response.usage.prompt_tokens == await provider.count(request)
        with pytest.raises(ContextOverflow):
            await response_to(provider, asked("word " * 4000))
    finally:
        await provider.close()


def test_it_is_found_on_its_port_and_asks_for_its_key(proxy: int) -> None:
    (found,) = find([proxy])
    assert (found.title, found.models) == ("LiteLLM proxy", ())
    assert "needs a key" in found.problem
