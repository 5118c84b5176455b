"""A session of some 200 records that goes on from wherever its file is: what the fault tests play.

Parallel and single calls, steering, the model's prunes and a strategy's, a compaction, blobs. Each call leaves a
trace on the disk when it begins, so that one that runs twice is found. As a program it prints, after each commit,
how many records are durable and the hash of the context that they give.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from prunecli.agent.policy import Policy
from prunecli.context.compaction import Options
from prunecli.context.state import Context
from prunecli.context.strategies import pi
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, CompactionApplied, Record, SessionStarted, UserMessage
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.requests import Request
from prunecli.providers.provider import StreamEvent
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from prunecli.tools.tool import ToolContext, ToolOutput
from tests.agent.running import Bench, Change, Echo
from tests.endpoint.http1 import HttpRequest
from tests.endpoint.judge import Judge
from tests.endpoint.rules import Rules
from tests.scripted import Scripted, ScriptedProvider, calls, deltas, says

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
USAGE = Usage(input_tokens=100, output_tokens=10)
POLICY = Policy(
    (
        Chosen(
            "pi", pi, pi.Options(prune_minimum=500, prune_protect=500, protected_turns=0, prunable_tools=())
        ),
    ),
    compaction=Options(keep_first_turns=1, keep_recent_turns=1),
)


def echo(words: str, times: int = 1) -> ToolUse:
    return ToolUse(f"e-{words.strip()}", "echo", {"words": words, "times": times})


def change(words: str) -> ToolUse:
    return ToolUse(f"c-{words.strip()}", "change", {"words": words})


def work(turn: int, *, steps: int) -> list[Scripted]:
    """The responses to one prompt; each call's words are its own."""

    def name(what: str) -> str:
        return f"{what}{turn} "

    begin = [
        calls(echo(name("a")), echo(name("b"), 300), echo(name("c")), text="three at once"),
        calls(change(name("d"))),
        calls(echo(name("steer"), 10), echo(name("big"), 20_000)),
        calls(echo(name("f")), change(name("g")), echo(name("h"), 200), text="one after the other"),
        calls(ToolUse(f"p{turn}", "prun_with_memo", {"tokens": 50, "memo": f"memo {turn}"})),
    ]
    more = [calls(change(f"m{turn}-{step} "), echo(f"n{turn}-{step} ", 100)) for step in range(steps)]
    return [*begin, *more, says(f"Done with {turn}.")]


@dataclass
class Play:
    """What is played: so many prompts with so many steps each."""

    prompts: int = 3
    steps: int = 4

    @property
    def script(self) -> list[Scripted]:
        return [one for turn in range(self.prompts) for one in work(turn, steps=self.steps)]


