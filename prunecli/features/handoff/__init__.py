"""/handoff: go on with another goal in a new session, from a draft that this one's agent writes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("handoff", "prunecli.features.handoff.command")
