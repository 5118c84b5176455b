"""Asking the user in a panel above the prompt: whether a call may run, whether a plan is good, or whatever else has
a few answers."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from prunecli.agent.execute import Answer, Asked
from prunecli.commands.command import Choose
from prunecli.model.planning import APPROVED
from prunecli.runtime import Runtime, outside
from prunecli.runtime.plan import plan_of
from prunecli.sanitize import one_line
from prunecli.tui.messages import PermissionAnswered
from prunecli.tui.port import Port
from prunecli.tui.program import Program

if TYPE_CHECKING:
    from prunecli.tui.widgets.question import Question


class Asking:
    """The questions of one conversation; cancelling one takes its panel away."""

    def __init__(self, runtime: Runtime, port: Port, program: Program) -> None:
        self._cwd = runtime.setup.cwd
        self._port = port
        self._program = program
        self._answer: asyncio.Future[Answer] | None = None

    async def ask(self, asked: Asked) -> Answer:
        """The answer of the user."""
        from prunecli.presentation.questions import sheet_of
        from prunecli.tui.widgets.permission import PermissionPanel

        program, cwd = self._program, self._cwd
        sheet = await asyncio.to_thread(sheet_of, asked, lambda path: outside.read_text(path, cwd), cwd)
        panel = PermissionPanel(sheet, program.palette)
        self._answer = asyncio.get_running_loop().create_future()
        self._port.ask(panel)
        program.notify_user("needs your answer")
        program.show_state("waiting for you")
        try:
            return await self._answer
        finally:
            self._answer = None
            program.show_state("working")
            self._port.answered(panel)

    def answer(self, message: PermissionAnswered) -> None:
        """What the panel says."""
        if self._answer is not None and not self._answer.done():
            kind = cast("Literal['once', 'always', 'deny']", message.kind)
            self._answer.set_result(Answer(kind, message.word))

    def choose(self, choose: Choose) -> None:
        """Has one of a few things chosen that allow something; the last of them is Esc's."""
        from prunecli.tui.widgets.long_question import choice

        port = self._port

        def answered(row: int) -> None:
            port.answered(panel)
            port.command(f"/{choose.command} {choose.choices[row].value}")

        labels = [(one_line(one.label), one_line(one.detail)) for one in choose.choices]
        panel = choice(
            one_line(choose.title), labels, answered, leave=len(labels) - 1, about=one_line(choose.about)
        )
        port.ask(panel)


class Planning:
    """The question about a plan that is ready, one at a time. What the user does beside it, a prompt or another mode,
    takes it away. `submit` says something to the agent."""

    def __init__(self, runtime: Runtime, port: Port, program: Program, submit: Callable[[str], None]) -> None:
        self._runtime = runtime
        self._port = port
        self._program = program
        self._submit = submit
        self._panel: Question | None = None

    def offer(self) -> None:
        """Asks about the plan, if the last answer ended in one."""
        if self._panel is not None or not plan_of(self._runtime):
            return
        from prunecli.tui.widgets.plan_question import plan_question

        self._panel = plan_question(self._answered)
        self._port.ask(self._panel)
        self._program.notify_user("has a plan ready")

    def withdraw(self) -> None:
        """The question is not asked any more."""
        panel, self._panel = self._panel, None
        if panel is not None:
            self._port.answered(panel)

    def _answered(self, row: int, text: str) -> None:
        from prunecli.tui.widgets.plan_question import MODES

        self.withdraw()
        if mode := MODES[row]:
            self._runtime.set_mode(mode)
            self._port.show_status()
            self._submit(APPROVED)
        elif text:
            self._submit(text)
