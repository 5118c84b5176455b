"""A run on scripted responses, in memory: what tests of the loop share."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.assemble import ModelSettings
from prunecli.agent.decide import Limits, Mailbox
from prunecli.agent.execute import Executor
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.loop import Run
from prunecli.agent.policy import Policy
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SessionStarted, UserMessage
from prunecli.model.messages import Json, Text, Usage
from prunecli.model.touches import Touches
from prunecli.safety.permissions.verdict import Rules
from prunecli.session.session import Session
from prunecli.tools.prun import Prun
from prunecli.tools.prun_with_memo import PrunWithMemo
from prunecli.tools.tool import FilesSeen, Tool, ToolContext, ToolOutput, text_output
from prunecli.util.errors import ToolError
from tests.session.points import content
from tests.wires import over_wire


class Echo:
    """A tool that answers with what it was given; "boom" fails, "wait" waits for `gate`, and has
    printed "half" by then."""

    name: ClassVar[str] = "echo"
    description: ClassVar[str] = "echo"
    parallel: ClassVar[bool] = True

    @dataclass(frozen=True, slots=True)
    class Input:
        words: str
        times: int = 1

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.ran: list[str] = []

    def summary(self, given: Mapping[str, Json]) -> str:
        return str(given.get("words", ""))

    def touches(self, given: Input) -> Touches:
        return Touches(searches=(given.words,))

    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        self.ran.append(given.words)
        self.started.set()
        if given.words == "boom":
            raise ToolError("it went boom")
        if given.words == "defect":
            raise RuntimeError("a defect")
        if given.words == "wait":
            context.so_far("half\n")
            await self.gate.wait()
        return text_output(given.words * given.times)


class Change(Echo):
    """The same, but it changes things: it is asked about and runs alone."""

    name: ClassVar[str] = "change"
    parallel: ClassVar[bool] = False

    def touches(self, given: Echo.Input) -> Touches:
        return Touches(runs=(given.words,))


@dataclass
class Bench:
    """A session with a run on it. `told` is everything that readers were told."""

    provider: Any
    path: Path | None = None
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    answers: list[Answer] = field(default_factory=list)
    mode: Any = "auto"
    cost: Callable[[Usage], float] = lambda _: 0.0
    model: ModelSettings = ModelSettings("model", 8_000)

    def __post_init__(self) -> None:
        self.provider = over_wire(self.provider)
        self.asked: list[Asked] = []
        self.told: list[object] = []
        self.echo, self.change = Echo(), Change()
        self.tools: dict[str, Tool] = {
            tool.name: tool for tool in (self.echo, self.change, Prun(), PrunWithMemo())
        }
        self.clock = 1_000
        started = SessionStarted("test", "/w", "model")
        self.session = Session(started, Context(Chars4()), path=self.path, clock=self._now)
        self.session.subscribe(self.told.append)
        self.mailbox = Mailbox()
        self.slept: list[float] = []

    def _now(self) -> int:
        self.clock += 1
        return self.clock

    async def _ask(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return self.answers.pop(0)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def tool_context(
        self, *, approved: bool = False, granted: bool = False, reads: bool = False
    ) -> ToolContext:
        return ToolContext(
            Path("/w"),
            Path("/w"),
            {},
            FilesSeen(),
            plan_prun=lambda tokens, memo: self.policy.plan(self.session.context, tokens, memo),
            recall=lambda seq: content(self.session.context.entries[seq].event),
        )

    def run(self) -> Run:
        keeper = SessionGatekeeper(Rules(), self.mode, True, Path("/w"), asker=self._ask)
        executor = Executor(self.session, self.tools, self.tool_context, keeper)
        return Run(
            self.session,
            self.provider,
            executor,
            lambda: self.policy,
            lambda: self.model,
            self.mailbox,
            self.limits,
            sleep=self._sleep,
            cost=self.cost,
        )

    def say(self, words: str) -> None:
        self.session.emit(UserMessage((Text(words),)))

    async def talk(self, words: str) -> Any:
        self.say(words)
        return await self.run().run()

    def texts(self) -> list[str]:
        """The texts of all entries, in order."""
        return [entry.text for entry in self.session.context.entries.values()]
