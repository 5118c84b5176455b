"""The protocol through which the parts of a runtime use it, and the questions that its tasks share.

The runtime imports its parts, so they cannot import the runtime.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.decide import Done, Limits, Mailbox, Spending
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.policy import Policy
from prunecli.config.effective import Config
from prunecli.context.bill import Bill
from prunecli.context.state import Context
from prunecli.model.events import Event
from prunecli.providers.models import ModelInfo
from prunecli.providers.provider import Provider
from prunecli.runtime.balance import Balance
from prunecli.runtime.choices import Choices
from prunecli.runtime.forms import Elicit
from prunecli.runtime.parts import Parts
from prunecli.runtime.refusals import Refusals
from prunecli.runtime.session_model import Connections
from prunecli.runtime.session_sandbox import SessionSandbox
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.tools.tool import FilesSeen, Tool, ToolContext

if TYPE_CHECKING:
    from prunecli.tools.asking import AskUser, Inquiry, Reply

ASKS = "prunecli has a question for you"


class Inquiries:
    """The model's questions to the user, one at a time, including those of tasks and permission questions.

    A front end sets `asker` of the first runtime; without it, questions stay unanswered. `within` are the inquiries
    of the runtime that started this one for a task.
    """

    def __init__(self, host: "Host", within: "Inquiries | None" = None) -> None:
        self.asker: AskUser | None = None
        self._host = host
        self._first: Inquiries = within._first if within else self

    async def ask(self, inquiry: "Inquiry") -> "Reply | None":
        """Ask once no other question is open. Returns None if nobody can answer."""
        async with self._host.questions:
            asker = self._first.asker
            if asker is None:
                return None
            self._host.parts.waits("permission_prompt", f"{ASKS}: {inquiry.question}", "Question")
            return await asker(replace(inquiry, who=self._host.who))


class Task(Protocol):
    """A task that this runtime started, for front ends that show it."""

    number: int
    call_id: str
    description: str
    ended: str
    host: "Host"

    @property
    def session(self) -> Session:
        """The session of the task."""

    @property
    def name(self) -> str:
        """The name in lists and questions: explore 3."""


class Host(Protocol):
    """The interface of `prunecli.runtime.Runtime` for its parts."""

    setup: Setup
    config: Config
    session: Session
    store: Store
    gatekeeper: SessionGatekeeper
    asker: Callable[[Asked], Awaitable[Answer]]
    mailbox: Mailbox
    notices: list[str]
    on_session: list[Callable[[Session], None]]
    tools: dict[str, Tool]
    files_seen: FilesSeen
    sandbox: SessionSandbox
    balance: Balance
    refusals: Refusals
    run_limits: Limits
    bill: Bill
    spending: Spending
    parts: Parts
    inquiries: Inquiries
    questions: asyncio.Lock
    connections: Connections
    who: str
    """The task that the runtime works on, shown in permission questions; "" for none."""
    fill_form: Elicit | None
    """Asks the user to fill in a form; a front end sets it."""
    on_task: "list[Callable[[Task], None]]"
    """Functions that are called with each task that begins."""
    agent: str
    """The definition that the task follows; "" for none."""
    opening: list[str]
    """The slash commands to run when the screen opens."""

    @property
    def running(self) -> bool:
        """Whether the agent is working."""

    @property
    def choices(self) -> Choices:
        """Model settings and policy in effect."""

    def shorten(self, event: Event, seq: int, context: Context) -> Event:
        """Hold back a part of an interrupted call's output, even in a session that is being loaded."""

    @property
    def policy(self) -> Policy:
        """The current pruning policy of the session."""

    @property
    def model_name(self) -> str:
        """The session's model."""

    @property
    def provider(self) -> Provider:
        """The provider of this model."""

    def set_model(self, name: str) -> ModelInfo:
        """Switch to another model, starting with the next request."""

    def child(self, setup: Setup, who: str, agent: str) -> "Host":
        """Return a runtime for a task, with these parts. `who` is the name shown in permission questions, and `agent`
        names the definition."""

    def use_config(self, config: Config) -> None:
        """Use another configuration."""

    def new_context(self) -> Context:
        """Return an empty context."""

    def tool_context(
        self, *, approved: bool = False, granted: bool = False, reads: bool = False
    ) -> ToolContext:
        """Return the context of the next tool call."""

    def switch(self, session: Session) -> None:
        """Use this session."""

    async def submit(self, words: str) -> Done:
        """Send a prompt and run."""

    async def go_on(self) -> Done:
        """Continue the session."""
