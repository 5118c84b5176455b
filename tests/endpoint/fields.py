"""Are the fields around the messages right? Model, limits, thinking, tool choice; tools.py has tools and system.

Sampling fields (temperature, top_p, top_k) are let through unread with the old version of the API and refused with
the new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tests.endpoint.clearing import Edit, edits_of
from tests.endpoint.headers import Client
from tests.endpoint.optional import check_effort, check_refused
from tests.endpoint.render import RenderedBlock
from tests.endpoint.rules import BINDING_CONTROLS, CONTEXT_MANAGEMENT, VERSION_2023, Model, Rules
from tests.endpoint.shape import Json, RefusedError, cache_ttl, expect, one_of, shape, unknown_tag
from tests.endpoint.summaries import check_compaction
from tests.endpoint.tools import check_system, check_tools

_FIELDS: dict[str, type | None] = {
    "cache_control": dict,
    "container": None,
    "diagnostics": dict,
    "inference_geo": str,
    "metadata": dict,
    "output_config": dict,
    "service_tier": str,
    "speed": str,
    "stop_sequences": list,
    "stream": bool,
    "system": None,
    "thinking": dict,
    "tool_choice": dict,
    "tools": list,
    "user_profile_id": str,
}
_SAMPLING: dict[str, type | None] = {"temperature": None, "top_k": None, "top_p": None}
_COUNTED = ("cache_control", "output_config", "system", "thinking", "tool_choice", "tools")
_THINKING = ("adaptive", "between_tools", "disabled", "enabled")


@dataclass(frozen=True, slots=True)
class Preamble:
    """What stands before the messages, accepted: the model, the rendered tools and system, their breakpoints.

    `thinking` is the type of thinking asked for, "" if none; `mismatch`: what is asked to be done with thinking out
    of its conversation, "" if nothing; `visible`: the text of thinking is shown; `effort` as asked for; `edits` that
    the service shall make, None where none were mentioned; `compacts`: a summary is asked for instead of an answer.
    """

    model: Model
    blocks: tuple[RenderedBlock, ...]
    marks: tuple[tuple[str, str], ...]
    thinking: str
    mismatch: Literal["", "error", "drop_block"]
    visible: bool
    effort: str
    edits: tuple[Edit, ...] | None = None
    compacts: bool = False


def check_fields(
    fields: Mapping[str, Json], has_messages: bool, client: Client, rules: Rules, counting: bool = False
) -> Preamble:
    """The preamble of a request, or RefusedError. `fields` are all top-level fields but the list of messages;
    `counting` judges it as POST /v1/messages/count_tokens does."""
    if not has_messages:
        raise RefusedError(
            "messages", "Input should be a valid list" if "messages" in fields else "Field required"
        )
    required = {"model": str} if counting else {"model": str, "max_tokens": int}
    optional = {name: _FIELDS[name] for name in _COUNTED} if counting else _FIELDS
    if CONTEXT_MANAGEMENT in client.betas and not counting:
        optional = {**optional, "context_management": dict}
    check_refused(fields, rules)
    optional = {**optional, "compaction": dict}
    shape(fields, "", required, {**optional, **(_SAMPLING if client.version == VERSION_2023 else {})})
    model = rules.model(fields["model"])
    if model is None:
        raise RefusedError("", f"model: {fields['model']}", 404, "not_found_error")
    max_tokens = None if counting else _max_tokens(fields["max_tokens"], model)
    thinking = fields.get("thinking") or {}
    kind = _thinking(fields.get("thinking"), model, max_tokens, client, rules)
    effort = check_effort(fields.get("output_config"), model, kind)
    compacts = check_compaction(fields, client.betas, model)
    marks: list[tuple[str, str]] = []
    tools = check_tools(fields.get("tools") or [], rules, marks)
    system = check_system(fields.get("system"), rules, marks)
    _tool_choice(fields.get("tool_choice"), fields.get("tools") or [], model, kind)
    _rest(fields)
    mismatch = (thinking.get("block_binding") or {}).get("prefix_mismatch_behavior") or ""
    display = thinking.get("display") or ("omitted" if model.preserved else "summarized")
    management = fields.get("context_management")
    edits = None if management is None else edits_of(management)
    return Preamble(
        model, tools + system, tuple(marks), kind, mismatch, display != "omitted", effort, edits, compacts
    )


def _max_tokens(value: int, model: Model) -> int:
    if value < 1:
        raise RefusedError("max_tokens", "Input should be greater than or equal to 1")
    if value > model.max_output:
        raise RefusedError(
            "max_tokens",
            f"{value} > {model.max_output}, which is the maximum allowed number of output tokens for {model.id}",
        )
    return value


def _thinking(thinking: Json, model: Model, max_tokens: int | None, client: Client, rules: Rules) -> str:
    """The type of thinking that was asked for, "" if none."""
    if thinking is None:
        return ""
    kind = thinking.get("type")
    if kind not in _THINKING:
        unknown_tag(thinking, _THINKING, "thinking")
    where = f"thinking.{kind}"
    required = {"type": str, "budget_tokens": int} if kind == "enabled" else {"type": str}
    optional: dict[str, type | None] = {"display": str} if kind in ("adaptive", "enabled") else {}
    if optional and BINDING_CONTROLS in client.betas:
        optional["block_binding"] = dict
    shape(thinking, where, required, optional)
    if thinking.get("display") is not None:
        one_of(thinking["display"], ("summarized", "omitted", "updates"), f"{where}.display")
    if (binding := thinking.get("block_binding")) is not None:
        shape(binding, f"{where}.block_binding", {}, {"prefix_mismatch_behavior": str})
        behavior = binding.get("prefix_mismatch_behavior") or "error"
        one_of(behavior, ("error", "drop_block"), f"{where}.block_binding.prefix_mismatch_behavior")
    if kind not in model.thinking:
        if kind == "adaptive":
            raise RefusedError("", "adaptive thinking is not supported on this model")
        raise RefusedError(
            "",
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.',
        )
    if kind == "enabled":
        _budget(thinking["budget_tokens"], max_tokens, rules)
    return str(kind)


def _budget(budget: int, max_tokens: int | None, rules: Rules) -> None:
    least = rules.min_thinking_budget
    if budget < least:
        where = "thinking.enabled.budget_tokens"
        raise RefusedError(where, f"Input should be greater than or equal to {least}")
    if max_tokens is not None and budget >= max_tokens:
        raise RefusedError("", "`max_tokens` must be greater than `thinking.budget_tokens`.")


def _tool_choice(choice: Json, tools: Json, model: Model, thinking: str) -> None:
    if choice is None:
        return
    kind = choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        unknown_tag(choice, ("auto", "any", "tool", "none"), "tool_choice")
    required = {"type": str, "name": str} if kind == "tool" else {"type": str}
    shape(
        choice,
        f"tool_choice.{kind}",
        required,
        {} if kind == "none" else {"disable_parallel_tool_use": bool},
    )
    if kind != "none" and not tools:
        raise RefusedError("tool_choice", "tool_choice may only be specified while providing tools")
    if kind == "tool" and choice["name"] not in [tool["name"] for tool in tools]:
        raise RefusedError("", f"Tool '{choice['name']}' not found in provided tools")
    if kind in ("any", "tool") and (thinking in ("enabled", "adaptive") or not model.forced_tools):
        raise RefusedError("", "Thinking may not be enabled when tool_choice forces tool use.")


def _rest(fields: Mapping[str, Json]) -> None:
    if (metadata := fields.get("metadata")) is not None:
        shape(metadata, "metadata", {}, {"user_id": str})
    if (tier := fields.get("service_tier")) is not None:
        one_of(tier, ("auto", "standard_only"), "service_tier")
    for index, stop in enumerate(fields.get("stop_sequences") or []):
        expect(stop, str, f"stop_sequences.{index}")
        if not stop.strip():
            raise RefusedError(f"stop_sequences.{index}", "each stop sequence must contain non-whitespace")
    cache_ttl(fields, "")
