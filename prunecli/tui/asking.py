"""Questions in a panel above the prompt: permissions, plans, and choices offered by commands."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.plan import ANSWERS, plan_of
from prunecli.model.notes import APPROVED
from prunecli.runtime import Runtime
from prunecli.runtime.outside import open_page
from prunecli.tui.port import Port, answer_of
from prunecli.tui.program import Program
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.commands.command import Choose
    from prunecli.front.presentation import questions
    from prunecli.runtime.forms import Elicitation
    from prunecli.runtime.forms import Reply as ServerReply
    from prunecli.tools.asking import Inquiry, Reply
    from prunecli.tui import eliciting, inquiring
    from prunecli.tui.eliciting import Eliciting
    from prunecli.tui.widgets import long_question, permission, question
    from prunecli.tui.widgets.question import Question
else:
    eliciting = lazy("prunecli.tui.eliciting")
    inquiring = lazy("prunecli.tui.inquiring")
    long_question = lazy("prunecli.tui.widgets.long_question")
    permission = lazy("prunecli.tui.widgets.permission")
    question = lazy("prunecli.tui.widgets.question")
    questions = lazy("prunecli.front.presentation.questions")


_PLAN_KEYS = ("1e", "2ya", "3nk")


class Asking:
    """The questions of one conversation. Canceling a question removes its panel."""

    def __init__(self, runtime: Runtime, port: Port, program: Program) -> None:
        self._setup = runtime.setup
        runtime.inquiries.asker = self.inquire
        self._port = port
        self._program = program
        self._choices: deque[Choose] = deque()
        self._eliciting: Eliciting | None = None

    async def ask(self, asked: Asked) -> Answer:
        program = self._program
        sheet = await asyncio.to_thread(questions.sheet_at, asked, self._setup.cwd)
        with self._waiting("needs your answer"):
            return await answer_of(self._port, partial(permission.PermissionPanel, sheet, program.palette))

    @contextmanager
    def _waiting(self, why: str) -> Iterator[None]:
        self._program.notify_user(why)
        self._program.show_state("waiting for you")
        try:
            yield
        finally:
            self._program.show_state("working")

    async def elicit(self, asked: "Elicitation") -> "ServerReply":
        if self._eliciting is None:
            self._eliciting = eliciting.Eliciting(self._port, self._program, self._open)
        return await self._eliciting.ask(asked)

    async def _open(self, address: str) -> bool:
        env, home = self._setup.child_env, self._setup.places.home
        return await asyncio.to_thread(open_page, address, env, home)

    async def inquire(self, inquiry: "Inquiry") -> "Reply":
        with self._waiting("has a question"):
            return await answer_of(self._port, partial(inquiring.InquiryPanel, inquiry))

    def choose(self, choose: "Choose") -> None:
        """Ask for a choice that grants a permission, after earlier questions. Esc chooses the last option."""
        self._choices.append(choose)
        if len(self._choices) == 1:
            self._show_choice(choose)

    def _show_choice(self, choose: "Choose") -> None:
        port = self._port

        def answered(row: int) -> None:
            port.answered(panel)
            self._choices.popleft()
            if self._choices:
                self._show_choice(self._choices[0])
            port.command(f"/{choose.command} {choose.choices[row].value}")

        labels = [(one_line(choice.label), one_line(choice.detail)) for choice in choose.choices]
        about = "\n".join(map(one_line, choose.about.split("\n")))
        now = next((at for at, one in enumerate(choose.choices) if one.current), 0)
        panel = long_question.choice(
            one_line(choose.title), labels, answered, leave=len(labels) - 1, marked=now, about=about
        )
        port.ask(panel)


class Planning:
    """Asks whether to carry out a plan. Sending a prompt or switching the mode withdraws it. `submit` sends a
    prompt."""

    def __init__(self, runtime: Runtime, port: Port, program: Program, submit: Callable[[str], None]) -> None:
        self._runtime = runtime
        self._port = port
        self._program = program
        self._submit = submit
        self._panel: Question | None = None

    def offer(self) -> None:
        """Ask about the plan if the last answer ends with one."""
        if self._panel is not None or not plan_of(self._runtime):
            return

        rows = [question.Row(keys, (label,)) for keys, (_, label) in zip(_PLAN_KEYS, ANSWERS, strict=True)]
        self._panel = question.Question(
            "Carry out this plan?", rows, self._answered, for_text=2, leave=2, hints=question.KEYS_TEXT
        )
        self._port.ask(self._panel)
        self._program.notify_user("has a plan ready")

    def withdraw(self) -> None:
        panel, self._panel = self._panel, None
        if panel is not None:
            self._port.answered(panel)

    def _answered(self, row: int, text: str) -> None:
        self.withdraw()
        if (mode := ANSWERS[row][0]) != "no":
            self._runtime.gatekeeper.mode = mode
            self._port.show_status()
            self._submit(APPROVED)
        elif text:
            self._submit(text)
