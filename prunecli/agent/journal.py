"""What the agent writes to: the session as the loop sees it. The agent and the session know nothing else of
each other."""

from typing import Protocol

from prunecli.context.state import Context
from prunecli.model.events import Event, Record


class Journal(Protocol):
    """The only writer of a session (`prunecli.session.session.Session`)."""

    context: Context

    def emit(self, event: Event) -> Record:
        """Appends an event, folds it, tells the readers. Raises StorageFailed, then nothing has changed."""
        ...

    def tell(self, signal: object) -> None:
        """Tells the readers something transient."""
        ...

    def commit(self) -> None:
        """Makes what was emitted durable; may block. Raises StorageFailed."""
        ...

    def answer_open_calls(self) -> None:
        """Answers every call without a result as interrupted."""
        ...
