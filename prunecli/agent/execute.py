"""Executes calls: judges them, asks the user, records the start, runs them, and records the results in source order.

Calls that change nothing run in parallel; all others run alone. The start of a call is on disk before the call runs,
so after a crash no call is run twice unnoticed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from prunecli.agent.asking import Asked
from prunecli.agent.hooks import Hooks
from prunecli.agent.journal import Journal
from prunecli.agent.proposing import Proposing, Workbench
from prunecli.context.placeholders import copied, targets
from prunecli.context.spill import Cut
from prunecli.model.codec import well_formed, well_formed_json
from prunecli.model.events import ToolResult, ToolStarted
from prunecli.model.messages import INVALID_INPUT, Block, Json, Text, ToolUse
from prunecli.model.signals import ToolProgress
from prunecli.model.touches import Touches
from prunecli.safety.permissions.verdict import Verdict
from prunecli.tools.files.charset import charset_of
from prunecli.tools.files.notebook import is_notebook_name, sources
from prunecli.tools.files.workspace import seen_in
from prunecli.tools.inputs import not_read, parse
from prunecli.tools.processes.screen import with_handle
from prunecli.tools.tool import Checks, Tool, ToolContext, ToolOutput, bounded_output, shown, touches_of
from prunecli.util.errors import StorageFailed, ToolError
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.agent.gatekeeper import SessionGatekeeper


@frozen
class Ready:
    """A call that can run: parsed input, what it touches, its verdict, and a hook's note for the model.

    `overruled`: a hook replaced the verdict of the rules.
    """

    call: ToolUse
    tool: Tool
    given: Any
    touches: Touches | None
    verdict: Verdict
    note: str = ""
    overruled: bool = False

    @property
    def runs_beside(self) -> bool:
        """Whether the call may run in parallel: it needs no approval and changes nothing."""
        return self.tool.parallel and self.verdict.kind == "allow" and not self.verdict.may_change_files


async def _stopped(tasks: Sequence["asyncio.Task[_Ended]"]) -> None:
    left = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.gather(*left, return_exceptions=True)


async def nothing(_: ToolUse) -> None:
    """Do nothing: the default for `before_change`."""


class Measured(NamedTuple):
    """The figures recorded with a result: its tokens (None if not counted), and the part that is sent (None for all
    of it)."""

    tokens: int | None = None
    cut: Cut | None = None


Measure: TypeAlias = Callable[[ToolResult, ToolUse, Touches | None, int], Awaitable[Measured]]
"""A function that measures a result that will probably get this seq, without blocking the event loop."""


async def unmeasured(result: ToolResult, call: ToolUse, touches: Touches | None, seq: int) -> Measured:  # noqa: ARG001
    return Measured()


class _Ended(NamedTuple):
    """A call that ran: its output, its duration in milliseconds, and its measures."""

    output: ToolOutput
    duration: int = 0
    measured: Measured = Measured()


@dataclass(slots=True)
class Executor:
    """The executor of one session's calls.

    `context` makes the context of a call. Its arguments tell whether the user allowed this call (`approved`), a rule
    or the mode allows it (`granted`), or it only reads (`reads`). `before_change` runs before each call that may
    change files. `measure` measures each result. `hooks` rule on each call and see its output; None if there are
    none. `who` names the asking agent. Agents that work side by side share `questions`, so that only one asks at a
    time. `workbench` is where commands are tried before the user is asked; None if nowhere.
    """

    session: Journal
    tools: Mapping[str, Tool]
    context: Callable[..., ToolContext]
    gatekeeper: "SessionGatekeeper"
    before_change: Callable[[ToolUse], Awaitable[None]] = nothing
    measure: Measure = unmeasured
    hooks: Hooks | None = None
    who: str = ""
    questions: asyncio.Lock = field(default_factory=asyncio.Lock)
    workbench: Workbench | None = None

    async def execute(self, calls: Sequence[ToolUse]) -> None:
        """Run the calls and record their results in source order.

        Each call is parsed and judged once, just before it runs. When canceled, finished results are
        kept; the loop answers the rest as interrupted.
        """
        proposing = Proposing(self, self.workbench)
        try:
            await self._in_order(calls, proposing)
            await proposing.settle()
        finally:
            await proposing.close()

    async def _in_order(self, calls: Sequence[ToolUse], proposing: Proposing) -> None:
        beside: list[Ready] = []
        for call in calls:
            tool = self.tools.get(call.name)
            if tool is None or not tool.parallel:
                await self._beside_each_other(beside)
                beside = []
            ready = await self._ruled(call)
            if isinstance(ready, Ready) and proposing.takes(ready) and await proposing.run(ready):
                continue
            if await proposing.settle() and isinstance(ready, Ready):
                ready = self._again(ready)
            if isinstance(ready, Ready) and ready.runs_beside:
                beside.append(ready)
                continue
            await self._beside_each_other(beside)
            beside = []
            if isinstance(ready, Ready):
                await self._one(ready)
            else:
                self._record(call, _Ended(ready))
        await self._beside_each_other(beside)

    async def outcome(self, call: ToolUse) -> tuple[ToolOutput, Cut | None]:
        """Run a call on behalf of the user, under the same rules, and return its outcome. Records nothing."""
        ready = await self._ruled(call)
        if not isinstance(ready, Ready):
            return ready, None
        async with self.questions:
            refused, approved = await self._refusal(ready)
        if refused is not None:
            return refused, None
        ended = await self._run(ready, approved=approved)
        return ended.output, ended.measured.cut

    def _ready(self, call: ToolUse) -> Ready | ToolOutput:
        """Parse and judge a call; return an error result if the call itself is invalid."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = self.session.context.tool_names or ()
            why = "The user has disabled the tool" if call.name in known else "There is no tool"
            return _error(f"{why} {call.name!r}. Tools: {', '.join(self.tools)}.")
        if INVALID_INPUT in call.input:
            raw = str(call.input[INVALID_INPUT])
            shown = raw if len(raw) <= 200 else raw[:200] + "…"
            return _error(f"The input was not a complete JSON object, so nothing was run. It was: {shown}")
        try:
            given: Any = parse(tool.Input, call.input)
        except ToolError as error:
            return _error(str(error))
        touches = touches_of(tool, given)
        if why := self._copied(call, touches):
            return _error(why)
        verdict = self.gatekeeper.judge(tool.name, touches, not_read(tool.Input, call.input))
        return Ready(call, tool, given, touches, verdict)

    def _copied(self, call: ToolUse, touches: Touches | None) -> str:
        """Return why a call that would write a placeholder is refused, or ""."""
        changes = touches.changes if touches else ()
        into = (
            *changes,
            *(path for command in (touches.runs if touches else ()) for path in targets(command)),
        )

        def holds(mark: str) -> bool:
            cwd = self.context(approved=False, granted=False, reads=True).cwd
            may = (
                path for path in into if self.gatekeeper.judge("read", Touches(reads=(path,))).kind == "allow"
            )
            return any(mark in text for path in may for text in _texts(cwd / path))

        return copied(self.session.context, call, changes_files=bool(changes), holds=holds)

    async def _ruled(self, call: ToolUse) -> Ready | ToolOutput:
        """Parse and judge a call, and let hooks change its input, deny it, or answer for the user unless one of the
        user's rules asks."""
        ready = self._ready(call)
        if not self.hooks or not isinstance(ready, Ready):
            return ready
        ruling = await self.hooks.before_call(call)
        if ruling.changed is not None:
            again = self._ready(replace(call, input=ruling.changed))
            if not isinstance(again, Ready):
                text = "\n".join(block.text for block in again.content if isinstance(block, Text))
                return _error(f"A hook changed this call, and now it cannot run. {text}")
            ready = again
        verdict, overruled = ready.verdict, False
        match ruling.kind:
            case "deny":
                return _error(f"Not allowed by a hook: {ruling.reason}", denied=True, reason=ruling.reason)
            case "ask" if verdict.kind == "allow":
                why, overruled = ruling.reason or "a hook asks", True
                verdict = Verdict("ask", why, may_change_files=verdict.may_change_files)
            case "allow" if verdict.kind == "ask" and not verdict.firm:
                why = "a hook allows it"
                verdict = replace(verdict, kind="allow", reason=why, rules=(), granted=True, trial=False)
        return replace(ready, verdict=verdict, note=ruling.note, overruled=overruled)

    async def _one(self, ready: Ready) -> None:
        if ready.verdict.kind == "ask":
            waits = self.questions.locked()
            async with self.questions:
                if waits:
                    ready = self._again(ready)
                refused, approved = await self._refusal(ready)
        else:
            refused, approved = await self._refusal(ready)
        if refused is not None:
            self._record(ready.call, _Ended(refused))
            return
        if ready.verdict.may_change_files:
            if self.workbench and ready.touches and (ready.touches.changes or ready.touches.runs):
                async with self.workbench.in_use:
                    pass  # what a layer covers must not change below it
            await self.before_change(ready.call)
        await self._beside_each_other([ready], approved=approved)

    def _again(self, ready: Ready) -> Ready:
        """Judge a call again: an answer since then may decide it too."""
        again = ready if ready.overruled else self._ready(ready.call)
        return replace(again, note=ready.note) if isinstance(again, Ready) else ready

    def _start(self, ready: Ready) -> None:
        call = ready.call
        self.session.emit(ToolStarted(call.id, call.name, call.input, ready.touches))

    async def _beside_each_other(self, batch: Sequence[Ready], *, approved: bool = False) -> None:
        if not batch:
            return
        for ready in batch:
            self._start(ready)
        await asyncio.to_thread(self.session.commit)
        running = [asyncio.ensure_future(self._run(ready, approved=approved)) for ready in batch]
        waiting = [(ready.call, task) for ready, task in zip(batch, running, strict=True)]
        try:
            for call, task in list(waiting):
                await asyncio.wait({task})  # not `await task`: a canceled call may still succeed
                waiting.pop(0)
                self._record(call, task.result())
        except (asyncio.CancelledError, StorageFailed):
            await _stopped(running)
            self._record_finished(waiting)
            raise
        finally:
            await _stopped(running)

    def _record_finished(self, waiting: Sequence[tuple[ToolUse, asyncio.Task[_Ended]]]) -> None:
        """Record the calls that finished before the others were canceled. Raises StorageFailed after the last."""
        failed: StorageFailed | None = None
        for call, task in waiting:
            if not task.cancelled() and task.exception() is None:
                try:
                    self._record(call, task.result())
                except StorageFailed as error:
                    failed = error
        if failed:
            raise failed

    async def _refusal(self, ready: Ready) -> tuple[ToolOutput | None, bool]:
        """Return an error result, or None if the call may run; and whether the user approved the call."""
        verdict = ready.verdict
        if verdict.kind == "allow":
            return None, False
        if verdict.kind == "deny":
            return _error(f"Not allowed: {verdict.reason}", denied=True, reason=verdict.reason), False
        if isinstance(ready.tool, Checks) and (failed := await self._must_fail(ready, ready.tool)):
            return failed, False
        asked = Asked(ready.call, ready.touches, verdict.reason, verdict.rules, self.who)
        answer = await self.gatekeeper.ask(asked)
        if answer.kind != "deny":
            return None, True
        word = f" They said: {answer.word}" if answer.word else ""
        return _error(f"The user did not allow this.{word}", denied=True, reason=answer.word), False

    async def _must_fail(self, ready: Ready, tool: Checks) -> ToolOutput | None:
        """Return the error of a call that cannot succeed, so that nobody is asked about it; else None."""
        changes = ready.touches.changes if ready.touches else ()
        reads = [self.gatekeeper.judge("read", Touches(reads=(path,))).kind == "allow" for path in changes]
        context = self.context(approved=all(reads), granted=False, reads=True)
        try:
            await asyncio.to_thread(tool.check, ready.given, context)
        except ToolError as error:
            return _error(seen_in(str(error), context.cwd))
        return None

    async def _run(self, ready: Ready, *, approved: bool = False) -> _Ended:
        return await self._ended(
            ready, *await self.output_of(ready, self.context_of(ready, approved=approved))
        )

    def context_of(self, ready: Ready, *, approved: bool = False) -> ToolContext:
        call = ready.call
        return replace(
            self.context(
                approved=approved,
                granted=approved or ready.verdict.granted,
                reads=not ready.verdict.may_change_files,
            ),
            progress=lambda text: self.session.tell(ToolProgress(call.id, text)),
            so_far=lambda text: self.session.hold(call.id, text),
            call_id=call.id,
        )

    async def output_of(self, ready: Ready, context: ToolContext) -> tuple[ToolOutput, int]:
        """Run a call and return its output, and how many milliseconds it took."""
        begun = monotonic()
        try:
            output = await ready.tool.run(ready.given, context)
        except ToolError as error:
            output = _error(seen_in(str(error), context.cwd))
        except Exception as error:  # noqa: BLE001  # a defect of a tool must not end the run
            output = _error(f"The tool failed: {type(error).__name__}: {error}")
        duration = round((monotonic() - begun) * 1000)
        return bounded_output(output, context.limits.max_output_bytes), duration

    async def _ended(self, ready: Ready, output: ToolOutput, duration: int) -> _Ended:
        """Let hooks see the output of a call, and measure it."""
        call = ready.call
        if self.hooks:
            output = await self.hooks.after_call(call, output, ready.note)
        output = replace(output, content=shown(tuple(map(_well_formed, output.content))))
        result = ToolResult(call.id, call.name, output.content, output.is_error, output.details)
        measured = await self.measure(result, call, ready.touches, self.session.next_seq)
        return _Ended(output, duration, measured)

    async def begin(self, ready: Ready) -> None:
        """Record on disk that a call starts."""
        self._start(ready)
        await asyncio.to_thread(self.session.commit)

    async def finish(self, ready: Ready, output: ToolOutput, duration: int) -> None:
        """Record the result of a call."""
        self._record(ready.call, await self._ended(ready, output, duration))

    def _record(self, call: ToolUse, ended: _Ended) -> None:
        output, cut = ended.output, ended.measured.cut
        details: dict[str, Any] = well_formed_json(dict(output.details))
        if output.raw is not None and (blob := self._raw(output.raw)):
            details["raw"] = blob
        result = ToolResult(
            call.id,
            call.name,
            output.content,
            output.is_error,
            details,
            ended.duration,
            ended.measured.tokens,
        )
        seq = self.session.next_seq
        result = cut.of(result, seq) if cut else result
        if output.raw is not None:
            result = with_handle(result, seq if "raw" in details and "recall" in self.tools else None)
        self.session.keep(result)

    def _raw(self, data: bytes) -> Json:
        """Store the bytes behind a text beside the log; return None if that fails."""
        try:
            return self.session.keep_bytes(data)
        except StorageFailed:
            return None


def _error(text: str, **details: Json) -> ToolOutput:
    return ToolOutput((Text(well_formed(text)),), is_error=True, details=details)


def _well_formed(block: Block) -> Block:
    return Text(well_formed(block.text)) if isinstance(block, Text) else block


def _texts(path: Path) -> Iterator[str]:
    """Yield what a regular file says, and what the cells of a notebook say; nothing if it can't be read."""
    with suppress(OSError, ToolError, ValueError):
        data = path.read_bytes() if path.is_file() else b""
        yield charset_of(data, str(path)).decode(data)
        if is_notebook_name(str(path)):
            yield sources(data)
