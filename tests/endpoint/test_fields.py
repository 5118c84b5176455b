"""Are the fields around the messages judged as the service judges them, and the headers?"""

from typing import Any

import pytest

from tests.endpoint.judge import Judge
from tests.endpoint.rules import BINDING_CONTROLS, CONTEXT_MANAGEMENT, Rules
from tests.endpoint.sample import TOOL, body, post, user, verdict
from tests.endpoint.shape import RefusedError

SCHEMA = {"type": "object"}


def tool(**changed: Any) -> list[dict[str, Any]]:
    return [{**TOOL, **changed}]


ACCEPTED: dict[str, dict[str, Any]] = {
    "everything prunecli may send": {
        "system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [TOOL],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "metadata": {"user_id": "u"},
        "stop_sequences": ["END"],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high"},
        "service_tier": "auto",
    },
    "a system string": {"system": "Be brief."},
    "an empty system": {"system": ""},
    "no tools and no system": {"tools": [], "system": []},
    "a tool of the service": {
        "tools": [{"type": "web_search_20260209", "name": "web_search", "max_uses": 3}]
    },
    "automatic caching": {"cache_control": {"type": "ephemeral"}},
    "a forced tool": {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "read"}},
    "thinking off": {"thinking": {"type": "disabled"}},
    "manual thinking of an older model": {
        "model": "claude-haiku-4-5",
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "model: Field required"),
    "an unknown model": ({"model": "gpt-9"}, "model: gpt-9"),
    "no max_tokens": ({"max_tokens": None}, "max_tokens: Field required"),
    "max_tokens 0": ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    "max_tokens as text": ({"max_tokens": "10"}, "max_tokens: Input should be a valid integer"),
    "max_tokens true": ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
    "max_tokens over the model's": (
        {"max_tokens": 64_001, "model": "claude-haiku-4-5"},
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5",
    ),
    "an unknown field": ({"max_output_tokens": 1}, "max_output_tokens: Extra inputs are not permitted"),
    "a beta's field": ({"context_management": {}}, "context_management: Extra inputs are not permitted"),
    "a temperature": ({"temperature": 1.0}, "temperature: Extra inputs are not permitted"),
    "stream as text": ({"stream": "true"}, "stream: Input should be a valid boolean"),
    "a system image": (
        {"system": [{"type": "image"}]},
        "system.0: Input tag 'image' found using 'type' does not",
    ),
    "a blank system": ({"system": " "}, "system.0: text content blocks must contain non-whitespace text"),
    "a system number": ({"system": 3}, "system: Input should be a valid list"),
    "a tool name with a dot": (
        {"tools": tool(name="fs.read")},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "a tool without schema": (
        {"tools": [{"name": "x"}]},
        "tools.0.custom.input_schema: Field required",
    ),
    "a schema without type": (
        {"tools": tool(input_schema={})},
        "tools.0.custom.input_schema.type: Field required",
    ),
    "a schema of an array": (
        {"tools": tool(input_schema={"type": "array"})},
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    "a schema with a choice": (
        {"tools": tool(input_schema={**SCHEMA, "oneOf": []})},
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    "a property with a space": (
        {"tools": tool(input_schema={**SCHEMA, "properties": {"a b": {}}})},
        "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    "required as text": (
        {"tools": tool(input_schema={**SCHEMA, "required": "path"})},
        "tools.0.custom.input_schema.required: Input should be a valid list",
    ),
    "two tools of one name": ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
    "an unknown field of a tool": (
        {"tools": tool(parameters={})},
        "tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    "a choice of an unknown tool": (
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "write"}},
        "Tool 'write' not found in provided tools",
    ),
    "a choice without tools": (
        {"tool_choice": {"type": "auto"}},
        "tool_choice: tool_choice may only be specified while providing tools",
    ),
    "a forced tool while thinking": (
        {"tools": [TOOL], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "a forced tool of a model that always thinks": (
        {"model": "claude-opus-5-5", "tools": [TOOL], "tool_choice": {"type": "any"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "an unknown thinking": (
        {"thinking": {"type": "auto"}},
        "thinking: Input tag 'auto' found using 'type' does not match any of the expected tags",
    ),
    "manual thinking of a newer model": (
        {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000},
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
    ),
    "thinking off where it cannot be": (
        {"model": "claude-opus-5-5", "thinking": {"type": "disabled"}},
        '"thinking.type.disabled" is not supported for this model.',
    ),
    "adaptive thinking of an older model": (
        {"model": "claude-sonnet-4-5", "thinking": {"type": "adaptive"}},
        "adaptive thinking is not supported on this model",
    ),
    "a thinking budget of 1,023": (
        {"model": "claude-sonnet-4-5", "thinking": {"type": "enabled", "budget_tokens": 1023}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a thinking budget of all tokens": (
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 2000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    "a budget for adaptive thinking": (
        {"thinking": {"type": "adaptive", "budget_tokens": 2000}},
        "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
    ),
    "block_binding without its beta": (
        {"thinking": {"type": "adaptive", "block_binding": {}}},
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    "an unknown effort": (
        {"output_config": {"effort": "huge"}},
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    "metadata of another kind": (
        {"metadata": {"session": "x"}},
        "metadata.session: Extra inputs are not permitted",
    ),
    "a blank stop sequence": (
        {"stop_sequences": [" "]},
        "stop_sequences.0: each stop sequence must contain non-whitespace",
    ),
    "a breakpoint too many, counting the automatic one": (
        {
            "cache_control": {"type": "ephemeral"},
            "system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 4,
        },
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour in the messages after five minutes in the system": (
        {
            "system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_right_fields_are_accepted(name: str):
    assert verdict(body(**ACCEPTED[name])) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_fields_are_refused_by_name(name: str):
    fields, message = REFUSED[name]
    found = verdict(body(**fields))
    assert message in found, found


def test_the_older_version_of_the_api_takes_sampling_fields():
    sampled = body(temperature=0.5, top_p=0.9, top_k=5)
    assert verdict(sampled, anthropic_version="2023-06-01") == ""


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"x_api_key": None}, 401, "x-api-key header is required"),
        ({"x_api_key": ""}, 401, "invalid x-api-key"),
        ({"x_api_key": "sk-other"}, 401, "invalid x-api-key"),
        ({"x_api_key": None, "authorization": "Bearer sk-other"}, 401, "invalid bearer token"),
        ({"x_api_key": None, "authorization": "Basic abc"}, 401, "invalid bearer token"),
        ({"anthropic_version": None}, 400, "anthropic-version: header is required"),
        ({"anthropic_version": "2022-01-01"}, 400, 'anthropic-version: "2022-01-01" is not a valid version'),
        ({"content_type": "text/plain"}, 400, "content-type: header must be application/json"),
        ({"content_type": None}, 400, "content-type: header must be application/json"),
    ],
)
def test_wrong_headers_are_refused(headers: dict[str, str | None], status: int, message: str):
    with pytest.raises(RefusedError) as caught:
        Judge(Rules(keys=("sk-ant-test",))).judge(post(body(), **headers))
    assert (caught.value.status, str(caught.value)) == (status, message)


def test_the_key_may_come_as_a_bearer_token_and_the_own_header_wins():
    rules = Rules(keys=("sk-right",))
    assert verdict(body(), rules, x_api_key=None, authorization="Bearer sk-right") == ""
    assert verdict(body(), rules, x_api_key="sk-right", authorization="Bearer sk-wrong") == ""
    assert verdict(body(), rules, content_type="application/json; charset=utf-8", x_api_key="sk-right") == ""


def test_an_unknown_model_is_not_found_and_a_large_body_is_too_large():
    with pytest.raises(RefusedError) as unknown:
        Judge(Rules()).judge(post(body(model="nope")))
    assert (unknown.value.status, unknown.value.kind) == (404, "not_found_error")
    with pytest.raises(RefusedError) as large:
        Judge(Rules(body_limit=100)).judge(post(body(user("x" * 100))))
    assert (large.value.status, large.value.kind) == (413, "request_too_large")


def test_any_model_is_taken_where_the_rules_say_so():
    """As local servers do."""
    assert verdict(body(model="qwen"), Rules(any_model=True)) == ""


def test_counting_needs_no_max_tokens_and_takes_no_stream():
    counted = body(max_tokens=None, stream=None)
    assert verdict(counted, counting=True) == ""
    assert verdict(body(), counting=True).endswith("Extra inputs are not permitted")


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-opus-5-5", "max", ""),
        ("claude-haiku-5-5", "xhigh", ""),
        ("claude-opus-4-6", "max", ""),
        (
            "claude-sonnet-4-6",
            "xhigh",
            "This model does not support effort level 'xhigh'. Supported levels: low, medium, high, max.",
        ),
        (
            "claude-opus-4-5",
            "max",
            "This model does not support effort level 'max'. Supported levels: low, medium, high.",
        ),
        ("claude-haiku-4-5", "low", "This model does not support the effort parameter."),
        (
            "claude-opus-5-5",
            "highest",
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        ),
    ],
)
def test_each_model_takes_its_own_efforts(model: str, effort: str, expected: str):
    assert verdict(body(user("x"), model=model, output_config={"effort": effort})) == expected


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("claude-haiku-5-5", "disabled"),
        ("claude-sonnet-5-5", "between_tools"),
        ("claude-opus-5", "disabled"),
    ],
)
def test_without_thinking_effort_ends_at_high(model: str, kind: str):
    asked = {"model": model, "thinking": {"type": kind}}
    assert verdict(body(user("x"), **asked, output_config={"effort": "high"})) == ""
    found = verdict(body(user("x"), **asked, output_config={"effort": "max"}))
    assert found.startswith("output_config.effort 'max' is not supported when thinking is disabled")


@pytest.mark.parametrize(
    ("refused", "fields", "where"),
    [
        (
            "thinking.block_binding",
            {"thinking": {"type": "adaptive", "block_binding": {}}},
            "thinking.adaptive.block_binding",
        ),
        (
            "thinking.display",
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            "thinking.adaptive.display",
        ),
        ("output_config", {"output_config": {"effort": "low"}}, "output_config"),
        (
            "cache_control.ttl",
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
            "system.0.cache_control.ephemeral.ttl",
        ),
        ("context_management", {"context_management": {"edits": []}}, "context_management"),
    ],
)
def test_a_gateway_refuses_optional_fields_in_its_own_words(refused: str, fields: Any, where: str):
    betas = f"{BINDING_CONTROLS},{CONTEXT_MANAGEMENT}"
    asked = body(user("x"), model="claude-opus-5-5", **fields)
    assert verdict(asked, anthropic_beta=betas) == ""
    gateway = Rules(refused=(refused,), refusal="unknown field")
    assert verdict(asked, gateway, anthropic_beta=betas) == f"{where}: unknown field"
    del asked[next(iter(fields))]
    assert verdict(asked, gateway, anthropic_beta=betas) == ""
