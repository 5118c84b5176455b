"""Which optional field a refusal is about, in the words of the API, of gateways and of local servers."""

import pytest

from prunecli.model.requests import COMPACTION
from prunecli.providers.failures import Failures
from prunecli.providers.optional_fields import (
    BLOCK_BINDING,
    CACHE_CONTROL,
    CACHE_TTL,
    CONTEXT_MANAGEMENT,
    DISPLAY,
    EFFORT,
    THINKING,
    refused_fields,
)
from prunecli.util.errors import BadRequest, FieldRefused, SignatureRejected


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("thinking.adaptive.block_binding: Extra inputs are not permitted", BLOCK_BINDING),
        ("extraneous key [block_binding] is not permitted", BLOCK_BINDING),
        ("Unknown parameter: 'thinking.block_binding'.", BLOCK_BINDING),
        (
            "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.",
            BLOCK_BINDING,
        ),
        ("thinking.adaptive.display: Extra inputs are not permitted", DISPLAY),
        ("system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted", CACHE_TTL),
        ("messages.2.content.0.tool_result.cache_control.ttl: Extra inputs are not permitted", CACHE_TTL),
        ("tools.0.custom.cache_control: Extra inputs are not permitted", CACHE_CONTROL),
        ("context_management: Extra inputs are not permitted", CONTEXT_MANAGEMENT),
        ("compaction: Extra inputs are not permitted", COMPACTION),
        ("Unexpected value(s) `compact-2026-09-04` for the `anthropic-beta` header.", COMPACTION),
        (
            "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected "
            "tags: 'text', 'tool_use'",
            COMPACTION,
        ),
        ("This model does not support the compaction parameter.", COMPACTION),
        ("Additional properties are not allowed ('output_config' was unexpected)", EFFORT),
        ("Unrecognized request argument supplied: output_config", EFFORT),
        ("This model does not support the effort parameter.", EFFORT),
        ("thinking: Extra inputs are not permitted", THINKING),
        ("adaptive thinking is not supported on this model", THINKING),
    ],
)
def test_the_field_that_is_refused_comes_first(said: str, field: str) -> None:
    assert refused_fields(said)[0] == field


def test_a_refusal_of_beta_features_that_names_none_is_about_all_of_them() -> None:
    assert refused_fields("invalid beta flag") == (BLOCK_BINDING, CONTEXT_MANAGEMENT, COMPACTION)


@pytest.mark.parametrize(
    "said",
    [
        "messages.0.content.0: image exceeds 5 MB maximum",
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens",
        "messages.1.content.0: `thinking` blocks can only be in `assistant` messages",
        "This model does not support effort level 'xhigh'. Supported levels: low, medium, high.",
        'output_config.effort "high" is not supported by model x; supported values: [medium]',
        "output_config.effort: Input should be 'low', 'medium' or 'high'",
        "tools.0.custom.parameters: Extra inputs are not permitted",
        "messages.0.content.0: Input tag 'hologram' found using 'type' does not match any of the expected tags",
        "`compaction` cannot be combined with stop_sequences",
        "",
    ],
)
def test_a_refusal_of_something_else_is_about_no_field(said: str) -> None:
    assert refused_fields(said) == ()


def refused(said: str) -> Exception:
    body = f'{{"error": {{"type": "invalid_request_error", "message": "{said}"}}}}'
    return Failures("https://gate.example/thinking/ttl").refused(400, {}, body.encode(), 0.0)


def test_it_is_an_error_of_its_own_with_the_fields_that_it_may_mean() -> None:
    error = refused("thinking.adaptive.display: Extra inputs are not permitted")
    assert isinstance(error, FieldRefused)
    assert error.fields[0] == DISPLAY


def test_words_of_the_address_are_no_field() -> None:
    assert type(refused("unknown field: fnord")) is BadRequest


@pytest.mark.parametrize(
    "naming", ["", " Content before this block differs, first at `messages.0.content.0`."]
)
@pytest.mark.parametrize(
    "beta",
    [
        "",
        " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.",
    ],
)
def test_thinking_out_of_its_conversation_is_a_matter_of_the_signature(naming: str, beta: str) -> None:
    said = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to 'drop_block'."
    )
    assert type(refused(said + naming + beta)) is SignatureRejected


def test_a_gateway_that_calls_thinking_reasoning_is_understood() -> None:
    """LiteLLM translates `thinking` into OpenAI's words."""
    said = "litellm.UnsupportedParamsError: smol doesn't support `reasoning.effort` (its model cost map entry lacks"
    assert refused_fields(said) == (EFFORT, THINKING)
