"""The endpoint that is asked: the strict fake, and with `-m live` and a key the real service."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint import Call, Reply, Thinking, serve
from tests.live.api import Api


def _reply(request: Any, index: int) -> Reply:
    """What a model might say: it thinks, and calls a tool that it has."""
    asked = request["messages"][-1]["content"]
    blocks = [block for one in request["messages"] for block in one["content"]]
    calls = sum(isinstance(block, dict) and block["type"] == "tool_use" for block in blocks)
    if request.get("tools") and (asked[0]["type"] == "text" or calls == 1):
        return Reply([Thinking(f"A call it is, {index}."), Call("add", {"a": 1, "b": 2})])
    return Reply([Thinking(f"Let me see, {index}."), "60"])


@pytest.fixture(params=["fake", pytest.param("live", marks=pytest.mark.live)])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """Who is asked."""
    if request.param == "live":
        key = os.environ.get("ANTHROPIC_API_KEY")
        if not key:
            pytest.skip("ANTHROPIC_API_KEY is not set")
        address = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        yield Api(address, key, os.environ.get("PRUNECLI_LIVE_MODEL") or "claude-opus-5-5")
        return
    with serve(_reply) as endpoint:
        yield Api(endpoint.base_url, "sk-ant-test")
