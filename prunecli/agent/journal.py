"""The interface between the agent and the session."""

from typing import Protocol

from prunecli.context.state import Context
from prunecli.model.events import Event, Record
from prunecli.model.messages import Json
from prunecli.model.signals import Signal


class Journal(Protocol):
    """The only writer of a session (`prunecli.session.session.Session`)."""

    context: Context

    @property
    def next_seq(self) -> int:
        """The seq of the next record, if no other record comes first."""

    def emit(self, event: Event) -> Record:
        """Append an event, fold it, notify readers. Raises StorageFailed, with nothing changed."""

    def keep(self, event: Event) -> None:
        """Emit an event that can't be repeated. If writing fails, the event is written before the next one.

        Still raises StorageFailed in that case.
        """

    def hold(self, key: str, text: str) -> None:
        """Keep a running call's output so far, which becomes the result if the call is interrupted."""

    def keep_bytes(self, data: bytes) -> Json:
        """Store bytes beside the log. Returns a block that refers to them, or None without a log."""

    def settle(self) -> None:
        """Prepare a run: write pending events, and answer calls that were started but never answered."""

    def tell(self, event: Signal) -> None:
        """Notify readers of something that is not recorded."""

    def commit(self) -> None:
        """Make emitted events durable; may block. Raises StorageFailed."""

    def answer_open_calls(self) -> None:
        """Answer every call without a result as interrupted."""
