"""The moments at which hooks may act on a run: the interface between the agent and whoever runs them.

A run without hooks has None, which costs nothing. What a hook changes becomes a record: a message that is not sent, a
call with another input or an error for an answer, a pin in place of a prune.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from prunecli.agent.decide import Mailbox
from prunecli.agent.journal import Journal
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Json, ToolUse
from prunecli.tools.tool import ToolOutput


@dataclass(frozen=True, slots=True)
class Ruling:
    """What hooks say about a call: a decision, "" for none; its reason; another input; a note for the model."""

    kind: Literal["", "allow", "ask", "deny"] = ""
    reason: str = ""
    changed: Mapping[str, Json] | None = None
    note: str = ""


class Hooks(Protocol):
    """The hooks of one session. Each method waits for them, but never longer than their time limits."""

    @property
    def stop(self) -> str | None:
        """Why a hook ended the run, None if none did. The reader clears it."""
        ...

    async def admits(self, message: UserMessage) -> bool:
        """Whether a message that came while the agent worked may be sent."""
        ...

    async def before_call(self, call: ToolUse) -> Ruling:
        """Rule on a call before it is judged."""
        ...

    async def after_call(self, call: ToolUse, output: ToolOutput, note: str) -> ToolOutput:
        """The output of a call with what hooks have to say, and the note of the ruling."""
        ...

    async def before_prunes(self, prunes: Sequence[PrunApplied]) -> Sequence[Event]:
        """What to record for decided prunes: themselves, or what keeps their targets."""
        ...

    async def before_compaction(self, trigger: Literal["auto", "manual"], focus: str) -> bool:
        """Whether a compaction may begin."""
        ...

    async def after_compaction(self) -> None:
        """A compaction was recorded."""
        ...

    async def before_stop(self) -> UserMessage | None:
        """The message that keeps the agent working, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Overruled:
    """A verdict after a hook's ruling (`execute.Verdict`)."""

    kind: Literal["allow", "ask", "deny"]
    reason: str
    rule: str
    may_change_files: bool
    granted: bool = False
    firm: bool = False


class Recordable(Protocol):
    """What is recorded once its seq is known."""

    def at(self, seq: int) -> UserMessage:
        """The event as it is recorded at `seq`."""
        ...


Attach: TypeAlias = Callable[[UserMessage], Awaitable[Sequence[Recordable]]]
"""Reads what a message mentions."""


async def deliver(
    session: Journal,
    mailbox: Mailbox,
    messages: Sequence[UserMessage],
    hooks: Hooks | None,
    attach: Attach | None = None,
) -> None:
    """Record messages from the mailbox, completed and with what they mention, except those that a hook blocks."""
    for message in messages:
        if hooks is None or message.origin == "command" or await hooks.admits(message):
            mentioned = await attach(message) if attach and message.origin != "command" else ()
            session.emit(await mailbox.complete(message) if mailbox.complete else message)
            for one in mentioned:
                session.emit(one.at(session.next_seq))
        mailbox.taken((message,))
