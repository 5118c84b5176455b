"""Chooses the `thinking` configuration of a model: each generation accepts a different one.

Source: "Thinking support, defaults, and rejected configurations by model" and "Prefix checks" of Anthropic's
documentation (autumn 2026), and the SDK's types. The last model with budgets is Claude 4.5; from 4.7 on, a budget
causes error 400.
"""

from collections.abc import Container, Mapping

from prunecli.model.claude import claude_version, is_bound
from prunecli.model.messages import Json
from prunecli.providers.models import ALIASES, ModelInfo
from prunecli.providers.optional_fields import THINKING

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The value of the `anthropic-beta` header that a configuration with `block_binding` needs."""

EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""The values of `output_config.effort`, lowest first."""

_ALWAYS = ("fable", "mythos")


def thinking_config(model: str, budget: int) -> dict[str, Json] | None:
    """Return the `thinking` object for a budget in tokens (0: as little as possible); None to send none.

    Models that choose their own amount get `adaptive` with visible text, because their comments between calls are
    part of the thinking. Models whose bound thinking cannot be turned off always get `adaptive`, their default. Only
    with `adaptive` can a request ask the endpoint to drop blocks that a prune invalidated.
    """
    name = ALIASES.get(model, model).lower()
    if "claude" not in name:
        return _budgeted(budget) if budget else None
    version = claude_version(name) or (4, 6)
    if version <= (4, 5):
        return _budgeted(budget) if budget else None
    config: dict[str, Json] = {"type": "adaptive", "display": "summarized"}
    if not budget and (least := _least(name, version)) is not None:
        return least
    if is_bound(name):
        return {**config, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    return config if budget else None


def without(config: Mapping[str, Json] | None, refused: Container[str]) -> Mapping[str, Json] | None:
    """Return the configuration without the fields that an endpoint rejects (with the names in optional_fields.py)."""
    if config is None or THINKING in refused:
        return None
    return {key: value for key, value in config.items() if f"{THINKING}.{key}" not in refused}


def leaves_out(model: str, config: Mapping[str, Json] | None) -> bool:
    """Return whether requests omit thinking that was invalidated, and the log records this.

    Otherwise the thinking stays in the request and the endpoint drops it, which keeps the cached prefix after it
    stable. Switching between the two would write the cache twice, so only this function decides.
    """
    return is_bound(model) and "block_binding" not in (config or {})


def efforts_for(info: ModelInfo, config: Mapping[str, Json] | None) -> tuple[str, ...]:
    """Return the effort values that a model accepts with this configuration, lowest first."""
    taken = EFFORTS if info.efforts is None else info.efforts
    calm = config is not None and config.get("type") in ("disabled", "between_tools")
    return tuple(one for one in taken if not calm or one not in ("xhigh", "max"))


def budget_note(info: ModelInfo, budget: int) -> str:
    """Return a warning if a budget of `budget` tokens has little or no effect on this model, or ""."""
    types = info.thinking_types
    if types is None or ("enabled" in types if budget else "disabled" in types):
        return ""
    if not budget:
        return f"model.thinking = 0 has no effect on {info.name}, which always thinks; lower its effort"
    if "disabled" in types:
        return f"model.thinking only switches thinking on for {info.name}; use effort for how much"
    return f"model.thinking has no effect on {info.name}; use effort"


def betas_for(config: Mapping[str, Json] | None) -> tuple[str, ...]:
    """Return the beta features that a configuration needs in the request's header."""
    return (BINDING_BETA,) if config and "block_binding" in config else ()


def _budgeted(budget: int) -> dict[str, Json]:
    return {"type": "enabled", "budget_tokens": budget}


def _least(name: str, version: tuple[int, int]) -> dict[str, Json] | None:
    """Return the configuration with the least thinking: off if it is on by default and can be turned off, else the
    default."""
    optional = version == (5, 0) and not any(family in name for family in _ALWAYS)
    return {"type": "disabled"} if optional or ("haiku" in name and version >= (5, 5)) else None
