"""Skills, command files, and instructions that people keep for the agent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("skills", "prunecli.features.skills_and_memory.skills_command")
    app.command("memory", "prunecli.features.skills_and_memory.memory_command")
    app.command("init", "prunecli.features.skills_and_memory.init_command")
    app.tool("prunecli.features.skills_and_memory.remember_tool:Remember", "remember", enabled=False)
    app.part("skills_and_memory", "prunecli.features.skills_and_memory.extensions:Extensions")
