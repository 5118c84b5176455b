"""Checks of the terminal, key, endpoint, sandbox and session folder."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("doctor", "prunecli.features.doctor.command")
    app.subcommand(
        "doctor",
        "prunecli.features.doctor.subcommand:app",
        "Check the terminal, key, endpoint, sandbox and session folder.",
        flags=("--config", "--set", "--trust", "--model", "--base-url", "--sandbox"),
    )
