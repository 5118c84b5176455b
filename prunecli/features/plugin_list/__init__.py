"""What is installed, and the approval of a project's plugins."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("plugins", "prunecli.features.plugin_list.command")
    app.subcommand(
        "plugins",
        "prunecli.features.plugin_list.subcommand:app",
        "List plugins and features; add, update and remove plugins of Claude Code.",
        flags=("--config", "--set", "--trust"),
    )
    app.check("prunecli.features.plugin_list.listing:findings")
    app.part("plugin_list", "prunecli.features.plugin_list.part:PluginApprovals")
