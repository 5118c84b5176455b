"""/todo: show the to-do list of the agent."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, refuse
from prunecli.context.todo_list import todos
from prunecli.model.todos import in_lines, progress
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show the agent's to-do list."""
    refuse("todo", arguments.split())
    found = todos(runtime.session.context)
    if not found:
        return [Say("No to-do list. The agent starts one for work with several steps.")]
    return [Say("\n".join([f"To-do {progress(found)}", *in_lines(found)]))]
