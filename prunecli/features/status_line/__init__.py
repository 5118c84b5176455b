"""A line of the user's own above the prompt, printed by a command, as in Claude Code."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("ui", "prunecli.features.status_line.part:Options")
    app.command("statusline", "prunecli.features.status_line.command")
    app.part("status_line", "prunecli.features.status_line.part:StatusLine")
    app.widget(
        "status_line",
        "prunecli.features.status_line.row:StatusRow",
        "prunecli.features.status_line.part:shown",
        below=True,
    )
