"""todo: keep a to-do list. The newest call is the list, which is stored nowhere else (`context/todo_list.py`)."""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

from prunecli.model.messages import Json
from prunecli.model.todos import MOST, TOOL, Status, in_one_line, todos_of
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen


@frozen
class Item:
    content: str
    status: Status


@frozen
class TodoInput:
    todos: tuple[Item, ...]


class Todo:
    name: ClassVar[str] = TOOL
    description: ClassVar[str] = (
        "Keep a to-do list for work of several steps; the user sees it. Each call replaces the whole list. Have one "
        "item in_progress, and mark it completed as soon as it is done."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = TodoInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(todos_of(given))

    def touches(self, _: object) -> Touches:
        """Return no touches: the call itself is the list."""
        return Touches()

    async def run(self, given: TodoInput, context: ToolContext) -> ToolOutput:  # noqa: ARG002
        if len(given.todos) > MOST:
            raise ToolError(f"todos has {len(given.todos)} items; {MOST} is the limit. Combine some.")
        for number, item in enumerate(given.todos, 1):
            if not item.content.strip():
                raise ToolError(f"Invalid input: todos item {number}: content is blank")
        if not given.todos:
            return text_output("The list is empty.")
        count = Counter(item.status for item in given.todos)
        words = (
            f"{count['completed']} completed, {count['in_progress']} in progress, {count['pending']} pending."
        )
        advice = " Keep only one in progress." if count["in_progress"] > 1 else ""
        return text_output(words + advice)
