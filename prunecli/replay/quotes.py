"""Finds the earlier texts that responses quote: at least 40 consecutive characters, with white space folded.

Any 40 characters contain a whole block of 20 that begins at a multiple of 20, so the index contains only those blocks
of each source. A response is looked up at each of its characters, and a hit is extended to both sides.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from prunecli.context.strategies.importance import strings
from prunecli.frozen import frozen
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Json, Text, ToolUse, plain_text

LENGTH = 40
"""Minimum characters of a quote."""
BLOCK = LENGTH // 2
"""Any quote contains a whole block of this many characters, counted from any start."""
_OLD = ("old_string", "oldText", "old_text", "old_str", "search")
_PATCH, _PATCH_END = "*** Begin Patch", "*** End Patch"
_MOST_SOURCES = 64
"""Maximum places stored for one block, newest first. More common text is not a quote."""
_SHORT = 64
"""Characters that are compared one by one."""
_MOST_COPIES = 4
"""Maximum newest sources to store for each part."""


class Match(NamedTuple):
    """The part of a source that a text of a response repeats: its folded characters from `start` to `end`."""

    source: int
    start: int
    end: int


@frozen
class Said:
    """A folded text of a response. `edits`: an edit has to match the text."""

    text: str
    edits: bool


class Repeated(NamedTuple):
    """A text of a response that repeats something: the repeated parts, newest source first.

    Each pair of `copies` has the newest sources that contain a part, and the older sources of that part.
    """

    said: Said
    matches: tuple[Match, ...]
    sources: frozenset[int]
    copies: tuple[tuple[frozenset[int], frozenset[int]], ...]


@frozen
class Quoting:
    """The texts of one response that repeat something. `by_edits`: an edit has to match one of them."""

    said: tuple[Repeated, ...]
    sources: frozenset[int]
    by_edits: bool


Quotes = Mapping[int, Quoting]
"""The quotes by response. Responses and sources are places in the log."""


def folded(text: str) -> str:
    """Return the text with each run of white space as one space."""
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
                index = _Index()  # compacted content is gone with or without pruning
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
        for at in range(0, len(text) - BLOCK + 1, BLOCK):
            known = places.setdefault(text[at : at + BLOCK], [])
            known.append((number, at))
            if len(known) > _MOST_SOURCES:
                del known[0]

    def quoting(self, said: tuple[Said, ...]) -> Quoting | None:
        each = [self._repeated(one) for one in said]
        found = tuple(one for one in each if one.matches)
        if not found:
            return None
        sources = frozenset().union(*(one.sources for one in found))
        return Quoting(found, sources, any(one.said.edits for one in found))

    def _repeated(self, said: Said) -> Repeated:
        matches = _largest(set(self._matches(said.text)))
        return Repeated(said, tuple(matches), frozenset(one.source for one in matches), _copies(matches))

    def _matches(self, text: str) -> Iterator[Match]:
        reached: dict[tuple[int, int], int] = {}
        places = self._places
        for at in range(len(text) - BLOCK + 1):
            for source, place in places.get(text[at : at + BLOCK], ()):
                diagonal = source, place - at
                if reached.get(diagonal, -1) >= at:
                    continue
                seq, its = self._texts[source]
                start, end = _extended(text, its, at, place)
                reached[diagonal] = end
                if end - start >= LENGTH:
                    yield Match(seq, start, end)


def _largest(matches: Iterable[Match]) -> list[Match]:
    """Return the matches, newest source first, without those inside of another match of the same source."""
    found: list[Match] = []
    for match in sorted(matches, key=lambda match: (-match.source, match.start, -match.end)):
        if not found or found[-1].source != match.source or found[-1].end < match.end:
            found.append(match)
    return found


def _copies(matches: Sequence[Match]) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    """Return the `copies` of these matches, newest source first."""
    older: dict[frozenset[int], set[int]] = {}
    newer: list[tuple[int, list[int], list[int]]] = []
    for source, found in groupby(matches, key=lambda match: match.source):
        parts = list(found)
        for _, start, end in parts:
            # A source's starts and ends both ascend, so the last part that starts early enough reaches farthest.
            containing = (
                other
                for other, starts, ends in newer
                if (count := bisect_right(starts, start)) and ends[count - 1] >= end
            )
            older.setdefault(frozenset(islice(containing, _MOST_COPIES)), set()).add(source)
        newer.append((source, [one.start for one in parts], [one.end for one in parts]))
    return tuple((newest, frozenset(sources)) for newest, sources in older.items())


def _extended(text: str, its: str, at: int, place: int) -> tuple[int, int]:
    """Return the longest common part around a common block, as characters of `text`.

    Most parts are short. In texts that repeat themselves, each of many places has a long one, so that is compared in
    whole pieces.
    """
    start, shift = at, place - at
    first = max(0, -shift, at - _SHORT)
    while start > first and text[start - 1] == its[start + shift - 1]:
        start -= 1
    if start == first:
        while (step := _same_before(text, its, start, shift)) > 0:
            start -= step
    end, most = at + BLOCK, min(len(text), len(its) - shift)
    last = min(most, end + _SHORT)
    while end < last and text[end] == its[end + shift]:
        end += 1
    if end == last:
        while (step := _same_behind(text, its, end, shift, most)) > 0:
            end += step
    return start, end


def _same_before(text: str, its: str, start: int, shift: int) -> int:
    """Return a number of characters before this place that are the same; 0 if the next one is not."""
    step = start + min(0, shift)
    while step and text[start - step : start] != its[start + shift - step : start + shift]:
        step //= 2
    return step


def _same_behind(text: str, its: str, end: int, shift: int, most: int) -> int:
    """Return a number of characters from this place on that are the same; 0 if the next one is not."""
    step = most - end
    while step and text[end : end + step] != its[end + shift : end + shift + step]:
        step //= 2
    return step


def _said(event: AssistantMessage) -> Iterator[Said]:
    for block in event.content:
        match block:
            case Text(text):
                yield Said(folded(text), edits=False)
            case ToolUse() as call:
                needed = [text for text in map(folded, old_texts(call)) if text]
                yield from (Said(text, edits=True) for text in needed)
                others = (text for text in map(folded, strings(call.input)) if text not in needed)
                yield from (Said(text, edits=False) for text in others)
            case _:
                pass


def old_texts(call: ToolUse) -> Iterator[str]:
    """Yield the texts that a call must know exactly to change a file: the replaced text, and the old lines of a
    patch."""
    if call.name == "edit":
        yield from _replaced(call.input)
    for text in strings(call.input):
        for part in text.split(_PATCH)[1:]:
            yield from _old_lines(part.partition(_PATCH_END)[0])


def _replaced(value: Json) -> Iterator[str]:
    """Yield the values of keys that hold old texts, including those in a list of edits."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _replaced(one)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if key in _OLD and isinstance(one, str):
                yield one
            elif key == "edits":
                yield from _replaced(one)


def _old_lines(patch: str) -> Iterator[str]:
    """Yield the unchanged and removed lines of each hunk. In a program's source, a patch may be one quoted line."""
    if "\n" not in patch.strip() and "\\n" in patch:
        patch = patch.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")
    hunk: list[str] = []
    for line in patch.split("\n"):
        if line.startswith((" ", "-")):
            hunk.append(line[1:])
        elif not line.startswith("+") and hunk:
            yield "\n".join(hunk)
            hunk = []
    if hunk:
        yield "\n".join(hunk)
