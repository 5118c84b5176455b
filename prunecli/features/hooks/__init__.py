"""Programs and addresses that are called at moments of a session, as in Claude Code."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.command("hooks", "prunecli.features.hooks.command")
    app.options(
        "hooks", "prunecli.features.hooks.options:Hooks", check="prunecli.features.hooks.settings:wrong"
    )
    app.part("hooks", "prunecli.features.hooks.hooking:Hooking")
