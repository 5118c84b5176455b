"""The output so far of the call that is running, kept beside the log until the call is over.

A result is recorded when its call ends. Until then the output would be lost with the program, so the running tool
hands over what it has, about twice a second, and `<id>.running` holds it: one small file, replaced as a whole and
never synced. Nothing folds or sends it. When the call turns out to be interrupted, by Esc or by the end of the
program, its text goes into the recorded result; from then on the log alone tells the story.
"""

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from prunecli.context import render
from prunecli.context.exchange import Exchange
from prunecli.model.codec import strict_loads, well_formed
from prunecli.model.events import Event, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse

SUFFIX = ".running"
USER_COMMAND = "!"
"""Begins the key of a command that the user typed; no id of a call has this character."""

_MOST_BYTES = 4_000_000


class RunningOutput:
    """What the running call has printed. `key` is the call's id, or the user's command with its `!`.

    `since` is the seq of the last record when it began. The file is a help, not a promise: where it can't be
    written the text is kept in memory alone.
    """

    def __init__(self, log: Path | None) -> None:
        self.log = log
        self.key = ""
        self.text = ""
        self.since = -1

    @property
    def path(self) -> Path | None:
        """Its file; None for a session without one."""
        return self.log.with_suffix(SUFFIX) if self.log else None

    def hold(self, key: str, text: str, records: Sequence[Record]) -> None:
        """Keeps the output so far in place of what was kept before. `records` are those of the session."""
        if key != self.key:
            self.key, self.since = key, records[-1].seq if records else -1
        self.text = well_formed(text)
        if self.path is not None:
            value = {"key": well_formed(key), "since": self.since, "text": self.text}
            with suppress(OSError):
                _replace(self.path, json.dumps(value).encode())

    def read(self) -> None:
        """Takes over what a program that is no more left in the file, if anything."""
        value = _read(self.path) if self.path else None
        match value:
            case {"key": str(key), "since": int(since), "text": str(text)}:
                self.key, self.since, self.text = key, since, text
            case _:
                pass

    def take_over(self, other: "RunningOutput", at: int | None) -> None:
        """Knows what the other knows: for a copy of the session, unless that ends at an earlier record."""
        if at is None:
            self.key, self.text, self.since = other.key, other.text, other.since

    def interrupted(self, exchange: Exchange | None, records: Sequence[Record]) -> list[Event]:
        """What is recorded of all that did not finish: calls of the exchange in progress without a result, and a
        command of the user's, unless the records of the session say already how it ended."""
        found: list[Event] = [*self._results(exchange, exchange.unanswered if exchange else ())]
        said = (record.seq for record in reversed(records) if _is_said(record.event))
        if self.key.startswith(USER_COMMAND) and next(said, -1) <= self.since:
            printed = render.interrupted_text(self.text)
            found.append(UserMessage((Text(self.key), Text(printed)), "command"))
        return found

    def interrupted_calls(self, exchange: Exchange | None) -> list[ToolResult]:
        """The results of those calls that were started and have none."""
        calls = exchange.unanswered if exchange else ()
        return self._results(exchange, [call for call in calls if exchange and call.id in exchange.started])

    def _results(self, exchange: Exchange | None, calls: Sequence[ToolUse]) -> list[ToolResult]:
        found: list[ToolResult] = []
        for call in calls:
            mine = call.id == self.key and exchange is not None and self.since >= exchange.seq
            content = (Text(render.interrupted_text(self.text if mine else "")),)
            details = {"interrupted": True}
            found.append(ToolResult(call.id, call.name, content, is_error=True, details=details))
        return found

    def recorded(self, event: Event) -> None:
        """An event is in the log: where it says how the call ended, nothing has to be kept any more."""
        match event:
            case ToolResult(tool_use_id) if tool_use_id == self.key:
                self.forget()
            case UserMessage(origin="command", restores=()) if self.key.startswith(USER_COMMAND):
                self.forget()
            case _:
                pass

    def forget(self) -> None:
        """Removes what is kept, also from the disk."""
        self.key = self.text = ""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()


def _is_said(event: Event) -> bool:
    """Whether the user said or ran something; a `/restore` may come while a command of theirs runs."""
    return isinstance(event, UserMessage) and not event.restores


def _replace(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all. Raises OSError."""
    begun = path.with_name(f"{path.name}.part")
    descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(begun, path)
    except OSError:
        with suppress(OSError):
            begun.unlink()
        raise


def _read(path: Path) -> object:
    """The value of a file; None where there is none, or nothing that can be used."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            value: object = strict_loads(file.read(_MOST_BYTES))
            return value
    except (OSError, ValueError):
        return None
