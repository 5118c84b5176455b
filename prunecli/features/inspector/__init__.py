"""The tree of the context behind /context, with prices and manual edits."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("context", "prunecli.features.inspector.command")
    app.subcommand(
        "context",
        "prunecli.features.inspector.inspect:app",
        "Show the context of the next request, or what a strategy would prune.",
        flags=("--config", "--set", "--trust", "--model"),
    )
