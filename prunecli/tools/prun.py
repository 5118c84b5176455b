"""prun: lets the model remove finished exchanges from its own context. Source: phi-core.

Executing a call only plans; the plan in the result's details is applied before the next request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from prunecli.context.prun import PrunPlan
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, text_output
from prunecli.util.errors import ToolError


class Prun:
    """The `prun` tool, without a memo. A memo in its input is ignored, as in the original."""

    name: ClassVar[str] = "prun"
    description: ClassVar[str] = (
        "Remove the most recent finished exchanges (your messages with their tool results) from your context, at "
        "least this many tokens, before the next turn. For dead ends and bulky output that is no longer needed. "
        "The user's words stay; the log keeps everything."
    )
    parallel: ClassVar[bool] = False

    @dataclass(frozen=True, slots=True)
    class Input:
        tokens: Annotated[int, "tokens to free, at least 1"]

    def summary(self, given: Mapping[str, Json]) -> str:
        return f"{given.get('tokens', '')} tokens"

    def touches(self, _: object) -> Touches:
        """Return no touches: a prun call only changes the context."""
        return Touches()

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        return planned(context, given.tokens, None)


def planned(context: ToolContext, tokens: int, memo: str | None) -> ToolOutput:
    """Return the result of a prun call: text about the entries to remove, with the plan in its details."""
    if tokens < 1:
        raise ToolError(f"Invalid input: tokens must be at least 1, not {tokens}")
    if context.plan_prun is None:
        raise ToolError("prun is not available here")
    plan: PrunPlan = context.plan_prun(tokens, memo)
    return text_output(plan.message, {"prun": plan.to_json()})
