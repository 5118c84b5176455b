"""Asking the user: whether a call may run, or whatever else has a few answers, in a panel above the prompt."""

import asyncio
from typing import TYPE_CHECKING, Literal, cast

from prunecli.agent.execute import Answer, Asked
from prunecli.commands.command import Choose
from prunecli.sanitize import one_line
from prunecli.tui import outside
from prunecli.tui.messages import PermissionAnswered

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation


class Asking:
    """The questions of one conversation; cancelling one takes its panel away."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._answer: asyncio.Future[Answer] | None = None
        self.deciding = "/trust" in conversation.runtime.opening
        """Whether the start is to ask what the agent may do and read here: prompts wait for the answer."""

    def decided(self, line: str) -> None:
        """A command was run. If it was the answer to the question of the start, what waited for it is heard."""
        conversation = self._conversation
        if self.deciding and line.startswith("/trust "):
            self.deciding = False
            conversation.hear_all(conversation.runs.take_all())
            conversation.show_waiting()

    async def ask(self, asked: Asked) -> Answer:
        """The answer of the user."""
        from prunecli.tui.showing.asked import sheet_of
        from prunecli.tui.widgets.permission import PermissionPanel

        frame, cwd = self._conversation.frame, self._conversation.runtime.setup.cwd
        sheet = await asyncio.to_thread(sheet_of, asked, lambda path: outside.read_text(path, cwd), cwd)
        panel = PermissionPanel(sheet, frame.program.palette)
        self._answer = asyncio.get_running_loop().create_future()
        frame.ask(panel)
        frame.program.notify_user("waits for your answer")
        frame.program.show_state("waits for you")
        try:
            return await self._answer
        finally:
            self._answer = None
            frame.program.show_state("working")
            frame.answered(panel)

    def answer(self, message: PermissionAnswered) -> None:
        """What the panel says."""
        if self._answer is not None and not self._answer.done():
            kind = cast("Literal['once', 'always', 'deny']", message.kind)
            self._answer.set_result(Answer(kind, message.word))

    def choose(self, choose: Choose) -> None:
        """Has one of a few things chosen that allow something; the last of them is Esc's."""
        from prunecli.tui.widgets.question import choice

        frame, command = self._conversation.frame, self._conversation.command

        def answered(row: int) -> None:
            frame.answered(panel)
            command(f"/{choose.command} {choose.choices[row].value}")

        labels = [(one_line(one.label), one_line(one.detail)) for one in choose.choices]
        panel = choice(one_line(choose.title), labels, answered, leave=len(labels) - 1)
        frame.ask(panel)
