"""Newer releases: a notice at most once a day, and `prunecli update`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.options("updates", "prunecli.features.updates.part:Updates")
    app.part("updates", "prunecli.features.updates.part:ReleaseNotice")
    app.subcommand(
        "update",
        "prunecli.features.updates.subcommand:app",
        "Update prunecli, or print the command that does.",
    )
