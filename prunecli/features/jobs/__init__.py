"""Commands that go on in the background."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.tool("prunecli.features.jobs.tool:Jobs", "jobs")
    app.command("jobs", "prunecli.features.jobs.command")
    app.part("jobs", "prunecli.features.jobs.jobs:Jobs")
