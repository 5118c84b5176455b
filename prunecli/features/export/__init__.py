"""Sessions as Markdown, HTML, Messages API JSON, or a session of pi."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("export", "prunecli.features.export.command")
    app.subcommand(
        "sessions export",
        "prunecli.features.export.subcommand:app",
        "Export a session as Markdown, HTML, pi's JSONL or Anthropic Messages JSON.",
    )
