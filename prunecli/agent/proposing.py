"""Runs the commands of one round before the user is asked, on a layer over the workspace; asks about what they did.

Commands in a row share a layer and get one question. Their results wait for the answer. A command that a wall of the
sandbox stopped is asked about at once; after Yes, the layer is dropped and the round's commands run again, so nothing
happens twice. Before any other call, and at the end of the round, the layer is applied or dropped.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from prunecli.agent.asking import Answer, Asked
from prunecli.model.messages import Json, Text
from prunecli.model.touches import Touches
from prunecli.tools.bash import Bash
from prunecli.tools.processes.sandboxing import NOTHING, Blocked, Sandboxing
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted

if TYPE_CHECKING:
    from prunecli.agent.execute import Executor, Ready
    from prunecli.safety.proposals.changes import Proposal

DROPPED = "your changes were dropped"
PLAN = f"plan mode: {DROPPED}"
READ_ONLY = "ran with the workspace read-only"
_UNANSWERED = f"interrupted before the user answered, so {DROPPED}"


class Layer(Protocol):
    """A layer over the workspace. All methods but `confine` may block."""

    @property
    def confine(self) -> Sandboxing:
        """Puts a command into the sandbox, with the layer in place of the workspace."""

    @property
    def keeps_changes(self) -> bool:
        """Whether commands can write: without overlays, the workspace is read-only."""

    def freeze(self) -> "Proposal":
        """Return what the commands changed. Raises ToolError."""

    def apply(self, proposal: "Proposal") -> Sequence[str]:
        """Apply the frozen changes, or none and return the paths that others changed meanwhile. Raises ToolError."""

    def close(self) -> None:
        """Drop the layer."""


class Workbench(Protocol):
    """Where commands are tried."""

    @property
    def in_use(self) -> asyncio.Lock:
        """Held while a layer exists: other changes of the workspace wait."""

    def layer(self) -> Layer:
        """Return a new layer. May block. Raises ToolError."""

    def again(self, blocked: Blocked) -> Sandboxing:
        """Return the function that confines an approved command with what it lacked before."""


@dataclass(slots=True)
class _Tried:
    """A command that ran on the layer, and its output so far."""

    ready: "Ready"
    output: ToolOutput
    duration: int

    @property
    def kind(self) -> str:
        """The verdict about its changes."""
        return self.ready.verdict.kind


class Proposing:
    """The tried commands of one round. Without a `workbench`, none is tried."""

    def __init__(self, executor: "Executor", workbench: Workbench | None) -> None:
        self._executor = executor
        self._workbench = workbench
        self._layer: Layer | None = None
        self._held: list[_Tried] = []
        self._proposal: Proposal | None = None
        self._is_alone = False

    def takes(self, ready: "Ready") -> bool:
        """Return whether a call runs on the layer: one to try, or one that only reads what may be there."""
        verdict = ready.verdict
        if not isinstance(ready.tool, Bash) or getattr(ready.given, "background", False):
            return False
        only_reads = verdict.kind == "allow" and not verdict.may_change_files and not verdict.granted
        return verdict.trial or (only_reads and bool(self._held))

    async def run(self, ready: "Ready") -> bool:
        """Run a call on the layer; return False if there can be none."""
        if any({tried.kind, ready.verdict.kind} == {"ask", "deny"} for tried in self._held):
            await self.settle()  # the user left plan mode, or entered it
        if self._layer is None and not await self._opened():
            return False
        await self._executor.begin(ready)
        try:
            await self._try(ready)
        except ToolError as error:
            await self._drop(f"{DROPPED}: {error}", always=True)
            await self._close()
            return True
        wall = self._wall()
        if wall.harm and ready.verdict.kind == "ask":
            await self._stopped(wall)
        elif self._proposal is None:
            await self._record_all()
        return True

    async def _opened(self) -> bool:
        """Make a layer, after those of other agents; return False if there can be none."""
        if self._workbench is None:
            return False
        if not self._is_alone:
            await self._workbench.in_use.acquire()
            self._is_alone = True
        try:
            self._layer = await asyncio.to_thread(self._workbench.layer)
        except ToolError:
            await self._close()
        return self._layer is not None

    async def _try(self, ready: "Ready") -> None:
        """Run a call on the layer, and look at what the layer then holds. Raises ToolError if that can't be read."""
        assert self._layer is not None  # noqa: S101
        context = self._executor.context_of(ready)
        parts = {
            name: part for name, part in context.parts.items() if name != "jobs"
        }  # it can't outlive the layer
        context = replace(context, confine=self._layer.confine, parts=parts)
        tried = _Tried(ready, *await self._executor.output_of(ready, context))
        self._held.append(tried)
        if not self._layer.keeps_changes:
            tried.output = _noted(tried.output, READ_ONLY)
            return
        proposal = await asyncio.to_thread(self._layer.freeze)
        self._proposal = proposal if proposal.changes or proposal.refused or proposal.stale else None

    def _wall(self) -> Blocked:
        """Return what stopped the last command, or what it changed that can't be applied."""
        blocked = self._held[-1].output.blocked
        if blocked.harm or self._proposal is None or not self._proposal.refused:
            return blocked
        path, why = self._proposal.refused[0]
        return Blocked(harm=f"changes {path}, which {why}")

    async def settle(self) -> bool:
        """Ask about the changes that wait, and apply or drop them. Return whether there were any."""
        waited = bool(self._held)
        try:
            while self._held:
                await self._settle()
        except ToolError as error:
            await self._drop(f"{DROPPED}: {error}", always=True)
        await self._close()
        return waited

    async def _settle(self) -> None:
        """Ask once; afterwards, commands are held only if they ran again. Raises ToolError."""
        layer, proposal = self._layer, self._proposal
        assert layer is not None and proposal is not None  # noqa: S101, PT018
        if any(tried.kind == "deny" for tried in self._held):
            await self._drop(PLAN)
            return
        stale: Sequence[str] = proposal.stale
        if not stale:
            answer = await self._ask(f"made {counted(len(proposal.changes), 'change')}", proposal=proposal)
            if answer.kind == "deny":
                await self._drop(DROPPED, answer)
                return
            await self._executor.before_change(self._held[0].ready.call)
            stale = await asyncio.to_thread(layer.apply, proposal)
        if not stale:
            await self._record_all()
            return
        more = f" and {counted(len(stale) - 1, 'more file')}" if len(stale) > 1 else ""
        changed = f"{stale[0]}{more} changed meanwhile"
        answer = await self._ask(f"nothing was applied: {changed}", again=True)
        if answer.kind == "deny":
            await self._drop(f"{DROPPED}, because {changed}", answer)
            return
        held, self._held = self._held, []
        await self._renew()
        for tried in held:
            await self._try(tried.ready)
        if self._proposal is None:
            await self._record_all()

    async def _stopped(self, wall: Blocked) -> None:
        """Ask about a command that a wall stopped, and run the round's commands again with what it lacked."""
        assert self._workbench is not None  # noqa: S101
        last = self._held[-1]
        answer = await self._ask(wall.harm, blocked=wall, again=True)
        if answer.kind == "deny":
            last.output = _refused(last.output, "not run again: the user did not allow it", answer, dropped=0)
            await self._drop(DROPPED)
            return
        held, self._held = self._held, []
        await self._drop_layer()
        await self._executor.before_change(last.ready.call)
        for tried in held:
            ready = tried.ready
            context = self._executor.context_of(ready, approved=tried.kind == "ask")
            if tried is last:
                context = replace(context, confine=self._workbench.again(wall))
                outside = wall.outside and hasattr(ready.given, "outside")
                ready = replace(ready, given=replace(ready.given, outside=True)) if outside else ready
            await self._executor.finish(ready, *await self._executor.output_of(ready, context))

    async def _ask(
        self,
        reason: str,
        *,
        proposal: "Proposal | None" = None,
        blocked: Blocked = NOTHING,
        again: bool = False,
    ) -> Answer:
        asking = [tried.ready for tried in self._held if tried.kind == "ask"]
        commands = tuple(line for ready in asking if ready.touches for line in ready.touches.runs)
        rules = tuple(dict.fromkeys(rule for ready in asking for rule in ready.verdict.rules))
        if blocked.network or blocked.reads or blocked.outside:
            rules = ()  # a rule would not open that wall
        touches = Touches(runs=commands)
        who = self._executor.who
        asked = Asked(asking[-1].call, touches, reason, rules, who, proposal, again, blocked)
        async with self._executor.questions:
            return await self._executor.gatekeeper.ask(asked)

    # The end of a layer --------------------------------------------------------------------------------------

    async def _drop(self, why: str, answer: Answer | None = None, *, always: bool = False) -> None:
        """Record the results of the commands, which the model gets without their changes, and drop the layer.
        `always`: there may be changes that nobody has seen."""
        changes = len(self._proposal.changes) if self._proposal else 0
        for tried in self._held:
            if tried.kind == "allow" or not (self._proposal or always):
                continue
            if answer:
                why_not = f"{why}: the user did not allow them"
                tried.output = _refused(tried.output, why_not, answer, dropped=changes)
            else:
                tried.output = _noted(tried.output, why, dropped=changes)
        await self._record_all()
        await self._drop_layer()  # the next command must not find them

    async def _record_all(self) -> None:
        held, self._held = self._held, []
        for tried in held:
            await self._executor.finish(tried.ready, tried.output, tried.duration)

    async def _renew(self) -> None:
        """Replace the layer by an empty one. Raises ToolError."""
        assert self._workbench is not None  # noqa: S101
        await self._drop_layer()
        self._layer = await asyncio.to_thread(self._workbench.layer)

    async def _drop_layer(self) -> None:
        layer, self._layer, self._proposal = self._layer, None, None
        if layer is not None:
            await asyncio.to_thread(layer.close)

    async def _close(self) -> None:
        """Drop the layer, and let others change the workspace."""
        await self._drop_layer()
        if self._is_alone and self._workbench:
            self._is_alone = False
            self._workbench.in_use.release()

    async def close(self) -> None:
        """Drop what waits when the round is canceled; after `settle`, nothing does."""
        try:
            if self._held:
                await self._drop(_UNANSWERED)
        finally:
            await self._close()


def _refused(output: ToolOutput, why: str, answer: Answer, **details: Json) -> ToolOutput:
    said = f". They said: {answer.word}" if answer.word else ""
    noted = _noted(output, why + said, denied=True, reason=answer.word, **details)
    return replace(noted, is_error=True)


def _noted(output: ToolOutput, line: str, **details: Json) -> ToolOutput:
    """Return the output with a line at its end."""
    *before, last = output.content or (Text(""),)
    if isinstance(last, Text):
        content = (*before, Text(f"{last.text}{'' if last.text.endswith(chr(10)) else chr(10)}[{line}]"))
    else:
        content = (*before, last, Text(f"[{line}]"))
    return replace(output, content=content, details={**output.details, **details})
