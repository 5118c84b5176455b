"""The interface of the application for the parts of the screen."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prunecli.tui.transcript.palette import Palette


class Program(Protocol):
    """`app.PrunecliApp` as its parts see it: the terminal, the colors, and the way to exit."""

    theme: str
    """The name of the current theme."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment for the user's editor."""

    @property
    def palette(self) -> "Palette":
        """The transcript's colors."""

    @property
    def keys_wait(self) -> bool:
        """Whether keys were pressed that have not been read yet."""

    def leave(self) -> None:
        """Exit, after the work has shut down cleanly."""

    def lent(self) -> AbstractAsyncContextManager[None]:
        """Hand the terminal to another program. Raises PrunecliError if that is impossible."""

    def show_state(self, what: str) -> None:
        """Show the agent's state in the window title; "" for none."""

    def notify_user(self, what: str) -> None:
        """Send a desktop notification, unless the terminal has the focus."""

    def copy_to_clipboard(self, text: str, *, told: bool = True) -> None:
        """Copy by OSC 52, which works over ssh too; with `told`, also by programs, and show where the text is."""

    def use_theme(self, name: str) -> None:
        """Switch to a theme."""

    def use_mouse(self, on: bool) -> None:
        """Capture the mouse, or leave it to the terminal."""

    def use_configured(self) -> None:
        """Apply the configured theme, mouse and keys."""
