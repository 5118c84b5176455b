"""The facts about a session that lists show, gathered line by line. Only a quarter of the records are decoded.

Reading can resume where it stopped, so a session that has grown costs only its new lines.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    Record,
    SessionStarted,
    SettingChanged,
    UserMessage,
)
from prunecli.model.messages import Blob, Block, Json, Usage, plain_text
from prunecli.model.notes import TYPED, without_notes
from prunecli.model.record_codec import decode_record
from prunecli.session.titles import TITLE, title_of, without_tags
from prunecli.util.figures import short

PROMPT_CHARS = 300
LONG_PROMPTS = (100_000, 200_000, 272_000)
"""Prompt tokens above which some models have other prices."""
_HEAD = re.compile(rb'(?:\xef\xbb\xbf)?\{"seq":(\d{1,15}),"timestamp":(\d{1,15}),"type":"(\w{1,40})"')
_TELLING = frozenset(
    {b"SessionStarted", b"UserMessage", b"AssistantMessage", b"CompactionApplied", b"AttemptBilled"}
)
_SETTING = re.compile(rb'"key":"(session\.name|session\.title|prompt\.typed|model\.prices)"')
_ENTRIES = frozenset({b"UserMessage", b"AssistantMessage", b"ToolResult"})


def begins_record(line: bytes) -> bool:
    """Return whether a line looks like a prunecli record, damaged or not."""
    return _HEAD.match(line, 0, 160) is not None


def whole_record(line: bytes) -> Record | None:
    """Return the record on a line, or None if it is damaged or incomplete."""
    try:
        return decode_record(line.strip(b"\r\n\0").removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None


def is_task(event: Event) -> bool:
    """Return whether this event starts a session that is a task of another session."""
    return isinstance(event, SessionStarted) and bool(event.parent and event.parent.get("tool_use_id"))


def _large(content: Iterable[Block]) -> str:
    """Return a title for a prompt that is stored beside the log, "" for any other prompt."""
    size = sum(
        block.bytes for block in content if isinstance(block, Blob) and block.media_type == "text/plain"
    )
    return f"({short(size)}B of text)" if size else ""


@dataclass(slots=True)
class Digest:
    """The facts about a session. Times are in unix ms.

    `spent` maps each model to [requests, input, output, cache read, cache written] in tokens, and if there are any,
    searches and the tokens written for an hour; `spent_above` counts only prompts of more than one of LONG_PROMPTS
    tokens, by that number and the model ("200000 gpt-5.5").
    A copy does not count again what its original has spent.
    `prices` are those that the session recorded (the setting `model.prices`). `context` is the prompt tokens of the
    last request; `prompts` and `entries` are counts. `subject` is the title of the first prompt that has one, in a
    copy of the first since then (`subject_at` is its seq); `topic` is a model's title, and `typed` the line of a
    command whose prompt comes next. `task` is the id of the parent's call that started this task, ""
    for other sessions. `id` is empty if the file is not a session or its first record is damaged; in the second case,
    `entries` is not 0.
    """

    id: str = ""
    cwd: str = ""
    name: str = ""
    first: str = ""
    last: str = ""
    subject: str = ""
    subject_at: int = -1
    topic: str = ""
    typed: str = ""
    parent: str = ""
    parent_at: int = -1
    task: str = ""
    started: int = 0
    changed: int = 0
    prompts: int = 0
    entries: int = 0
    context: int = 0
    spent: dict[str, list[int]] = field(default_factory=dict)
    spent_above: dict[str, list[int]] = field(default_factory=dict)
    prices: dict[str, Json] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the session is about, in a few words."""
        return (
            self.topic
            or self.subject
            or title_of(self.first)
            or without_tags(self.first).split("\n", 1)[0][:80]
        )

    @property
    def head(self) -> str:
        """What the last prompt asks for, "" if that is the title."""
        last = title_of(self.last)
        return last if last != self.title else ""

    @property
    def is_copy(self) -> bool:
        return bool(self.parent) and not self.task and not self.is_handoff

    @property
    def is_handoff(self) -> bool:
        """Whether it goes on from its parent without copying a record."""
        return bool(self.parent) and not self.task and self.parent_at < 0

    def usage(self) -> Mapping[str, Usage]:
        return {model: Usage(*counts[1:]) for model, counts in self.spent.items()}

    def usage_above(self, tokens: int, model: str) -> Usage:
        """Return the part of a model's `usage` from prompts of more than this many tokens, one of LONG_PROMPTS."""
        return Usage(*self.spent_above.get(f"{tokens} {model}", ())[1:])

    def take(self, line: bytes) -> bool:
        """Process the next line of the file. Return False if it is not a record of a session."""
        head = _HEAD.match(line, 0, 160)
        if head is None:
            return False
        kind = head[3]
        if kind in _TELLING or (kind == b"SettingChanged" and _SETTING.search(line, 0, 160)):
            record = whole_record(line)
            if record is None:
                return False
            self.take_record(record)
        self.changed = max(self.changed, int(head[2]))
        self.entries += kind in _ENTRIES
        return True

    def take_record(self, record: Record) -> None:
        match record.event:
            case SessionStarted(id_, cwd, _, _, parent) if not self.id:
                self.id, self.cwd, self.started = id_, cwd, record.timestamp
                origin = parent if isinstance(parent, dict) else {}
                at = origin.get("seq")
                self.parent, self.parent_at = str(origin.get("id") or ""), at if type(at) is int else -1
                self.task = str(origin.get("tool_use_id") or "")
            case UserMessage(content, came) if came not in ("command", "attachment"):
                words = (
                    self.typed or plain_text(without_notes(content)).strip()[:PROMPT_CHARS] or _large(content)
                )
                self.typed = ""
                is_later = self.is_copy and self.subject_at <= self.parent_at < record.seq
                if (not self.subject or is_later) and (subject := title_of(words)):
                    self.subject, self.subject_at = subject, record.seq
                self.first = self.first or words
                self.last = words or self.last
                self.prompts += 1
            case AssistantMessage(model=model, usage=usage):
                self._spend(record.seq, model, usage)
                self.context = usage.prompt_tokens or self.context
            case CompactionApplied(model=model, usage=usage) | AttemptBilled(model=model, usage=usage):
                self._spend(record.seq, model, usage)
            case SettingChanged("session.name", value):
                self.name = str(value or "")
            case SettingChanged(key, str(value)) if key in (TITLE, TYPED):
                self.topic, self.typed = (value, self.typed) if key == TITLE else (self.topic, value)
            case SettingChanged("model.prices", value) if isinstance(value, dict):
                self.prices = value
            case _:
                pass

    def _spend(self, seq: int, model: str, usage: Usage) -> None:
        is_copied = seq <= self.parent_at and not self.task
        if is_copied or not usage.prompt_tokens:
            return
        hour = usage.cache_1h_input_tokens or 0
        found = (
            1,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            *([usage.web_search_requests or 0, hour] if usage.web_search_requests or hour else []),
        )
        longer = [
            (self.spent_above, f"{above} {model}") for above in LONG_PROMPTS if usage.prompt_tokens > above
        ]
        for sums, key in ((self.spent, model), *longer):
            sums[key] = [old + new for old, new in zip_longest(sums.get(key, []), found, fillvalue=0)]

    def to_text(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> "Digest":
        """Parse the text from `to_text`. Raises ValueError for anything else."""
        value: Json = json.loads(text)
        if not isinstance(value, dict) or {name: type(item) for name, item in value.items()} != _KINDS:
            raise ValueError("not a digest")
        return Digest(**value)


class Titled:
    """The title of the session that is open, from its growing list of records."""

    def __init__(self) -> None:
        self._records: Sequence[Record] = ()
        self._digest, self._read = Digest(), 0

    def title(self, records: Sequence[Record]) -> str:
        """Return the name, or what the session is about; "" before the first prompt."""
        if records is not self._records:
            self._records, self._digest, self._read = records, Digest(), 0
        for record in records[self._read :]:
            self._digest.take_record(record)
        self._read = len(records)
        return self._digest.name or self._digest.title


_KINDS: dict[str, type[Any]] = {name: type(getattr(Digest(), name)) for name in Digest.__slots__}
