"""The endpoint's own reason for a cache miss: asked for, recorded, and compared with what was predicted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import run_line
from prunecli.config.effective import Config
from prunecli.context.ledger import prun_applied
from prunecli.features.inspector.screen import ContextScreen
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, RequestSent, ToolResult
from prunecli.model.messages import Text, Usage
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.models import ModelTable
from prunecli.providers.wire import Endpoint as Address
from prunecli.runtime import Runtime
from prunecli.runtime.choices import Choices
from prunecli.util.paths import Places
from tests.endpoint import Call, Endpoint, Reply
from tests.starting import start
from tests.tui.showing_app import Shown, shown

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-5"


@pytest.fixture
async def missed(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A session with four misses: an edit, a model and an undo, which were predicted, and what the endpoint blames on
    the tools, which did not change."""
    script = [Reply([Call("read", {"path": "a.txt"})]), *[Reply(["Done."])] * 5]
    async with Endpoint(script) as endpoint:
        provider = AnthropicProvider(Address(api_key="key", base_url=endpoint.base_url))
        runtime = start(tmp_path, sets=(f"model.name={SONNET}", "ui.confirm=never"), provider=provider)
        (tmp_path / "work" / "a.txt").write_text("a line of the file\n" * 300)
        await runtime.submit("look")
        result = next(one.seq for one in runtime.session.records if isinstance(one.event, ToolResult))
        view = runtime.policy.view(runtime.session.context)
        runtime.emit(prun_applied(view, "user", [Edit("clear", result, text="[pruned]")]))
        await runtime.submit("again")
        await runtime.submit("and again")
        run_line(runtime, f"/model {OPUS}")
        await runtime.submit("with another model")
        run_line(runtime, "/undo")
        await runtime.submit("and as before")
        runtime.emit(RequestSent(OPUS, 10, runtime.session.context.sha256()))
        told = {"type": "tools_changed", "cache_missed_input_tokens": 4_200}
        runtime.emit(AssistantMessage((Text("Done."),), OPUS, usage=Usage(5_000, 3), cache_miss=told))
        assert endpoint.rejected == []
        answered = [one.event for one in runtime.session.records if isinstance(one.event, AssistantMessage)]
        asked = [request.json["diagnostics"]["previous_message_id"] for request in endpoint.requests]
        assert asked == [None, *(one.message_id for one in answered[:-2])]
        yield runtime
        await runtime.close()


KINDS = "earlier messages changed 2×, the model changed, the tools changed"


async def in_cost(s: Shown) -> None:
    await s.type("/cost", "escape", "enter")
    await s.until_shown("to unfold")
    await s.pilot.press("end")
    await s.until_shown(f"Cache misses, as the endpoint explains them: {KINDS}.")


async def in_request_view(s: Shown) -> None:
    await s.type("/context", "escape", "enter")
    await s.until(lambda: isinstance(s.app.screen, ContextScreen))
    await s.pilot.press("d")
    await s.until_shown("Request 6 → 7", "endpoint: the tools changed, 4.2K tokens not read (not predicted)")
    for number, why in ((5, "earlier messages"), (4, "the model"), (2, "earlier messages")):
        await s.pilot.press(str(number), "enter")
        await s.until_shown(f"Request {number} → {number + 1}", f"endpoint: {why} changed", "(as predicted)")


async def in_audit(s: Shown) -> None:
    s.runtime.session.commit()
    runner = CliRunner(env={"HOME": str(s.runtime.setup.places.home)})
    words = ["sessions", "audit", str(s.runtime.session.path)]
    done = await asyncio.to_thread(runner.invoke, app, words)
    assert f"cache misses by the endpoint: {KINDS}; 1 not predicted" in done.output, done.output


@pytest.mark.slow
@pytest.mark.parametrize("place", [in_cost, in_request_view, in_audit])
async def test_the_reason_is_shown_and_compared_where_a_person_looks(
    missed: Runtime, tmp_path: Path, place: Callable[[Shown], Awaitable[None]]
) -> None:
    async with shown(tmp_path, runtime=missed) as s:
        await place(s)


def test_it_is_asked_for_at_anthropic_only_and_of_claude_only() -> None:
    info = ModelTable.load(Places.of({"HOME": "/nonexistent"}).shipped_data, {}).info

    def asks(model: str, **sets: str) -> bool:
        config = Config()
        for key, value in sets.items():
            config = config.with_value(key.replace("__", "."), value)
        return Choices(config, {"model.name": model}, info).model_settings.diagnoses

    assert asks(SONNET)
    assert asks(SONNET, model__base_url="https://api.anthropic.com")
    assert not asks(SONNET, model__base_url="https://gateway.example")
    assert not asks(SONNET, model__endpoint="bedrock")
    assert not asks("demo")
