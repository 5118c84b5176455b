"""The port through which parts of the conversation use the screen."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.screen import Screen
from textual.worker import Worker

from prunecli.front.presentation.entries import Level
from prunecli.tui.widgets.activity import HINT_SECONDS
from prunecli.tui.widgets.prompt import Prompt
from prunecli.util.errors import PrunecliError

if TYPE_CHECKING:
    from prunecli.tui.widgets.question import Question

T = TypeVar("T")


class Port(Protocol):
    """The interface that all parts share, implemented by `conversation.Conversation`."""

    @property
    def prompt(self) -> Prompt: ...
    def say(self, text: str, level: Level = Level.INFO) -> None: ...
    def complain(self, error: PrunecliError) -> None: ...
    def warn(self, text: str) -> None: ...
    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None: ...
    def show_status(self) -> None: ...
    def show_waiting(self) -> None: ...
    def wake(self) -> None: ...
    def began(self, words: str) -> None: ...
    def ended(self, seconds: float, *, interrupted: bool, well: bool) -> None: ...
    def ask(self, panel: "Question") -> None: ...
    def answered(self, panel: "Question") -> None: ...
    def command(self, line: str) -> None: ...
    def run(
        self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False
    ) -> Worker[None]: ...
    def push_screen(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None: ...


async def answer_of(port: Port, make: Callable[[Callable[[T], None]], "Question"]) -> T:
    """Show the panel that `make` builds around a callback, until it is answered. Canceling removes it."""
    answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def give(value: T) -> None:
        if not answer.done():
            answer.set_result(value)

    panel = make(give)
    port.ask(panel)
    try:
        return await answer
    finally:
        port.answered(panel)
