"""What sessions cost, and what pruning saved."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("cost", "prunecli.features.money.cost_command")
    app.command("prune-stats", "prunecli.features.money.prune_stats_command")
    app.subcommand(
        "sessions stats",
        "prunecli.features.money.stats:app",
        "Show tokens, cost, cache hits and prunes by day, project and model.",
        flags=("--config", "--set", "--trust"),
    )
