"""What the parts of the conversation can have done on the screen, without knowing who wires them."""

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
    """The verbs that all parts share. `conversation.Conversation` has them."""

    @property
    def prompt(self) -> Prompt:
        """Where the user types."""

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """A notice in the transcript."""

    def complain(self, error: PrunecliError) -> None:
        """What went wrong, and the way out."""

    def warn(self, text: str) -> None:
        """A banner that stays; "" takes it away."""

    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None:
        """A few words above the prompt, for some seconds or (None) until others come; "" takes them away."""

    def show_status(self) -> None:
        """Brings the figures up to date."""

    def ask(self, panel: "Question") -> None:
        """A question stands above the prompt."""

    def answered(self, panel: "Question") -> None:
        """It was answered, or is not asked any more."""

    def command(self, line: str) -> None:
        """Runs a slash command."""

    def run(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> Worker[None]:
        """Works in the background; `exclusive` ends what else works in this group."""

    def push_screen(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Opens a screen above all; `then` is told what it gives."""
