"""The behavior shared by all screens over the conversation: each closes once and then ignores keys."""

from typing import TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """A modal screen that closes once, however many closing keys follow the first.

    Textual takes a closed screen off the stack at once, but removes it a moment later. Keys that were on their
    way to it still arrive: a second Esc would close the screen below, or fail if there is none, and the first letters
    of the next prompt would run the commands of the closed screen, or of one that was opened since.
    """

    is_closed = False
    """Set before the screen leaves the stack, and never reset: each screen is pushed once."""
    _types_on = False
    """Text was typed for the prompt below since, so that Enter sends it."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        if self.is_closed:
            return AwaitComplete()
        self.is_closed = True
        self._below = self.app.screen_stack[-2]
        return super().dismiss(result)

    async def on_event(self, event: events.Event) -> None:
        """Ignore keys after the screen has closed; what is typed goes to the prompt below."""
        if not (self.is_closed and isinstance(event, events.Key)):
            await super().on_event(event)
            return
        event.stop()
        self._types_on = self._types_on or event.is_printable
        is_text = event.is_printable or (event.key == "enter" and self._types_on)
        if is_text and not isinstance(self._below, Dialog):
            again = events.Key(event.key, event.character)
            again.time = event.time
            self._below._forward_event(again)
