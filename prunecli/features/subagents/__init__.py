"""Tasks that run in sessions of their own and return only their answers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.tool("prunecli.features.subagents.tool:Task", "task", opens="agents open call")
    app.tool("prunecli.features.subagents.recall:TaskRecall", "recall")
    app.command("agents", "prunecli.features.subagents.command")
    app.part("subagents", "prunecli.features.subagents.part:Tasks")
