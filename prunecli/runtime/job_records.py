"""Background commands in the log: their starts, and the ends reported to the model."""

import os
import re
from typing import TypeGuard

from prunecli.frozen import frozen
from prunecli.model.events import Record, Rewound, ToolResult, UserMessage
from prunecli.model.fields import MOST
from prunecli.model.messages import Json
from prunecli.model.notes import notice_parts
from prunecli.session.session import Session

_ID = re.compile("[0-9a-f]{12}")
_TITLE = "job {} ended"
_END = re.compile(r"\n\[(.*)\](?:\n|$)")


@frozen
class Began:
    """The start of a background command: its number in the session, its id, the time (unix ms) and the record."""

    number: int
    id: str
    command: str
    at: int
    seq: int


class JobRecords:
    """The jobs in one session's log. Each record is read once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.began: dict[int, Began] = {}
        self._told: dict[int, int] = {}
        self.ends: dict[int, str] = {}
        """The end of each job, as its notice described it."""
        self._read = 0
        self.last = 0

    def read(self) -> None:
        """Read the records added since the last call."""
        for record in self.session.records[self._read :]:
            self._take(record)
        self._read = len(self.session.records)

    @property
    def untold(self) -> tuple[Began, ...]:
        return tuple(one for one in self.began.values() if one.number not in self._told)

    def _take(self, record: Record) -> None:
        match record.event:
            case ToolResult(details=details):
                job, told = details.get("job"), details.get("jobs_told")
                if isinstance(job, dict) and _is_number(number := job.get("number")):
                    id_, command = str(job.get("id", "")), str(job.get("command", ""))
                    if _ID.fullmatch(id_):  # it names the folder of the output
                        self.began[number] = Began(number, id_, command, record.timestamp, record.seq)
                        self.last = max(self.last, number)
                for number in filter(_is_number, told if isinstance(told, list) else ()):
                    self._told[number] = record.seq
            case UserMessage(origin="command") as message:
                title, text = notice_parts(message) or ("", "")
                for number, began in self.began.items():
                    if title == title_of(number):
                        self._told[number] = record.seq
                        end = _END.match(text.removeprefix(began.command))
                        self.ends[number] = end[1] if end else ""
            case Rewound(to_seq):
                self.began = {number: one for number, one in self.began.items() if one.seq <= to_seq}
                self._told = {number: seq for number, seq in self._told.items() if seq <= to_seq}
            case _:
                pass


def new_id() -> str:
    return os.urandom(6).hex()


def _is_number(value: Json) -> TypeGuard[int]:
    return type(value) is int and 0 < value <= MOST


def title_of(number: int) -> str:
    return _TITLE.format(number)
