"""Saves the output of the running call beside the log until the call ends.

A result is recorded when its call ends. Without this module, a crash would lose the output until then. So the running
tool hands over its output about twice a second, and it is kept in `<id>.running`: one small file, replaced as a whole
and never synced. The file is never folded or sent. If Esc or a crash interrupts the call, the text becomes part of
the recorded result; from then on only the log counts.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from prunecli.context import render
from prunecli.context.exchange import Exchange
from prunecli.context.state import Context
from prunecli.model.codec import strict_loads, well_formed
from prunecli.model.events import AssistantMessage, Event, Record, RequestSent, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import TASK
from prunecli.util.private_file import write_private
from prunecli.util.regular import open_regular

SUFFIX = ".running"
USER_COMMAND = "!"
"""Prefix of the key of a command that the user typed. Call ids never contain it."""

_MOST_BYTES = 4_000_000


Shorten: TypeAlias = Callable[[Event, int, Context], Event]
"""(the event, its seq, the session's context) -> the event to record."""


def whole(event: Event, _: int, __: Context) -> Event:
    return event


class RunningOutput:
    """The output of the running call. `key` is the call's id, or the user's command with its `!`.

    `since` is the seq of the last record when the call began. `in_command`: the user's command runs now.
    `shorten` selects the part of an interrupted call's output that is sent. The file is best effort: if it cannot be
    written, the text is kept in memory only.
    """

    def __init__(self, log: Path | None) -> None:
        self.log = log
        self.key = ""
        self.text = ""
        self.since = -1
        self.in_command = False
        self.shorten: Shorten = whole

    @property
    def path(self) -> Path | None:
        """The output's file; None for a session without a file."""
        return self.log.with_suffix(SUFFIX) if self.log else None

    def hold(self, key: str, text: str, records: Sequence[Record]) -> None:
        """Keep this output instead of the previous one. `records` are the session's."""
        if key != self.key:
            self.key, self.since = key, records[-1].seq if records else -1
        self.text = well_formed(text)
        if self.path is not None:
            value = {"key": well_formed(key), "since": self.since, "text": self.text}
            with suppress(OSError):
                write_private(self.path, json.dumps(value).encode())

    def read(self) -> None:
        """Load what a crashed process left in the file, if anything."""
        value = _read(self.path) if self.path else None
        match value:
            case {"key": str(key), "since": int(since), "text": str(text)}:
                self.key, self.since, self.text = key, since, text
            case _:
                pass

    def take_over(self, other: "RunningOutput", at: int | None) -> None:
        """Copy the other's output for a copy of the session, unless the copy ends at an earlier record."""
        self.shorten = other.shorten
        if at is None:
            self.key, self.text, self.since = other.key, other.text, other.since

    def interrupted(
        self, exchange: Exchange | None, records: Sequence[Record], *, continuing: bool = False
    ) -> list[Event]:
        """Return the events to record for unfinished work.

        These are results for calls in progress, and the user's command unless the records already contain its end. If
        `continuing`, started tasks are excluded: they have their own logs and go on with the session.
        """
        calls = _ending(exchange) if continuing else exchange.unanswered if exchange else ()
        events: list[Event] = [*self._results(exchange, calls, ours=_is_ours(exchange, records))]
        said = (record.seq for record in reversed(records) if _is_said(record.event))
        if self.key.startswith(USER_COMMAND) and next(said, -1) <= self.since:
            printed = render.interrupted_text(self.text)
            events.append(UserMessage((Text(self.key), Text(printed)), "command"))
        return events

    def interrupted_calls(self, exchange: Exchange | None) -> list[ToolResult]:
        """Return results for started calls that have none and cannot go on."""
        calls = [call for call in _ending(exchange) if exchange and call.id in exchange.started]
        return self._results(exchange, calls)

    def _results(
        self, exchange: Exchange | None, calls: Sequence[ToolUse], *, ours: bool = False
    ) -> list[ToolResult]:
        """Return results for interrupted calls. Of `ours`, those without a recorded start did not run."""
        tool_results: list[ToolResult] = []
        for call in calls:
            if ours and exchange is not None and call.id not in exchange.started:
                details = {"interrupted": True, "started": False}
                content = (Text(render.NOT_RUN),)
                tool_results.append(ToolResult(call.id, call.name, content, is_error=True, details=details))
                continue
            mine = call.id == self.key and exchange is not None and self.since >= exchange.seq
            content = (Text(render.interrupted_text(self.text if mine else "")),)
            details = {"interrupted": True}
            tool_results.append(ToolResult(call.id, call.name, content, is_error=True, details=details))
        return tool_results

    def recorded(self, event: Event) -> None:
        """Discard the output once an event with the outcome of the call is recorded."""
        match event:
            case ToolResult(tool_use_id) if tool_use_id == self.key:
                self.forget()
            case UserMessage(origin="command", restores=()) if self.key.startswith(USER_COMMAND):
                self.forget()
            case _:
                pass

    def forget(self) -> None:
        self.key = self.text = ""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()


def _ending(exchange: Exchange | None) -> list[ToolUse]:
    """Return the calls that a crash ended without a result: all except started tasks."""
    calls = exchange.unanswered if exchange else ()
    return [call for call in calls if not (call.name == TASK and exchange and call.id in exchange.started)]


def _is_ours(exchange: Exchange | None, records: Sequence[Record]) -> bool:
    """Return whether this program asked for the calls, and so recorded each start."""
    for record in reversed(records):
        if exchange is None or record.seq >= exchange.seq:
            continue
        if isinstance(record.event, RequestSent):
            return True
        if isinstance(record.event, AssistantMessage | UserMessage):
            return False
    return False


def _is_said(event: Event) -> bool:
    """Return whether the event is a message or command of the user. A `/restore` may come while a command runs."""
    return isinstance(event, UserMessage) and not event.restores


def _read(path: Path) -> object:
    """Return the value in a file; None if it is missing or unusable."""
    try:
        with open_regular(path, follow=False) as file:
            value: object = strict_loads(file.read(_MOST_BYTES))
            return value
    except (OSError, ValueError):
        return None
