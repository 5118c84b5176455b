"""The two ways to an endpoint, httpx2 alone and the SDK: what they import and read, and that both talk alike."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.messages import Text, Thinking, ToolUse
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.provider import Response
from prunecli.providers.registry import Transport
from prunecli.providers.thinking import betas_for, thinking_config
from prunecli.providers.wire import Endpoint
from prunecli.util.errors import (
    BadRequest,
    ConnectionLost,
    Overloaded,
    ProviderError,
    RateLimited,
    Unauthorized,
)
from tests import endpoint as fake
from tests.agent.running import Bench
from tests.providers.requests import request
from tests.scripted import Scripted, ScriptedProvider, says

KEY = "sk-ant-test-0123456789"
MOST_MODULES = 480
"""Modules in the process when a request can be posted: 420 on Python 3.11, and 3,300 with the SDK."""

ROOT = Path(__file__).parents[2]

TALK = """
import asyncio, json, sys
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.wire import Endpoint
from prunecli.providers.provider import Response
from tests.providers.requests import request

async def talk():
    provider = AnthropicProvider(Endpoint("key", base_url=sys.argv[1]))
    provider.warm()
    modules = sorted(sys.modules)
    events = [event async for event in provider.stream(request())]
    await provider.close()
    print(json.dumps({"text": events[-1].content[0].text, "modules": modules}))

asyncio.run(talk())
"""

transports = pytest.mark.parametrize("transport", ["http", pytest.param("sdk", marks=pytest.mark.long)])
"""Importing the SDK takes seconds."""


def python(script: str, *arguments: str, **environ: str) -> Any:
    """What a script prints, in a process of its own."""
    clean = {key: text for key, text in os.environ.items() if not key.startswith(("ANTHROPIC", "PRUNECLI"))}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, env={**clean, **environ}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_request_needs_neither_the_sdk_nor_many_modules():
    with fake.serve(["Hello."]) as endpoint:
        told = python(TALK, endpoint.base_url)
    assert told["text"] == "Hello."
    assert len(told["modules"]) < MOST_MODULES
    assert {"anthropic", "pydantic"}.isdisjoint(told["modules"])


def test_nothing_heavy_is_imported_before_it_is_needed():
    """Start-up: the modules of this package cost their own code only."""
    script = """
import json, sys
from prunecli.providers import messages_api as anthropic, models, thinking, tokenizer
print(json.dumps(sorted(sys.modules)))
"""
    heavy = {"anthropic", "email.utils", "httpx2", "pydantic", "tiktoken"}
    assert heavy.isdisjoint(python(script))


def test_the_first_frame_needs_neither_records_nor_the_agent():
    """What the screen imports before its first key: importing these takes a tenth of the start."""
    script = """
