"""Which thinking configuration a model takes: the judge of the endpoint knows the service's table."""

from typing import Any

import pytest

from prunecli.providers.thinking import (
    BINDING_BETA,
    betas_for,
    is_bound,
    leaves_out,
    thinking_config,
    without,
)
from tests import endpoint as fake


@pytest.mark.parametrize("model", fake.MODELS, ids=lambda model: model.id)
@pytest.mark.parametrize("budget", [0, 2048])
def test_every_model_gets_a_type_that_it_takes(model: fake.Model, budget: int):
    config = thinking_config(model.id, budget)
    assert config is None or config["type"] in model.thinking
    if budget:
        assert config is not None
        assert config["type"] in ("adaptive", "enabled")
        assert config.get("budget_tokens", budget) == budget


@pytest.mark.parametrize("model", fake.MODELS, ids=lambda model: model.id)
@pytest.mark.parametrize("budget", [0, 2048])
def test_bound_thinking_is_known_and_asked_to_be_dropped(model: fake.Model, budget: int):
    assert is_bound(model.id) == model.preserved
    config = thinking_config(model.id, budget) or {}
    asked = model.preserved and config.get("type") != "disabled"
    assert config.get("block_binding") == ({"prefix_mismatch_behavior": "drop_block"} if asked else None)
    assert leaves_out(model.id, config) == (model.preserved and not asked)


@pytest.mark.parametrize(
    ("model", "budget", "expected"),
    [
        ("local-model", 0, None),
        ("local-model", 2048, {"type": "enabled", "budget_tokens": 2048}),
        ("claude-3-7-sonnet-20250219", 0, None),
        ("claude-haiku-4-5", 2048, {"type": "enabled", "budget_tokens": 2048}),
        ("claude-opus-4-8", 0, None),
        ("claude-opus-5", 0, {"type": "disabled"}),
        ("claude-sonnet-5", 0, {"type": "disabled"}),
        ("claude-haiku-5-5", 0, {"type": "disabled"}),
        ("claude-fable-5", 0, None),
        ("claude-mythos-preview", 0, None),
        ("claude-mythos-preview", 2048, {"type": "adaptive", "display": "summarized"}),
    ],
)
def test_as_little_thinking_as_a_model_allows(model: str, budget: int, expected: Any):
    assert thinking_config(model, budget) == expected


def test_the_beta_is_the_one_that_the_endpoint_asks_for():
    assert BINDING_BETA == fake.rules.BINDING_CONTROLS


@pytest.mark.parametrize(
    ("refused", "expected", "betas"),
    [
        ((), {"type", "display", "block_binding"}, 1),
        (("thinking.display",), {"type", "block_binding"}, 1),
        (("thinking.block_binding", "output_config"), {"type", "display"}, 0),
        (("thinking",), None, 0),
    ],
)
def test_what_an_endpoint_refuses_is_not_asked_for(
    refused: tuple[str, ...], expected: set[str] | None, betas: int
):
    config = without(thinking_config("claude-opus-5-5", 0), refused)
    assert (config and set(config)) == expected
    assert len(betas_for(config)) == betas
