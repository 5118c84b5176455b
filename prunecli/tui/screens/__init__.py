"""The main screen and the screens opened over it."""

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Overlay(ModalScreen[T]):
    """A screen over the main screen that closes only once, and only itself.

    Keys pressed faster than they are handled wait in the screen's own queue. Textual lets the second of them close
    whatever is on top by then.
    """

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close with a result; does nothing if another screen is on top, or if it is closed already."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
