"""A recorded session through the program: the strict endpoint gives the recorded responses, tools give the recorded
results, and the clock gives the session's times. What the user does besides is given as acts. The replay of the same
session, or of the log that the program wrote of it, is compared with it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path

from prunecli.context import render
from prunecli.context.expectations import SUMMARY_TOKENS
from prunecli.context.ledger import Ledger
from prunecli.context.tokens import Chars4
from prunecli.features.replay.rates import Table
from prunecli.features.replay.replay import NO_PRUNING, Setting, Stage
from prunecli.features.replay.replayer import Replayer, Sent, Spill
from prunecli.features.replay.script import Script, Step, script_of
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    PrunApplied,
    Record,
    RequestSent,
    SessionStarted,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Json, Text, Thinking, ToolUse, Usage, tool_uses
from prunecli.model.requests import PREAMBLE
from prunecli.model.touches import Touches, named
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.messages_api import Endpoint as Address
from prunecli.providers.models import ModelTable, load_expectations
from prunecli.providers.provider import Provider
from prunecli.runtime import Runtime
from prunecli.tools.tool import ToolContext, ToolOutput
from tests.endpoint import Call, Endpoint, Reply, Rules
from tests.endpoint import Text as Said
from tests.endpoint import Thinking as Thought
from tests.replay.playable import MODEL
from tests.starting import start

PRICES = ("input=3.0", "output=15.0", "cache_read=0.3", "cache_write_5m=3.75", "cache_write_1h=6.0")
OTHER = "exact-2"
"""Another one, with the same prices."""
SUMMARY = Reply([Said("x" * 4 * SUMMARY_TOKENS)], usage={"output_tokens": SUMMARY_TOKENS})
"""The summary that a replay expects."""
Act = Callable[[Runtime], object]
"""Something that the user does between two runs."""
SETS = (
    f"model.name={MODEL}",
    *(f'models."{name}".context_window=200000' for name in (MODEL, OTHER)),
    *(f'models."{name}".prices.{price}' for name in (MODEL, OTHER) for price in PRICES),
    "pruning.estimator=chars4",
    "compaction.enabled=false",
    "tools.snapshots=false",
    "permissions.mode=auto",
)


@dataclass(frozen=True, slots=True)
class Made:
    """What was sent, by request: the hash of the messages and the usage; and what was edited and held back."""

    requests: list[tuple[str, Usage]] = field(default_factory=list)
    edits: list[tuple[Edit, ...]] = field(default_factory=list)
    spilled: list[tuple[int, str]] = field(default_factory=list)
    cost: float = 0.0


@dataclass
class Clock:
    """The session's time, in unix ms."""

    now: int = 0

    def __call__(self) -> int:
        return self.now


class Recorded:
    """A tool that gives the recorded results, in the order of the calls, and sets the clock to their times."""

    description = "Gives what was recorded."

    @dataclass(frozen=True, slots=True)
    class Input:
        path: str = ""
        command: str = ""

    def __init__(self, name: str, live: "Live", *, parallel: bool = False) -> None:
        self.name = name
        self.parallel = parallel
        self._live = live

    def summary(self, given: Json) -> str:
        return self.name

    def touches(self, given: "Recorded.Input", /) -> Touches | None:
        return named(self.name, {key: text for key in ("path", "command") if (text := getattr(given, key))})

    async def run(self, given: Json, context: ToolContext) -> ToolOutput:
        return self._live.next_result()


class Live:
    """The program, living through a session."""

    def __init__(
        self, records: Sequence[Record], runtime: Runtime, clock: Clock, acts: Mapping[int, Act]
    ) -> None:
        self.runtime = runtime
        self.clock = clock
        self._records = [record for record in records if not isinstance(record.event, SessionStarted)]
        self._acts = acts
        self._place = 0

    async def run(self) -> None:
        self.runtime.prepare()
        while self._next() is not None:
            record = self._take()
            if (act := self._acts.get(record.seq)) and isawaitable(done := act(self.runtime)):
                await done
            if isinstance(record.event, AssistantMessage):
                continue  # the act has asked for it
            self.runtime.emit(record.event)
            if isinstance(getattr(self._next(), "event", None), AssistantMessage):
                await self.runtime.go_on()
                self._pass_answer()

    def next_result(self) -> ToolOutput:
        self._pass_answer()
        result = self._take().event
        assert isinstance(result, ToolResult)
        while (waiting := self._next()) and isinstance(waiting.event, UserMessage):
            self.runtime.mailbox.steering.append(waiting.event)
            self._take()
        return ToolOutput(result.content, result.is_error)

    def _next(self) -> Record | None:
        return self._records[self._place] if self._place < len(self._records) else None

    def _take(self) -> Record:
        record = self._records[self._place]
        self.clock.now = record.timestamp
        self._place += 1
        return record

    def _pass_answer(self) -> None:
        """The endpoint has given this one, and a summary before it."""
        while (record := self._next()) and isinstance(record.event, AssistantMessage):
            if record.seq in self._acts:
                break
            self._place += 1


def replies(records: Sequence[Record]) -> list[Reply]:
    """The recorded responses as the endpoint gives them, as long as they are in the next prompt."""
    return [
        Reply(
            [
                Call(block.name, block.input, block.id)
                if isinstance(block, ToolUse)
                else (Said(block.text) if isinstance(block, Text) else Thought(block.thinking))
                for block in record.event.content
                if isinstance(block, ToolUse | Text | Thinking)
            ],
            usage={"output_tokens": record.event.usage.output_tokens},
        )
        for record in records
        if isinstance(record.event, AssistantMessage)
    ]


