"""The application as the parts see that it runs in; it imports them."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prunecli.tui.transcript.palette import Palette


class Program(Protocol):
    """What `app.PrunecliApp` does for the parts: the terminal, the colors, the end."""

    theme: str
    """The name of the theme that is worn."""

    @property
    def environ(self) -> Mapping[str, str]:
        """What the user's editor gets."""

    @property
    def palette(self) -> "Palette":
        """The colors of the transcript."""

    @property
    def keys_wait(self) -> bool:
        """Whether keys were pressed that are not even read."""

    def leave(self) -> None:
        """Ends the program: the work first leaves everything in order."""

    def lent(self) -> AbstractAsyncContextManager[None]:
        """The terminal belongs to another program for a while. Raises PrunecliError where it can't."""

    def show_state(self, what: str) -> None:
        """The window's title with what the agent does, "" for nothing."""

    def notify_user(self, what: str) -> None:
        """A notification of the desktop, unless the user is looking."""

    def copy_to_clipboard(self, text: str) -> None:
        """By OSC 52."""

    def use_theme(self, name: str) -> None:
        """Other colors from now on."""

    def use_mouse(self, on: bool) -> None:
        """Listens to the mouse from now on, or leaves it to the terminal."""

    def use_configured(self) -> None:
        """Theme, mouse and keys as they are configured now."""
