"""recall with the argument `task`, in place of the core's tool: returns an entry of the session of a task."""

import asyncio
from typing import Annotated, Any, ClassVar

from prunecli.tools.recall import Recall, RecallInput, paged
from prunecli.tools.tool import ToolContext, ToolOutput
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen


@frozen
class TaskRecallInput(RecallInput):
    task: Annotated[int | None, "number of the task whose entry it is; entry 0 lists them"] = None


class TaskRecall(Recall):
    Input: ClassVar[type] = TaskRecallInput

    async def run(self, given: RecallInput, context: ToolContext) -> ToolOutput:
        task = given.task if isinstance(given, TaskRecallInput) else None
        if not task:
            return await super().run(given, context)
        tasks: Any = context.parts.get("subagents")
        if tasks is None:
            raise ToolError("recall is not available here")
        original = await asyncio.to_thread(tasks.original, task, given.entry)
        return ToolOutput(
            await paged(original, given, context, f"of task {task} lines"), details={"of_task": task}
        )
