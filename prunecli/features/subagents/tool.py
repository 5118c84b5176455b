"""task: run a prompt in a separate session and return only its answer.

The tool itself touches nothing: each call of the task is judged like any other. Calls run in parallel.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from prunecli.model.messages import Json
from prunecli.model.requests import TASK
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.features.subagents.subagents import Subagents


@frozen
class TaskInput:
    prompt: Annotated[str, "the complete task; the subagent cannot see this conversation"]
    description: Annotated[str, "3-5 words for the screen"]
    agent: Annotated[str | None, "explore: read-only search, cheap. Default: your tools and model"] = None


class Task:
    name: ClassVar[str] = TASK
    description: ClassVar[str] = (
        "Hand a task to an agent with a context of its own; only its answer comes back. For broad searches and "
        "separate pieces of work. Several calls in one message run in parallel."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = TaskInput

    def summary(self, given: Mapping[str, Json]) -> str:
        parts = (in_one_line(given.get(key)) for key in ("agent", "description"))
        return " · ".join(filter(None, parts))

    def touches(self, _: object) -> Touches:
        """Return no touches: the calls of the task are judged separately."""
        return Touches()

    async def run(self, given: TaskInput, context: ToolContext) -> ToolOutput:
        tasks: Subagents | None = context.parts.get("subagents")
        if tasks is None:
            raise ToolError("Tasks are not available here")
        if not given.prompt.strip():
            raise ToolError("prompt is empty.")
        return await tasks.run(
            context.call_id, given.prompt, in_one_line(given.description), (given.agent or "").strip()
        )
