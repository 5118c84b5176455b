"""Executing calls: judge, ask, record the start, run, record the result in source order.

Calls that change nothing run beside each other; everything else runs alone. A call that was started is on the
disk before it runs (ROBUSTNESS.md rule 2).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, Protocol

from prunecli.agent.journal import Journal
from prunecli.agent.signals import ToolProgress
from prunecli.errors import StorageFailed, ToolError
from prunecli.model.codec import well_formed, well_formed_json
from prunecli.model.events import ToolResult, ToolStarted
from prunecli.model.messages import INVALID_INPUT, Block, Json, Text, ToolUse
from prunecli.tools.tool import NO_OUTPUT, Tool, ToolContext, ToolOutput, bounded_output, parse


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user is asked: exactly what will run, why it is asked, and the rule that "always" would add."""

    call: ToolUse
    tool: Tool
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user said; `word` is for the model where it was denied."""

    kind: Literal["once", "always", "deny"]
    word: str = ""


class Gatekeeper(Protocol):
    """Who says whether a call may run."""

    def judge(self, call: ToolUse, tool: Tool) -> "Verdict":
        """allow, ask or deny, with reason and rule."""
        ...

    def may_change_files(self, call: ToolUse, tool: Tool) -> bool:
        """Whether the call may leave files other than they are."""
        ...

    async def ask(self, asked: Asked) -> Answer:
        """Asks the user; headless it denies."""
        ...


class Verdict(Protocol):
    """The judgement of a call (`permissions.Verdict`)."""

    @property
    def kind(self) -> Literal["allow", "ask", "deny"]:
        """What may happen."""
        ...

    @property
    def reason(self) -> str:
        """Why, in plain words."""
        ...

    @property
    def rule(self) -> str:
        """The rule that "always" would add, "" for none."""
        ...


async def nothing(_: ToolUse) -> None:
    """Nobody has to know before files are changed."""


async def uncounted(_: Sequence[Block]) -> None:
    """Results are recorded without their tokens."""


@dataclass(slots=True)
class Executor:
    """Runs the calls of one session. `context(approved=...)` is what a call may use, approved where the user saw
    and allowed it; progress is added for each call. `before_change` comes before each that may change files. `count`
    gives the tokens that a result is recorded with."""

    session: Journal
    tools: Mapping[str, Tool]
    context: Callable[..., ToolContext]
    gatekeeper: Gatekeeper
    before_change: Callable[[ToolUse], Awaitable[None]] = nothing
    count: Callable[[Sequence[Block]], Awaitable[int | None]] = uncounted

    async def execute(self, calls: Sequence[ToolUse]) -> None:
        """Runs the calls and records their results in source order.

        When cancelled, what had finished is kept; the loop answers the rest as interrupted.
        """
        for batch in self._batches(calls):
            if len(batch) == 1:
                await self._one(batch[0])
            else:
                await self._beside_each_other(batch)

    def _batches(self, calls: Sequence[ToolUse]) -> list[list[ToolUse]]:
        batches: list[list[ToolUse]] = []
        for call in calls:
            if batches and self._parallel(call) and self._parallel(batches[-1][-1]):
                batches[-1].append(call)
            else:
                batches.append([call])
        return batches

    def _parallel(self, call: ToolUse) -> bool:
        if self._flaw(call) is not None:
            return False
        tool = self.tools[call.name]
        return tool.parallel and self.gatekeeper.judge(call, tool).kind == "allow"

    async def _one(self, call: ToolUse) -> None:
        refused, approved = await self._refusal(call)
        if refused is not None:
            self._record(call, refused, 0)
            return
        if self.gatekeeper.may_change_files(call, self.tools[call.name]):
            await self.before_change(call)
        self.session.emit(ToolStarted(call.id, call.name, call.input))
        await asyncio.to_thread(self.session.commit)
        output, duration = await self._run(call, approved=approved)
        self._record(call, output, duration)

    async def _beside_each_other(self, batch: list[ToolUse]) -> None:
        for call in batch:
            self.session.emit(ToolStarted(call.id, call.name, call.input))
        await asyncio.to_thread(self.session.commit)
        running = [asyncio.ensure_future(self._run(call)) for call in batch]
        waiting = list(zip(batch, running, strict=True))
        try:
            for call, task in list(waiting):
                output, duration = await task
                waiting.pop(0)
                self._record(call, output, duration)
        except (asyncio.CancelledError, StorageFailed):
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._record_finished(waiting)
            raise

    def _record_finished(
        self, waiting: Sequence[tuple[ToolUse, asyncio.Task[tuple[ToolOutput, int]]]]
    ) -> None:
        """Records what had finished when the others were stopped. Raises StorageFailed after the last."""
        failed: StorageFailed | None = None
        for call, task in waiting:
            if not task.cancelled() and task.exception() is None:
                try:
                    self._record(call, *task.result())
                except StorageFailed as error:
                    failed = error
        if failed:
            raise failed

    async def _refusal(self, call: ToolUse) -> tuple[ToolOutput | None, bool]:
        """Why the call will not run, as its result, or None; and whether the user saw and allowed it."""
        if (flaw := self._flaw(call)) is not None:
            return _error(flaw), False
        tool = self.tools[call.name]
        verdict = self.gatekeeper.judge(call, tool)
        if verdict.kind == "allow":
            return None, False
        if verdict.kind == "deny":
            return _error(f"Not allowed: {verdict.reason}", denied=True, reason=verdict.reason), False
        answer = await self.gatekeeper.ask(Asked(call, tool, verdict.reason, verdict.rule))
        if answer.kind != "deny":
            return None, True
        word = f" They said: {answer.word}" if answer.word else ""
        return _error(f"The user did not allow this.{word}", denied=True, reason=answer.word), False

    def _flaw(self, call: ToolUse) -> str | None:
        """What is wrong with the call itself."""
        tool = self.tools.get(call.name)
        if tool is None:
            return f"There is no tool {call.name!r}. Tools: {', '.join(self.tools)}."
        if INVALID_INPUT in call.input:
            raw = str(call.input[INVALID_INPUT])
            shown = raw if len(raw) <= 200 else raw[:200] + "…"
            return f"The input was not a complete JSON object, so nothing was run. It was: {shown}"
        try:
            parse(tool.Input, call.input)
        except ToolError as error:
            return str(error)
        return None

    async def _run(self, call: ToolUse, *, approved: bool = False) -> tuple[ToolOutput, int]:
        tool = self.tools[call.name]
        context = replace(
            self.context(approved=approved),
            progress=lambda text: self.session.tell(ToolProgress(call.id, text)),
            so_far=lambda text: self.session.hold(call.id, text),
        )
        begun = monotonic()
        try:
            output = await tool.run(parse(tool.Input, call.input), context)
        except ToolError as error:
            output = _error(str(error))
        except Exception as error:  # noqa: BLE001  # a defect of a tool must not end the run
            output = _error(f"The tool failed: {type(error).__name__}: {error}")
        duration = round((monotonic() - begun) * 1000)
        output = bounded_output(output, context.limits.max_output_bytes)
        return replace(output, tokens=await self.count(output.content)), duration

    def _record(self, call: ToolUse, output: ToolOutput, duration: int) -> None:
        content = tuple(map(_well_formed, output.content)) or (Text(NO_OUTPUT),)
        details: dict[str, Any] = well_formed_json(dict(output.details))
        if output.raw is not None and (blob := self._raw(output.raw)):
            details["raw"] = blob
        self.session.keep(
            ToolResult(call.id, call.name, content, output.is_error, details, duration, output.tokens)
        )

    def _raw(self, data: bytes) -> Json:
        """The bytes that a text could not hold, beside the log (LOG-18). A full disk is met by the result itself."""
        try:
            return self.session.keep_bytes(data)
        except StorageFailed:
            return None


def _error(text: str, **details: Json) -> ToolOutput:
    return ToolOutput((Text(text),), is_error=True, details=details)


def _well_formed(block: Block) -> Block:
    return Text(well_formed(block.text)) if isinstance(block, Text) else block
