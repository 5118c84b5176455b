"""Output styles: system prompts by name, in Claude Code's files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("output_style", "prunecli.features.output_styles.part:Options")
    app.command("output-style", "prunecli.features.output_styles.command")
    app.part("output_styles", "prunecli.features.output_styles.part:OutputStyles")
