"""Are the fields around the messages judged as the service judges them, and the headers?"""

from typing import Any

import pytest

from tests.endpoint.judge import Judge
from tests.endpoint.rules import BINDING_CONTROLS, CONTEXT_MANAGEMENT, Rules
from tests.endpoint.sample import body, post, user, verdict
from tests.endpoint.shape import RefusedError


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