import json, sys
import prunecli.config, prunecli.cli.flags, prunecli.tui.app
print(json.dumps(sorted(sys.modules)))
"""
    later = {
        "prunecli.model.events",
        "prunecli.providers.provider",
        "prunecli.runtime",
        "prunecli.agent.loop",
    }
    assert later.isdisjoint(python(script))


def test_the_environment_changes_neither_address_nor_headers_nor_proxy():
    environ = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "another-key",
        "ANTHROPIC_AUTH_TOKEN": "another-token",
        "ANTHROPIC_CUSTOM_HEADERS": "x-spy: 1",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
        "SSL_CERT_FILE": "/nonexistent",
    }
    with fake.serve(["Hello."]) as endpoint:
        assert python(TALK, endpoint.base_url, **environ)["text"] == "Hello."
        assert endpoint.requests[0].headers["x-api-key"] == "key"
        assert "x-spy" not in endpoint.requests[0].headers


# Both alike ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def provided(
    transport: Transport, script: Any = (), key: str | None = KEY, token: str | None = None
) -> AsyncIterator[tuple[AnthropicProvider, fake.Endpoint]]:
    async with fake.Endpoint(script) as endpoint:
        provider = AnthropicProvider(Endpoint(key, token, endpoint.base_url), transport=transport)
        try:
            yield provider, endpoint
        finally:
            await provider.close()


async def answer(provider: AnthropicProvider, **changes: Any) -> Response:
    *_, last = [event async for event in provider.stream(replace(request(), **changes))]
    assert isinstance(last, Response)
    return last


@transports
@pytest.mark.parametrize(
    ("key", "token", "expected"),
    [
        (KEY, None, {"x-api-key": KEY}),
        (None, "gateway-token", {"authorization": "Bearer gateway-token"}),
        (KEY, "both", {"x-api-key": KEY}),
        (None, None, {}),
    ],
)
async def test_one_credential_goes_in_one_header(
    transport: Transport, key: str | None, token: str | None, expected: dict[str, str]
):
    async with provided(transport, ["Hi"], key, token) as (provider, endpoint):
        try:
            await answer(provider)
        except Unauthorized:
            assert not expected
    headers = endpoint.requests[0].headers
    assert {name: headers[name] for name in ("x-api-key", "authorization") if name in headers} == expected
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["accept-encoding"] == "identity"
    assert headers["content-type"] == "application/json"


@transports
async def test_body_and_betas_arrive_as_they_are(transport: Transport):
    config = thinking_config("claude-opus-5-5", 1024)
    betas = betas_for(config)
    async with provided(transport, ["Hi"]) as (provider, endpoint):
        found = await answer(provider, thinking=config, betas=betas, max_tokens=2000)
        assert found.content == (Text("Hi"),)
        assert len(await provider.models()) == len(fake.MODELS)
        assert await provider.count(request())
    sent = endpoint.requests[0]
    assert sent.body == replace(request(), thinking=config, betas=betas, max_tokens=2000).body()
    assert sent.headers.get("anthropic-beta", "") == ",".join(betas)
    assert sent not in endpoint.rejected


FAILURES: list[tuple[Any, type[ProviderError], str]] = [
    (fake.HttpError(400, "nonsense"), BadRequest, "400: nonsense"),
    (fake.HttpError(401), Unauthorized, "401"),
    (fake.HttpError(429, retry_after=3), RateLimited, "429"),
    (fake.HttpError(529), Overloaded, "529"),
    (fake.RawResponse(b"x" * 100_000, 502, repeat=500), Overloaded, "502"),
    (fake.RawResponse(b"", 307, {"location": "http://127.0.0.1:9/v1/messages"}), BadRequest, "redirects to"),
    (fake.RawResponse(b"<title>Sign in</title>"), BadRequest, "Sign in"),
    (fake.ErrorEvent(3), Overloaded, "broke off"),
    (fake.EndOfBody(2), ConnectionLost, "cut off"),
    (fake.CloseBeforeResponse(), ConnectionLost, "without sending a response"),
    (fake.CloseBeforeResponse(reset=True), ConnectionLost, "connection failed"),
]


@transports
async def test_every_failure_has_its_kind_and_is_one_request(transport: Transport):
    async with provided(transport, [failure for failure, _, _ in FAILURES]) as (provider, endpoint):
        for number, (_, kind, words) in enumerate(FAILURES, 1):
            with pytest.raises(ProviderError) as caught:
                await answer(provider)
            assert type(caught.value) is kind
            assert words in caught.value.message
            assert len(endpoint.requests) == number
            assert len(caught.value.message) < 700


@transports
async def test_a_dropped_idle_connection_costs_nothing_and_a_refused_port_is_named(transport: Transport):
    script = [fake.Reply("One", faults=fake.DropKeepAlive("next_request")), "Two"]
    async with provided(transport, script) as (provider, endpoint):
        assert (await answer(provider)).content == (Text("One"),)
        assert (await answer(provider)).content == (Text("Two"),)
        address = endpoint.base_url
    provider = AnthropicProvider(Endpoint(KEY, base_url=address), transport=transport)
    with pytest.raises(ConnectionLost, match="connection refused"):
        await answer(provider)
    await provider.close()


@transports
async def test_canceling_closes_the_connection(transport: Transport):
    async with provided(transport, [fake.Stall(0, before_headers=True)]) as (provider, endpoint):
        asking = asyncio.create_task(answer(provider))
        await endpoint.stall_reached()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await endpoint.client_left()
        endpoint.release()


# The SDK -------------------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_the_sdk_takes_what_its_environment_says_but_not_the_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team: blue")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    async with provided("sdk", ["Hi"]) as (provider, endpoint):
        await answer(provider)
    assert endpoint.requests[0].headers["x-team"] == "blue"
    assert endpoint.requests[0].headers["x-api-key"] == KEY


@pytest.mark.long
async def test_without_any_credential_the_sdk_names_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in [name for name in os.environ if name.startswith("ANTHROPIC")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    provider = AnthropicProvider(Endpoint(), transport="sdk")
    with pytest.raises(Unauthorized) as caught:
        await answer(provider)
    assert "ANTHROPIC_API_KEY" in caught.value.hint
    await provider.close()


def every(value: Any) -> Any:
    """A validated value, with the iterables in it read: only then are they checked."""
    if isinstance(value, dict):
        return {key: every(part) for key, part in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [every(one) for one in value]


@pytest.mark.long
async def test_our_requests_have_the_sdk_s_types():
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter, ValidationError

    oracle = TypeAdapter(MessageCreateParamsStreaming)
    thought = Thinking("Let me see.", "c2lnbmVk")
    called = ToolUse("toolu_1", "echo", {"words": "one "}), ToolUse("toolu_2", "echo", {"words": "boom"})
    one = Bench(ScriptedProvider([Scripted((thought, *called), "tool_use"), says("Done."), says("Again.")]))
    await one.talk("go")
    await one.talk("once more")
    bodies = [json.loads(sent.body()) for sent in one.provider.requests]
    config = thinking_config("claude-opus-5-5", 1024)
    bodies.append(json.loads(replace(request(), thinking=config, betas=betas_for(config)).body()))
    assert len(bodies) == 4
    for body in bodies:
        assert every(oracle.validate_python(body))
    body["messages"][0]["content"][0]["text"] = 7
    with pytest.raises(ValidationError):
        every(oracle.validate_python(body))
