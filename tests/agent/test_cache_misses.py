"""The endpoint's own reason for a cache miss: asked for, recorded, and compared with what was predicted."""

import json
from dataclasses import replace
from pathlib import Path

from prunecli.agent.assemble import ModelSettings
from prunecli.config.effective import Config
from prunecli.context.cache_miss import in_words
from prunecli.context.ledger import prun_applied
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, ToolResult
from prunecli.model.record_codec import record_from_json, record_to_json
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.models import ModelTable
from prunecli.providers.wire import Endpoint as Address
from prunecli.runtime.choices import Choices
from prunecli.session.audit import audit
from prunecli.util.paths import Places
from tests.agent.running import Bench
from tests.endpoint import Call, Endpoint, Reply
from tests.scripted import ScriptedProvider

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-5"


def answers(bench: Bench) -> list[AssistantMessage]:
    return [one.event for one in bench.session.records if isinstance(one.event, AssistantMessage)]


async def test_its_reason_is_recorded_shown_and_compared(tmp_path: Path) -> None:
    script = [Reply([Call("echo", {"words": "a", "times": 9_000})]), *[Reply(["Done."])] * 4]
    asking = ModelSettings(SONNET, 8_000, diagnoses=True)
    async with Endpoint(script) as endpoint:
        bench = Bench(ScriptedProvider([]), model=asking)
        bench.provider = AnthropicProvider(Address(api_key="key", base_url=endpoint.base_url))
        await bench.talk("look")
        result = next(one.seq for one in bench.session.records if isinstance(one.event, ToolResult))
        view = bench.policy.view(bench.session.context)
        bench.session.emit(prun_applied(view, "user", [Edit("clear", result, text="[pruned]")]))
        await bench.talk("again")
        await bench.talk("and again")
        bench.model = replace(asking, name=OPUS)
        await bench.talk("with another model")
        await bench.provider.close()
    assert all(request.refusal is None for request in endpoint.requests)
    ids = [one.message_id for one in answers(bench)]
    asked = [request.json["diagnostics"]["previous_message_id"] for request in endpoint.requests]
    assert asked == [None, *ids[:-1]]
    kinds = [one.cache_miss and one.cache_miss["type"] for one in answers(bench)]
    assert kinds == [None, None, "messages_changed", None, "model_changed"]
    for record in bench.session.records:
        assert record_from_json(json.loads(json.dumps(record_to_json(record)))) == record
    found = audit(bench.session.records, Context(Chars4()), _free)
    assert [row.cache_miss for row in found.rows] == [row.miss_predicted for row in found.rows]
    assert "earlier messages changed, the model changed; none not predicted" in "\n".join(found.lines())
    missed = answers(bench)[2].cache_miss
    assert in_words(missed, "messages_changed").endswith(" not read (as predicted)")
    assert in_words(missed, "").endswith("(not predicted)")


def _free(*_: object) -> float:
    return 0.0


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
