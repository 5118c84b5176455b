"""The moments at which hooks may act on a run: the interface between the agent and the code that runs hooks.

A run without hooks uses None, which costs nothing. Each change by a hook becomes a record: a message that is not
sent, a call with another input or an error as its result, a pin in place of a prune.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

from prunecli.agent.decide import Mailbox
from prunecli.agent.journal import Journal
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Json, ToolUse
from prunecli.tools.tool import ToolOutput
from prunecli.util.frozen import frozen


@frozen
class Ruling:
    """The ruling of hooks on a call: a decision ("" for none), its reason, a replaced input, and a note for the
    model."""

    kind: Literal["", "allow", "ask", "deny"] = ""
    reason: str = ""
    changed: Mapping[str, Json] | None = None
    note: str = ""


class Hooks(Protocol):
    """The hooks of one session. Each method waits for its hooks, but never longer than their time limits."""

    @property
    def stop(self) -> str | None:
        """The reason why a hook ended the run, None if none did. The run clears it after reading."""

    async def admits(self, message: UserMessage) -> bool:
        """Return whether a message that came while the agent worked may be sent."""

    async def before_call(self, call: ToolUse) -> Ruling:
        """Return the ruling of the hooks on a call, before the permission rules judge it."""

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        """Return the output of a call, with the notes of hooks and of the ruling appended."""

    async def before_prunes(self, prunes: Sequence[PrunApplied]) -> Sequence[Event]:
        """Return the events to record for decided prunes: the prunes themselves, or pins that keep their targets."""

    async def before_compaction(self, trigger: Literal["auto", "manual"], focus: str) -> bool:
        """Return whether a compaction may begin."""

    async def after_compaction(self) -> None:
        """Run the hooks for a recorded compaction."""

    async def before_stop(self) -> UserMessage | None:
        """Return the message that keeps the agent working, or None."""


class Chain:
    """Several hooks in order. The first decision about a call stands, but a denial always does; changes add up."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = hooks

    @property
    def stop(self) -> str | None:
        reasons = [why for each in self._hooks if (why := each.stop) is not None]
        return reasons[0] if reasons else None

    async def admits(self, message: UserMessage) -> bool:
        return all([await each.admits(message) for each in self._hooks])

    async def before_call(self, call: ToolUse) -> Ruling:
        ruling = Ruling()
        for each in self._hooks:
            now = await each.before_call(replace(call, input=ruling.changed or call.input))
            decides = now.kind == "deny" or not ruling.kind
            ruling = Ruling(
                now.kind if decides else ruling.kind,
                now.reason if decides else ruling.reason,
                ruling.changed if now.changed is None else now.changed,
                "\n".join(filter(None, (ruling.note, now.note))),
            )
            if ruling.kind == "deny":
                break
        return ruling

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        for at, each in enumerate(self._hooks):
            output = await each.after_call(call, output, note if at == 0 else "")
        return output

    async def before_prunes(self, prunes: Sequence[PrunApplied]) -> Sequence[Event]:
        """Stop at the first that changes the prunes: strategies then decide again."""
        for each in self._hooks:
            events = await each.before_prunes(prunes)
            if list(events) != list(prunes):
                return events
        return prunes

    async def before_compaction(self, trigger: Literal["auto", "manual"], focus: str) -> bool:
        return all([await each.before_compaction(trigger, focus) for each in self._hooks])

    async def after_compaction(self) -> None:
        for each in self._hooks:
            await each.after_compaction()

    async def before_stop(self) -> UserMessage | None:
        for each in self._hooks:
            if (message := await each.before_stop()) is not None:
                return message
        return None


class Recordable(Protocol):
    """Something that is recorded once its seq is known."""

    def at(self, seq: int) -> UserMessage:
        """Return the event to record at `seq`."""


Attach: TypeAlias = Callable[[UserMessage], Awaitable[Sequence[Recordable]]]
"""A function that reads the files mentioned in a message."""


async def deliver(
    session: Journal,
    mailbox: Mailbox,
    messages: Sequence[UserMessage],
    hooks: Hooks | None,
    attach: Attach | None = None,
) -> None:
    """Record messages from the mailbox with the content they mention, except messages that a hook blocks."""
    for message in messages:
        if hooks is None or message.origin == "command" or await hooks.admits(message):
            mentioned = await attach(message) if attach and message.origin != "command" else ()
            session.emit(await mailbox.complete(message) if mailbox.complete else message)
            for one in mentioned:
                session.emit(one.at(session.next_seq))
        mailbox.taken((message,))
