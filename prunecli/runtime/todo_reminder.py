"""Sends the to-do list once more after a compaction or an edit removed the call that contains it."""

from collections.abc import Callable, Sequence

from prunecli.context.todo_list import is_sent, todos
from prunecli.model.events import UserMessage
from prunecli.model.notes import newest_notice, notice
from prunecli.model.todos import in_lines, is_open
from prunecli.session.session import Session

TITLE = "to-do list"


class TodoNotice:
    """The pending notice for a session's list. A finished list is not sent again."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session
        self._answered: tuple[object, ...] = ()

    def due(self) -> Sequence[UserMessage]:
        """Return the notice, if the context has the list neither in a call nor in an earlier notice."""
        session = self._session()
        state = session, len(session.records)
        if self._answered == state:
            return ()
        found, context = todos(session.context), session.context
        if is_open(found) and not is_sent(context):
            text = "\n".join(in_lines(found, plain=True))
            if newest_notice((item.event for item in reversed(context.items)), TITLE) != text:
                return (notice(TITLE, text, kept=True),)
        self._answered = state
        return ()