class Following(ScriptedProvider):
    """Answers by what the session holds, not by what it was asked before: so it can go on after a kill."""

    def __init__(self, script: Sequence[Scripted], answered: Callable[[], int]) -> None:
        super().__init__(script)
        self._script_ = tuple(script)
        self._answered = answered
        self.streamed = 0
        self.broken: dict[int, Exception] = {}
        """At which stream event, counted over all requests, which error comes."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        summary = request.messages[-1].seqs[-1] == -1
        played = says("What was done before.") if summary else self._script_[self._answered()]
        self._count()
        for delta in deltas(played.content, 400):
            yield delta
            self._count()
            await asyncio.sleep(0)
        yield replace(played, usage=USAGE).response(request.model)

    def _count(self) -> None:
        self.streamed += 1
        if error := self.broken.pop(self.streamed, None):
            raise error


class Traced(Echo):
    """Leaves a trace when it begins; "steer" says something to the agent meanwhile."""

    trace: int = -1
    steer: Callable[[], None] = staticmethod(lambda: None)

    async def run(self, given: Any, context: ToolContext) -> ToolOutput:
        if self.trace >= 0:
            os.write(self.trace, given.words.encode() + b"\n")
        if given.words.startswith("steer"):
            self.steer()
        return await super().run(given, context)


class TracedChange(Traced):
    name: ClassVar[str] = Change.name
    parallel: ClassVar[bool] = Change.parallel
    touches = Change.touches


@dataclass
class Played:
    """The bench on a file, or in memory, and what was acknowledged."""

    bench: Bench
    play: Play
    acked: list[tuple[int, str]] = field(default_factory=list)

    @property
    def session(self) -> Session:
        return self.bench.session

    @property
    def records(self) -> list[Record]:
        return self.bench.session.records

    def answered(self) -> int:
        return sum(
            isinstance(one.event, AssistantMessage) and one.event.stop_reason != "interrupted"
            for one in self.records
        )

    def prompts(self) -> int:
        return sum(
            isinstance(one.event, UserMessage) and one.event.origin == "prompt" for one in self.records
        )

    async def go_on(self) -> None:
        """Plays from wherever the session is to its end, or to the first fault."""
        while self.answered() < len(self.play.script) or self.session.context.items[-1].kind != "assistant":
            mid_run = self.session.context.items and self.session.context.items[-1].kind != "assistant"
            if self._interrupted():
                self.session.emit(UserMessage((Text("go on"),), "follow_up"))
            elif not (mid_run or self._calls_wait()):
                await self._maybe_compact()
                self.bench.say(f"prompt {self.prompts()}")
            await self.bench.run().run()

    def _interrupted(self) -> bool:
        last = self.session.context.items[-1:] or [None]
        event = last[0].event if last[0] else None
        return isinstance(event, AssistantMessage) and event.stop_reason == "interrupted"

    def _calls_wait(self) -> bool:
        last = self.session.context.items[-1:]
        return bool(last and last[0].exchange and last[0].exchange.calls)

    async def _maybe_compact(self) -> None:
        done = any(isinstance(one.event, CompactionApplied) for one in self.records)
        plan = None if done or self.prompts() < 2 else POLICY.plan_compaction(self.session.context, "")
        if plan:
            await self.bench.run().compact(plan)
            self.session.commit()

    def check_requests(self) -> None:
        """Every request that was made is one that the service takes."""
        for request in self.bench.provider.requests:
            accept(request)


def accept(request: Request) -> None:
    """Raises RefusedError for what the service would refuse."""
    judge = Judge(Rules(any_model=True), "full")
    judge.judge(HttpRequest("POST", "/v1/messages", HEADERS, request.body()))


def played(
    folder: Path | None,
    play: Play,
    *,
    open_log: Callable[[Path], LogWriter] = LogWriter,
    session_class: type[Session] = Session,
) -> Played:
    """The session of a folder, from its file where there is one; None for one in memory."""
    path = folder / "s.jsonl" if folder else None
    bench = Bench(None, policy=POLICY)
    one = Played(bench, play)
    clock = bench._now
    if path and path.exists() and path.stat().st_size:
        bench.session = session_class.load(
            path, Context(Chars4()), writable=True, clock=clock, open_log=open_log
        )
    else:
        started = SessionStarted("s", "/w", "model")
        bench.session = session_class(started, Context(Chars4()), path=path, clock=clock, open_log=open_log)
    bench.provider = Following(play.script, one.answered)
    trace = os.open(folder / "trace", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if folder else -1
    for tool in (Traced(), TracedChange()):
        tool.trace = trace
        tool.steer = lambda: bench.mailbox.steering.append(
            UserMessage((Text(f"steer {bench.clock}"),), "steering")
        )
        bench.tools[tool.name] = tool
    bench.session.subscribe(bench.told.append)
    return one


def traces(folder: Path) -> list[str]:
    """The calls that ran, in order."""
    path = folder / "trace"
    return path.read_text().splitlines() if path.exists() else []


class Acknowledging(Session):
    """Prints, after each commit, how many records are durable and what context they give."""

    def commit(self) -> None:
        count, digest = len(self.records), self.context.sha256()
        super().commit()
        os.write(1, f"{count} {digest}\n".encode())


def main() -> None:
    """Plays in the folder that is named, one thread beside the loop, so that each run makes the same calls."""
    folder, prompts, steps = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        one = played(folder, Play(prompts, steps), session_class=Acknowledging)
        await one.go_on()
        one.session.close()

    asyncio.run(run())


if __name__ == "__main__":
    main()
