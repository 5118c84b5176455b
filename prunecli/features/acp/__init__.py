"""The Agent Client Protocol: editors run prunecli as a program and talk to it over its standard streams.

This is a front end like the screen: it reads the same event stream and calls the same methods. Needs the extra `acp`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.subcommand(
        "acp",
        "prunecli.features.acp.subcommand:app",
        "Serve an editor that speaks the Agent Client Protocol.",
        flags=(
            *("--config", "--set", "--trust", "--model", "--effort", "--base-url", "--permission-mode"),
            *("--sandbox", "--allowed-tools", "--disallowed-tools"),
            *("--max-turns", "--max-cost", "--no-session"),
        ),
    )
