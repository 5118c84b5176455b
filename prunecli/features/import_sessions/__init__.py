"""Sessions of other agents, listed and continued here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    """Install nothing yet."""
