"""Reminds the model of its to-do list once the call that contains it is gone."""

from collections.abc import Sequence

from prunecli.context.todo_list import is_sent, shown_todos, todos
from prunecli.model.events import UserMessage
from prunecli.model.notes import newest_notice, notice
from prunecli.model.todos import Todos, in_lines, is_open
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part

TODOS = "to-do list"


class TodoReminder(Part):
    """The notice with the unfinished list, after a compaction or an edit removed the call that contains it."""

    def __init__(self, host: Host, parent: "TodoReminder | None") -> None:
        super().__init__(host, parent)
        host.mailbox.news.append(self._due)

    def _due(self) -> Sequence[UserMessage]:
        context = self.host.session.context
        found = todos(context)
        if not is_open(found) or is_sent(context):
            return ()
        text = "\n".join(in_lines(found, plain=True))
        known = newest_notice((item.event for item in reversed(context.items)), TODOS)
        return () if text == known else (notice(TODOS, text, kept=True),)


def shown(host: Host) -> Todos:
    """Return the list to show above the prompt, () for none."""
    return shown_todos(host.session.context)