def names_of(records: Sequence[Record], *, recall: bool = True) -> list[str]:
    """The tools of a session."""
    names = {call.name for record in records for call in tool_uses(getattr(record.event, "content", ()))}
    return sorted({*names, *(["recall"] * recall)})


def sets_of(setting: Setting) -> tuple[str, ...]:
    """A setting of a replay as options of the program."""
    return (
        f"pruning.strategy={json.dumps(setting.strategies)}",
        f"pruning.gate={setting.gate}",
        f"pruning.spill.enabled={json.dumps(setting.spill)}",
    )


async def lived(
    records: Sequence[Record],
    folder: Path,
    sets: Sequence[str],
    acts: Mapping[int, Act] | None = None,
    *,
    parallel: bool = False,
    recall: bool = True,
    around: Callable[[Provider], Provider] = lambda provider: provider,
    chars_per_token: int = 4,
    summaries: Sequence[int] = (),
) -> tuple[Made, Runtime]:
    """What the program makes of the session.

    `acts` are by the number of the prompt that follows them, or of the answer that they ask for. `parallel`: the
    calls of an answer run at once. `recall`: the model has this tool. `around` may change what the provider says.
    `chars_per_token`: how the endpoint counts. `summaries`: the numbers of the answers before which the program asks
    for a summary on return.
    """
    clock = Clock(records[0].timestamp)
    rules = Rules(any_model=True, cache_minimum=1024, chars_per_token=chars_per_token)
    script = replies(records)
    for number in sorted(summaries, reverse=True):
        script.insert(number, SUMMARY)
    async with Endpoint(script, rules=rules, clock=lambda: clock.now / 1000) as endpoint:
        provider = AnthropicProvider(Address(api_key="sk-ant-test", base_url=endpoint.base_url))
        runtime = start(folder, sets=(*SETS, *sets), provider=around(provider), clock=clock)
        live = Live(records, runtime, clock, acts or {})
        runtime.tools = {
            name: Recorded(name, live, parallel=parallel) for name in names_of(records, recall=recall)
        }
        try:
            await live.run()
        finally:
            await runtime.close()
        assert [refused.refusal for refused in endpoint.rejected] == []
    return _made_of(runtime), runtime


def _made_of(runtime: Runtime) -> Made:
    made = Made()
    sha = ""
    cost = 0.0
    for record in runtime.session.records:
        match record.event:
            case RequestSent(sha256=sha256):
                sha = sha256
            case AssistantMessage(model=model, usage=usage):
                made.requests.append((sha, replace(usage, output_tokens=0, cache_1h_input_tokens=None)))
                cost += runtime.choices.price(model, replace(usage, output_tokens=0))
            case PrunApplied(edits=edits, source="strategy"):
                made.edits.append(edits)
            case ToolResult(spilled=spilled) | UserMessage(attached=Attached(spilled=spilled)) if spilled:
                made.spilled.append((spilled.tokens, spilled.shown))
            case _:
                pass
    return replace(made, cost=cost)


def replayed(records: Sequence[Record], runtime: Runtime, setting: Setting) -> Made:
    """What replay makes of a session, with the configuration, system prompt and tools of the program."""
    made = Made()

    def watch(player: Replayer, sent: Sent) -> None:
        made.requests.append((player.context.sha256(), replace(sent.usage, output_tokens=0)))
        made.edits.extend(event.edits for event in sent.before)

    stage, script = staged(records, runtime, setting)
    part = stage.part(script, setting)
    if part.spill is not None:
        part = replace(part, spill=_noted(part.spill, made))
    row = Replayer(script, part, watch).play()
    return replace(made, cost=row.cost)


def staged(records: Sequence[Record], runtime: Runtime, setting: Setting) -> tuple[Stage, Script]:
    """A replay with the configuration, system prompt and tools of the program, and the session to play."""
    data = runtime.setup.places.shipped_data
    table = Table(ModelTable.load(data, runtime.config.models).info, MODEL)
    preamble = runtime.session.context.settings[PREAMBLE]
    texts = (*preamble["system"], *map(render.compact, preamble["tools"]))
    ttl, fixed = runtime.choices.cache_ttl, sum(map(Chars4().count, texts))
    numbers = load_expectations(data, runtime.setup.places.expectations_file)
    stage = Stage(runtime.config, table, (setting,), ttl, numbers, fixed=fixed)
    return stage, replace(script_of(records, stage.counter), preamble=preamble)


def saved(records: Sequence[Record], runtime: Runtime, setting: Setting) -> tuple[float, Ledger]:
    """What pruning saves in a replay, in USD, and the ledger after it."""
    stage, script = staged(records, runtime, setting)
    bare = Replayer(script, stage.part(script, Setting(NO_PRUNING, "always", spill=False))).play()
    player = Replayer(script, stage.part(script, setting))
    return bare.cost - player.play().cost, runtime.policy.ledger(player.context)


def _noted(spill: Spill, made: Made) -> Spill:
    def noting(result: ToolResult, call: ToolUse, step: Step, seq: int) -> ToolResult:
        found = spill(result, call, step, seq)
        if found.spilled:
            made.spilled.append((found.spilled.tokens, found.spilled.shown))
        return found

    return noting
