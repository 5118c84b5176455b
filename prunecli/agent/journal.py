"""What the agent writes to: the session as the loop sees it. The agent and the session know nothing else of
each other."""

from typing import Protocol

from prunecli.context.state import Context
from prunecli.model.events import Event, Record
from prunecli.model.messages import Json
from prunecli.model.signals import Signal


class Journal(Protocol):
    """The only writer of a session (`prunecli.session.session.Session`)."""

    context: Context

    def emit(self, event: Event) -> Record:
        """Appends an event, folds it, tells the readers. Raises StorageFailed, then nothing has changed."""
        ...

    def keep(self, event: Event) -> None:
        """As `emit`, for what has happened and can't be asked for again: where it can't be written now it is
        written before anything else later. Raises StorageFailed all the same."""
        ...

    def hold(self, key: str, text: str) -> None:
        """Keeps the output so far of the running call with this id: what answers it where it is cut."""
        ...

    def keep_bytes(self, data: bytes) -> Json:
        """Stores bytes beside the log: the block that names them, None where there is no log."""
        ...

    def settle(self) -> None:
        """Before a run: writes what is owed, answers calls that were started and never answered."""
        ...

    def tell(self, event: Signal) -> None:
        """Tells the readers something that is not kept."""
        ...

    def commit(self) -> None:
        """Makes what was emitted durable; may block. Raises StorageFailed."""
        ...

    def answer_open_calls(self) -> None:
        """Answers every call without a result as interrupted."""
        ...
