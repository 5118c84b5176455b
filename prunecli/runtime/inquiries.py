"""Questions of the model to the user: one at a time, also among tasks and permission questions."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from prunecli.runtime.host import Host
    from prunecli.tools.ask import AskUser, Inquiry, Reply

ASKS = "prunecli has a question for you"
Waits: TypeAlias = Callable[[str, str, str], None]


class Inquiries:
    """The questions of one runtime. A front end sets `asker` of the first one; without it nobody answers.

    `within` are those of the runtime that started this one for a task. `waits` hears that a question is shown: the
    kind of notification, its message and its title.
    """

    def __init__(self, host: "Host", waits: Waits, within: "Inquiries | None" = None) -> None:
        self.asker: AskUser | None = None
        self._host = host
        self._waits = waits
        self._first: Inquiries = within._first if within else self

    async def ask(self, inquiry: "Inquiry") -> "Reply | None":
        """Ask when no other question is open. None if nobody is there."""
        async with self._host.questions:
            asker = self._first.asker
            if asker is None:
                return None
            self._waits("permission_prompt", f"{ASKS}: {inquiry.question}", "Question")
            return await asker(replace(inquiry, who=self._host.who))
