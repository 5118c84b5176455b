"""Which optional fields does this endpoint take? Effort by model, and the fields that gateways refuse."""

from collections.abc import Iterator, Mapping

from tests.endpoint.rules import Model, Rules
from tests.endpoint.shape import Json, RefusedError, one_of, shape

EFFORTS = ("low", "medium", "high", "xhigh", "max")
_HIGHEST_WITHOUT_THINKING = ("low", "medium", "high")


def check_effort(output: Json, model: Model, thinking: str) -> str:
    """The effort that `output_config` asks for, "" if none. Raises RefusedError for one that the model refuses."""
    if output is None:
        return ""
    shape(output, "output_config", {}, {"effort": str, "format": dict})
    effort = output.get("effort")
    if effort is None:
        return ""
    one_of(effort, EFFORTS, "output_config.effort")
    if not model.efforts:
        raise RefusedError("", "This model does not support the effort parameter.")
    if effort not in model.efforts:
        listed = ", ".join(model.efforts)
        raise RefusedError(
            "", f"This model does not support effort level '{effort}'. Supported levels: {listed}."
        )
    if thinking in ("disabled", "between_tools") and effort not in _HIGHEST_WITHOUT_THINKING:
        raise RefusedError(
            "",
            f"output_config.effort '{effort}' is not supported when thinking is disabled on this model. "
            "Use effort 'high' or below, or enable thinking.",
        )
    return str(effort)


def check_refused(fields: Mapping[str, Json], rules: Rules) -> None:
    """Refuse the first field that gateways like this one do not know."""
    for name in rules.refused:
        if where := next(_places(fields, name), ""):
            raise RefusedError(where, rules.refusal)


def _places(fields: Mapping[str, Json], name: str) -> Iterator[str]:
    """Where a request has a field of this dotted name, in the service's way of naming places."""
    thinking = fields.get("thinking")
    if name.startswith("thinking.") and isinstance(thinking, Mapping):
        key = name.removeprefix("thinking.")
        if key in thinking:
            yield f"thinking.{thinking.get('type')}.{key}"
    elif name == "cache_control.ttl":
        for group in ("system", "tools"):
            blocks = fields.get(group)
            for index, block in enumerate(blocks if isinstance(blocks, list) else []):
                mark = block.get("cache_control") if isinstance(block, Mapping) else None
                if isinstance(mark, Mapping) and "ttl" in mark:
                    yield f"{group}.{index}.cache_control.ephemeral.ttl"
    elif name in fields:
        yield name
