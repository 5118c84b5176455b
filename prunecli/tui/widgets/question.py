"""A question above the prompt that is never answered by keys which were typed before it stood there (SEC-16).

Until the keyboard has been quiet for a moment, keys go on into the prompt: nothing typed is lost.
"""

from collections.abc import Callable, Mapping
from typing import Any

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

QUIET_SECONDS = 0.3
TOO_SOON = "Keys still go to the prompt …"


class Question(Vertical, can_focus=True):
    """Takes keys as answers once it was quiet. `early` takes those that came too soon to be one.

    `answers` is what each key does; the one of Esc also counts while a word is typed. `hint` gives a word that stands
    above them then.

    A panel has the `answers` that it takes, which are dim until it does, and a line for a word, `Input`, that is
    not displayed at first. Its `ready` row says that keys are not taken yet.
    """

    DEFAULT_CSS = """
    Question {
        height: auto; background: $panel; border-left: thick $warning; padding: 0 1;
        #question { height: 1; text-style: bold; color: $warning; }
        #ready { height: 1; color: $muted; }
        #answers { height: auto; }
        &.-early #answers { text-style: dim; }
        #word, #word:focus { height: 1; border: none; padding: 0; background: $surface; display: none; }
    }
    """

    def __init__(self, early: Callable[[events.Key], object]) -> None:
        super().__init__()
        self._early = early
        self.answers: Mapping[str, Callable[[], object]] = {}
        self.hint: Callable[[], str] = str
        self._armed_at = float("inf")
        self._quiet: Any = None

    def on_mount(self) -> None:
        """The quiet begins when it is on the screen."""
        self.focus()
        self.call_after_refresh(self.wait_for_quiet)

    def wait_for_quiet(self) -> None:
        """Takes no answer until no key came for a while."""
        self._armed_at = float("inf")
        self._show_ready(False)
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(QUIET_SECONDS, self._arm)

    def _arm(self) -> None:
        from time import monotonic

        self._armed_at = monotonic()
        self._show_ready(True)

    def _show_ready(self, ready: bool) -> None:
        self.set_class(not ready, "-early")
        self.query_one("#ready", Static).update(Content(self.hint() if ready else TOO_SOON))

    def on_key(self, event: events.Key) -> None:
        """An answer, a letter of a word, or a key that came too soon."""
        if isinstance(self.screen.focused, Input):
            if event.key == "escape":
                event.stop()
                self._answer("escape")
            return
        event.stop()
        event.prevent_default()
        if event.time <= self._armed_at:
            self._early(event)
            self.wait_for_quiet()
            return
        self._answer(event.key)

    def _answer(self, key: str) -> None:
        if act := self.answers.get(key):
            act()

    def ask_for_word(self) -> None:
        """A line for a word takes the place of the answers."""
        word = self.query_one("#word", Input)
        word.display = True
        self.query_one("#answers").display = False
        word.focus()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is no answer (TUI-08)."""
        event.stop()
