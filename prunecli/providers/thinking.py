"""What to send as `thinking` for a model: its generations take different configurations and refuse the others.

Source: "Thinking support, defaults, and rejected configurations by model" and "Prefix checks" of Anthropic's
documentation (autumn 2026), and the SDK's types. Budgets ended with Claude 4.5; from 4.7 on they are a 400.
"""

from collections.abc import Mapping

from prunecli.model.messages import Json
from prunecli.providers.models import ALIASES, claude_version

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The value of the `anthropic-beta` header that a configuration with `block_binding` needs."""

_ALWAYS = ("fable", "mythos")


def thinking_config(model: str, budget: int) -> dict[str, Json] | None:
    """The `thinking` object for a wish of `budget` tokens (0: as little as the model allows); None to send none.

    Models that decide for themselves get `adaptive`, with its text shown: they put what they say between calls
    into thinking. On models with bound thinking the endpoint is always asked to drop blocks that a prune
    invalidated, which only `adaptive` can ask for: it is what those models do when nothing is sent.
    """
    name = ALIASES.get(model, model).lower()
    if "claude" not in name:
        return _budgeted(budget) if budget else None
    version = claude_version(name) or (4, 6)
    if version <= (4, 5):
        return _budgeted(budget) if budget else None
    config: dict[str, Json] = {"type": "adaptive", "display": "summarized"}
    if is_bound(name):
        return {**config, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    return config if budget else _least(name, version)


def betas_for(config: Mapping[str, Json] | None) -> tuple[str, ...]:
    """The beta features that a configuration needs in the request's header."""
    return (BINDING_BETA,) if config and "block_binding" in config else ()


def is_bound(model: str) -> bool:
    """Whether the model's thinking is bound to everything before it ("preserved thinking").

    A changed or missing block before a thinking block invalidates it and all later ones: the endpoint refuses
    the request or, when asked to, drops them.
    """
    name = ALIASES.get(model, model).lower()
    version = claude_version(name)
    if "claude" not in name or version is None:
        return False
    return version >= ((5, 1) if any(family in name for family in _ALWAYS) else (5, 5))


def _budgeted(budget: int) -> dict[str, Json]:
    return {"type": "enabled", "budget_tokens": budget}


def _least(name: str, version: tuple[int, int]) -> dict[str, Json] | None:
    """No thinking where it is on by default and can be switched off; else what happens when nothing is sent."""
    optional = version == (5, 0) and not any(family in name for family in _ALWAYS)
    return {"type": "disabled"} if optional else None
