"""Plan mode on the screen: a plan that is ready is approved or denied in a panel above the prompt."""

from typing import TYPE_CHECKING

from prunecli.model.planning import APPROVED
from prunecli.runtime.plan import plan_of

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation
    from prunecli.tui.widgets.question import Question


class Planning:
    """One question at a time. What the user does beside it, a prompt or another mode, takes it away."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._panel: Question | None = None

    def offer(self) -> None:
        """Asks about the plan, if the last answer ended in one."""
        if self._panel is not None or not plan_of(self._conversation.runtime):
            return
        from prunecli.tui.widgets.plan import plan_question

        frame = self._conversation.frame
        self._panel = plan_question(self._answered)
        frame.ask(self._panel)
        frame.program.notify_user("has a plan for you")

    def withdraw(self) -> None:
        """The question is not asked any more."""
        panel, self._panel = self._panel, None
        if panel is not None:
            self._conversation.frame.answered(panel)

    def _answered(self, row: int, text: str) -> None:
        from prunecli.tui.widgets.plan import MODES

        self.withdraw()
        conversation = self._conversation
        if mode := MODES[row]:
            conversation.runtime.set_mode(mode)
            conversation.show_status()
            conversation.submit(APPROVED)
        elif text:
            conversation.submit(text)
