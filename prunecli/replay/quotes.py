"""Which responses quote which earlier texts: at least 40 consecutive characters, white space folded.

Any 40 characters contain a whole block of 20 that begins at a multiple of 20, so the index holds only those blocks of
each source. A response is looked up at each of its characters, and a hit is extended to both sides.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Json, Text, ToolUse, plain_text

LENGTH = 40
"""The fewest characters of a quote."""
_BLOCK = LENGTH // 2
_MOST_SOURCES = 64
"""Of one block only so many of the newest places are kept: a text that common is no quote."""


class Match(NamedTuple):
    """A source's part that a response repeats: characters `start` to `end` of the text `said`, folded."""

    source: int
    said: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Said:
    """A text of a response, folded. `edits`: it is part of a call that changes a file."""

    text: str
    edits: bool


@dataclass(frozen=True, slots=True)
class Quoting:
    """The texts of one response, and what they repeat, the newest source first."""

    said: tuple[Said, ...]
    matches: tuple[Match, ...]
    sources: frozenset[int]


Quotes = Mapping[int, Quoting]
"""By response; responses and sources are places in the log."""


def folded(text: str) -> str:
    """The text with each run of white space as one blank."""
    return " ".join(text.split())


def find_quotes(events: Iterable[tuple[int, Event]]) -> Quotes:
    """Find the quotes of a session. Sources are results, the user's messages, responses and summaries."""
    found: dict[int, Quoting] = {}
    index = _Index()
    for seq, event in events:
        match event:
            case AssistantMessage():
                said = tuple(_said(event))
                if quoting := index.quoting(said):
                    found[seq] = quoting
                for one in said:
                    index.add(seq, one.text)
            case ToolResult(content=content) | UserMessage(content=content):
                index.add(seq, folded(plain_text(content)))
            case CompactionApplied(summary=summary):
                index = _Index()  # what was compacted is gone with or without pruning
                index.add(seq, folded(summary))
            case _:
                pass
    return found


class _Index:
    def __init__(self) -> None:
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._texts: list[tuple[int, str]] = []

    def add(self, seq: int, text: str) -> None:
        if len(text) < LENGTH:
            return
        number = len(self._texts)
        self._texts.append((seq, text))
        places = self._places
        for at in range(0, len(text) - _BLOCK + 1, _BLOCK):
            known = places.setdefault(text[at : at + _BLOCK], [])
            known.append((number, at))
            if len(known) > _MOST_SOURCES:
                del known[0]

    def quoting(self, said: tuple[Said, ...]) -> Quoting | None:
        matches = {match for number, one in enumerate(said) for match in self._matches(number, one.text)}
        if not matches:
            return None
        newest = sorted(matches, key=lambda match: (-match.source, match.said, match.start))
        return Quoting(said, tuple(newest), frozenset(match.source for match in matches))

    def _matches(self, number: int, text: str) -> Iterator[Match]:
        reached: dict[tuple[int, int], int] = {}
        places = self._places
        for at in range(len(text) - _BLOCK + 1):
            for source, place in places.get(text[at : at + _BLOCK], ()):
                diagonal = source, place - at
                if reached.get(diagonal, -1) >= at:
                    continue
                seq, its = self._texts[source]
                start, end = _extended(text, its, at, place)
                reached[diagonal] = end
                if end - start >= LENGTH:
                    yield Match(seq, number, start, end)


def _extended(text: str, its: str, at: int, place: int) -> tuple[int, int]:
    """The longest common part around a common block, as characters of `text`."""
    start, shift = at, place - at
    while start and start + shift and text[start - 1] == its[start + shift - 1]:
        start -= 1
    end, most = at + _BLOCK, min(len(text), len(its) - shift)
    while end < most and text[end] == its[end + shift]:
        end += 1
    return start, end


def _said(event: AssistantMessage) -> Iterator[Said]:
    for block in event.content:
        match block:
            case Text(text):
                yield Said(folded(text), edits=False)
            case ToolUse() as call:
                edits = is_edit(call)
                for text in strings(call.input):
                    yield Said(folded(text), edits=edits)
            case _:
                pass


def is_edit(call: ToolUse) -> bool:
    """Whether a call changes a file by its text: edit, write, or a patch given to a shell."""
    if call.name in ("edit", "write"):
        return True
    return call.name == "bash" and "apply_patch" in str(call.input.get("command", ""))


def strings(value: Json) -> Iterator[str]:
    """The strings inside a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif hasattr(one, "values"):
            waiting.extend(one.values())
