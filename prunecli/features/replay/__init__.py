"""Replays recorded sessions under strategies, to compute what each would have sent and cost, request by request."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.part("invitation", "prunecli.features.replay.invitation:Invitation")
    app.command(
        "prune-config try",
        "prunecli.features.replay.trying",
        "what another strategy would cost",
    )
    app.subcommand(
        "replay",
        "prunecli.features.replay.subcommand:app",
        "Show what each strategy would have sent and cost on recorded sessions.",
    )
