"""The model's to-do list, and its questions to the user."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.tool("prunecli.features.todo_and_ask.todo_tool:Todo", "todo")
    app.tool("prunecli.features.todo_and_ask.ask_tool:Ask", "ask")
    app.command("todo", "prunecli.features.todo_and_ask.todo_command")
    app.widget(
        "todos",
        "prunecli.features.todo_and_ask.todo_line:TodoLine",
        "prunecli.features.todo_and_ask.part:shown",
    )
    app.part("todo_and_ask", "prunecli.features.todo_and_ask.part:TodoReminder")
