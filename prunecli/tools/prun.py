"""prun: lets the model remove finished exchanges from its own context. Source: phi-core.

Executing a call only plans; the plan in the result's details is applied before the next request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from prunecli.context.prun import PrunPlan
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError


class Prun:
    """The `prun` tool, without a memo. A memo in its input is ignored, as in the original."""

    name: ClassVar[str] = "prun"
    description: ClassVar[str] = (
        "Remove finished exchanges (your messages with their tool results) from your context before the next turn: "
        "the most recent ones with at least this many tokens, or entries by name. For dead ends and bulky output "
        "that is no longer needed. The user's words stay; the log keeps everything. Give one of tokens, entries, "
        "list."
    )
    parallel: ClassVar[bool] = False

    @dataclass(frozen=True, slots=True)
    class Input:
        tokens: Annotated[int | None, "tokens to free, at least 1"] = None
        entries: Annotated[str | None, 'such as "12-20, 25"; a result alone is cleared, its call stays'] = (
            None
        )
        list: Annotated[bool, "only list the entries with their tokens"] = False

    def summary(self, given: Mapping[str, Json]) -> str:
        return "list" if given.get("list") is True else wanted(given)

    def touches(self, _: object) -> Touches:
        """Return no touches: a prun call only changes the context."""
        return Touches()

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        if not given.list:
            return planned(context, given.tokens, given.entries, None)
        if given.tokens is not None or given.entries is not None:
            raise ToolError("Invalid input: give one of tokens, entries, list")
        if context.prunable is None:
            raise ToolError("prun is not available here")
        return text_output(context.prunable())


def planned(context: ToolContext, tokens: int | None, entries: str | None, memo: str | None) -> ToolOutput:
    """Return the result of a prun call: text about the entries to remove, with the plan in its details."""
    wants = tokens if entries is None else entries
    if wants is None or None not in (tokens, entries):
        raise ToolError("Invalid input: give either tokens or entries")
    if tokens is not None and tokens < 1:
        raise ToolError(f"Invalid input: tokens must be at least 1, not {tokens}")
    if context.plan_prun is None:
        raise ToolError("prun is not available here")
    try:
        plan: PrunPlan = context.plan_prun(wants, memo)
    except ValueError as error:
        raise ToolError(f"Invalid input: {error}") from error
    return text_output(plan.message, {"prun": plan.to_json()})


def wanted(given: Mapping[str, Json]) -> str:
    entries = in_one_line(given.get("entries"))
    return f"entries {entries}" if entries else f"{given.get('tokens', '')} tokens"
