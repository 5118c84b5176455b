"""The demo model in a real session: the real loop, gatekeeper and tools in a workspace, without a pause."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.assemble import ModelSettings
from prunecli.agent.decide import Mailbox
from prunecli.agent.execute import Executor
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.loop import Run
from prunecli.agent.policy import Policy
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.codec import canonical
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, plain_text, tool_uses
from prunecli.model.requests import PREAMBLE, Preamble, Request, WireMessage
from prunecli.providers.available.demo import DemoProvider
from prunecli.providers.provider import Response, StreamEvent
from prunecli.safety.permissions.verdict import Rules
from prunecli.session.session import Session
from prunecli.tools.inputs import definition
from prunecli.tools.registry import load
from prunecli.tools.tool import FilesSeen, ToolContext

TOOLS = ("bash", "read", "write", "edit", "grep", "find", "ls", "prun", "prun_with_memo", "recall")


async def no_pause(seconds: float) -> None:
    """Does not wait."""


class Recorder(DemoProvider):
    """The demo model, which keeps the requests that it gets and what it answers."""

    def __init__(self) -> None:
        super().__init__(pause=no_pause)
        self.exchanged: list[tuple[Request, Response]] = []

    async def stream(self, request: Request) -> Any:
        async for event in super().stream(request):
            if isinstance(event, Response):
                self.exchanged.append((request, event))
            yield event


@dataclass
class Bench:
    """A session on the demo model. `answers` are the user's to questions, in order; then everything is denied."""

    workspace: Path
    tools: tuple[str, ...] = TOOLS
    mode: Any = "auto"
    answers: list[Answer] = field(default_factory=list)
    path: str = field(default_factory=lambda: os.environ["PATH"])

    def __post_init__(self) -> None:
        self.provider = Recorder()
        self.mailbox = Mailbox()
        self.seen = FilesSeen()
        self.session = Session(
            SessionStarted("demo", str(self.workspace), "demo"), Context(Chars4()), path=None
        )
        loaded = {name: load(name) for name in self.tools}
        self.session.emit(
            SettingChanged(
                PREAMBLE, {"system": ["You."], "tools": [definition(tool) for tool in loaded.values()]}
            )
        )
        keeper = SessionGatekeeper(Rules(), self.mode, True, self.workspace, asker=self._ask)
        self.executor = Executor(self.session, loaded, self._context, keeper)

    async def _ask(self, asked: Asked) -> Answer:
        return self.answers.pop(0) if self.answers else Answer("deny", "not today")

    def _context(self, *, approved: bool = False, granted: bool = False, reads: bool = False) -> ToolContext:
        env = {"PATH": self.path, "HOME": str(self.workspace), "LANG": "C.UTF-8"}
        return ToolContext(
            self.workspace,
            self.workspace,
            env,
            self.seen,
            plan_prun=lambda tokens, memo: Policy().plan(self.session.context, tokens, memo),
        )

    async def talk(self, words: str) -> str:
        """Says something, runs until the demo model is done and gives its last words."""
        self.session.emit(UserMessage((Text(words),)))
        run = Run(
            self.session,
            self.provider,
            self.executor,
            Policy,
            lambda: ModelSettings("demo", 8_000),
            self.mailbox,
        )
        assert (await run.run()).reason == "finished"
        return plain_text(self.answered()[-1].content)

    def answered(self) -> list[AssistantMessage]:
        """All answers of the demo model, in order."""
        return [r.event for r in self.session.records if isinstance(r.event, AssistantMessage)]

    def calls(self) -> list[list[ToolUse]]:
        """The calls of each answer that made some."""
        return [list(uses) for event in self.answered() if (uses := tool_uses(event.content))]

    def names(self) -> list[list[str]]:
        """The names of those calls."""
        return [[call.name for call in calls] for calls in self.calls()]

    def results(self, name: str) -> list[ToolResult]:
        """The results of a tool, in order."""
        events = [record.event for record in self.session.records]
        return [event for event in events if isinstance(event, ToolResult) and event.tool_name == name]

    def prunes(self) -> list[PrunApplied]:
        """What was pruned."""
        return [r.event for r in self.session.records if isinstance(r.event, PrunApplied)]


def request(*messages: WireMessage, tools: tuple[str, ...] = TOOLS, **options: Any) -> Request:
    """A request to the demo model with these tools."""
    preamble = Preamble.of(("You.",), tuple(definition(load(name)) for name in tools))
    return Request("demo", 8_000, preamble, messages, **options)


def user(*texts: str, seq: int = 1) -> WireMessage:
    """One entry of the user's."""
    blocks = tuple(canonical({"type": "text", "text": text}) for text in texts)
    return WireMessage.of("user", blocks, (seq,) * len(blocks))


def message(role: Any, *blocks: dict[str, Any], seq: int = 1) -> WireMessage:
    """A message of these blocks."""
    return WireMessage.of(role, tuple(map(canonical, blocks)), (seq,) * len(blocks))


async def events(asked: Request, provider: DemoProvider | None = None) -> list[StreamEvent]:
    """Everything that the demo model streams for a request."""
    return [event async for event in (provider or DemoProvider(pause=no_pause)).stream(asked)]


async def answer(asked: Request) -> Response:
    """The response to a request."""
    last = (await events(asked))[-1]
    assert isinstance(last, Response)
    return last


async def words_of(asked: Request) -> str:
    """The words of the response to a request."""
    return plain_text((await answer(asked)).content)
