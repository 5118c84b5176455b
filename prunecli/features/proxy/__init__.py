"""Prunes for other agents: a proxy between a program and its endpoint."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.subcommand(
        "wrap",
        "prunecli.features.proxy.wrap:app",
        "Run another agent with pruning: prunecli wrap claude.",
    )
    app.subcommand(
        "proxy",
        "prunecli.features.proxy.proxy:app",
        "Prune for other programs, between them and their endpoint.",
    )
    app.subcommand(
        "attach",
        "prunecli.features.proxy.attach:app",
        "View and edit what a running proxy sends.",
    )
    app.subcommand(
        "mcp serve",
        "prunecli.features.proxy.mcp_serve:app",
        "Offer recall and prun to a program behind the proxy.",
    )
