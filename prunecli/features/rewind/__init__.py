"""The files of the workspace as they were before each prompt."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("rewind", "prunecli.features.rewind.command")
    app.options("tools", "prunecli.features.rewind.options:Tools")
    app.part("rewind", "prunecli.features.rewind.part:Files")
