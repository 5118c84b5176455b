"""The port: what parts of the conversation can do on the screen."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.screen import Screen
from textual.worker import Worker

from prunecli.errors import PrunecliError
from prunecli.presentation.entries import Level
from prunecli.tui.widgets.activity import HINT_SECONDS
from prunecli.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from prunecli.tui.widgets.question import Question

T = TypeVar("T")


class Port(Protocol):
    """The interface that all parts share, implemented by `conversation.Conversation`."""

    @property
    def prompt(self) -> Prompt:
        """The prompt."""

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """Show a notice in the transcript."""

    def complain(self, error: PrunecliError) -> None:
        """Show an error and its hint."""

    def warn(self, text: str) -> None:
        """Show a banner until it is replaced; "" removes it."""

    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None:
        """Show a hint above the prompt for some seconds, or (None) until it is replaced; "" removes it."""

    def show_status(self) -> None:
        """Update the figures."""

    def ask(self, panel: "Question") -> None:
        """Show a question above the prompt."""

    def answered(self, panel: "Question") -> None:
        """Remove a question that was answered or withdrawn."""

    def command(self, line: str) -> None:
        """Run a slash command."""

    def run(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> Worker[None]:
        """Run work in the background; `exclusive` cancels other work of the group."""

    def push_screen(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Open a screen on top; `then` gets its result."""
