"""Regret: quotes of content that was pruned or held back, and the cost of fetching it again.

A quote of hidden text is a regret if no newer source of the same text is in the context, so that the text must be
fetched again. The cost has three parts. One more request carries the whole context, at the read price, or at the
write price if none of it was cached. The text costs the write price, and then the read price in each later request.
The call costs its output tokens. A result is fetched at most once. There are two charges: for quotes by an edit, and
for any quote, which includes the first.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prunecli.context.exchange import Entry
from prunecli.context.inputs import shown_inputs
from prunecli.context.state import Context
from prunecli.context.strategies.importance import strings
from prunecli.features.replay.rates import Rates
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Json, Text, ToolUse, Usage, plain_text
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.features.replay.rows import Row
    from prunecli.features.replay.script import Script, Step


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
    """Any 40 characters contain a whole block of 20 that begins at a multiple of 20: only those are in the index.

    A response is looked up at each of its characters, and a hit is extended to both sides.
    """

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
        newer.append((source, [part.start for part in parts], [part.end for part in parts]))
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


Span = tuple[int, int]
"""The first and the last place where a quote of `LENGTH` characters begins."""


class Played(Protocol):
    """The interface of the player that this module uses: the context, and the place of a source record in it."""

    context: Context
    places: dict[int, int]
    row: "Row"


@dataclass(slots=True)
class Places:
    """A set of places, as ascending spans with gaps between them."""

    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def add(self, span: Span) -> None:
        """Add the places of a span, and join it with those that it overlaps or touches."""
        start, end = span
        first, behind = bisect_left(self._ends, start - 1), bisect_right(self._starts, end + 1)
        if first < behind:
            start, end = min(start, self._starts[first]), max(end, self._ends[behind - 1])
        self._starts[first:behind], self._ends[first:behind] = [start], [end]

    def cover(self, span: Span) -> bool:
        """Return whether all places of a span are in the set."""
        at = bisect_right(self._starts, span[0]) - 1
        return at >= 0 and self._ends[at] >= span[1]


@dataclass(slots=True)
class _Charge:
    """One way of charging: the results fetched so far, with their cost in USD."""

    costs: dict[int, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.costs.values())


@dataclass(slots=True)
class Regrets:
    """The regrets of one play.

    `hidden` are the places in the source's log of edited or held-back content, and `rewound` those of records that a
    rewind left out of the context. `reply_tokens` is the output tokens of a call that
    fetches something again.
    """

    script: "Script"
    played: Played
    reply_tokens: int
    hidden: set[int] = field(default_factory=set)
    rewound: set[int] = field(default_factory=set)
    new: set[int] = field(default_factory=set)
    _any: _Charge = field(default_factory=_Charge)
    _edit: _Charge = field(default_factory=_Charge)

    def answered(self, step: "Step", usage: Usage, rates: Rates) -> None:
        """Charge the quotes of a response whose request had this usage. `new` are the results that had to be
        fetched."""
        self.new = set()
        quoting = self.script.quotes.get(step.source) if self.hidden else None
        if quoting is None or self.hidden.isdisjoint(quoting.sources):
            return
        further = self.script.further[step.source]
        by_edits = (
            self._missing(quoting, self._edit.costs, edits_only=True) if quoting.by_edits else set[int]()
        )
        by_any = self._missing(quoting, self._any.costs, edits_only=False) | by_edits
        for charge, sources in ((self._edit, by_edits), (self._any, by_any - self._any.costs.keys())):
            for source in sorted(sources):
                charge.costs[source] = self._cost(source, usage, rates, further)
        self.new = by_any

    def missing(self, quoting: Quoting) -> set[int]:
        """Return the quoted sources whose text is not in the context, however often it was fetched before."""
        return self._missing(quoting, {}, edits_only=False) if self.hidden else set()

    def settle(self, row: "Row") -> None:
        """Store the regrets in a row whose costs are complete."""
        row.regret, row.edit_regret = len(self._any.costs), len(self._edit.costs)
        row.cost_with_any_rereads = row.cost + self._any.total
        row.cost_with_rereads = row.cost + self._edit.total

    @property
    def costs(self) -> Mapping[int, float]:
        """The cost in USD of fetching each quoted result again."""
        return self._any.costs

    @property
    def missed(self) -> Container[int]:
        """The results whose text an edit had to match after it was gone."""
        return self._edit.costs

    def _cost(self, source: int, usage: Usage, rates: Rates, further: int) -> float:
        tokens = self._tokens(source)
        context = rates.read if usage.cache_read_input_tokens else rates.write
        once = usage.prompt_tokens * context + tokens * rates.write + self.reply_tokens * rates.output
        return (once + tokens * rates.read * further) / 1e6

    def _tokens(self, source: int) -> float:
        """Return the tokens that fetching brings back: the whole pruned content, or the part that was held back."""
        context = self.played.context
        entry = context.entries[self.played.places[source]]
        edit = context.text_edit(entry.seq)
        if edit is not None and edit.kind == "cut" and not is_gone(context, entry):
            return context.counts.factor * edit.tokens_saved
        gone = edit is not None or is_gone(context, entry)
        return context.counts.factor * (entry.held_tokens + (context.counts.tokens(entry) if gone else 0))

    def _missing(self, quoting: Quoting, fetched: Mapping[int, float], *, edits_only: bool) -> set[int]:
        """Return the sources of quotes whose text is neither in the context from a newer source nor already
        fetched."""
        found, hidden, rewound = set[int](), self.hidden, self.rewound
        absent = hidden | rewound if rewound else hidden
        for said, matches, sources, copies in quoting.said:
            if (edits_only and not said.edits) or hidden.isdisjoint(sources):
                continue
            gone = [older for newest, older in copies if newest <= absent]
            wanted = (
                hidden.intersection(frozenset().union(*gone)).difference(fetched, rewound) if gone else ()
            )
            if not wanted:
                continue
            oldest = min(wanted)
            seen = Places()
            for one in matches if fetched else ():
                if one.source in fetched:
                    seen.add((one.start, one.end - LENGTH))
            for match in matches:
                source, start, end = match
                if source < oldest:
                    break
                if source in fetched or source in rewound:
                    continue
                span = start, end - LENGTH
                if source not in wanted or source in found:
                    seen.add(span)
                elif not seen.cover(span):
                    for visible in self._visible(match, said.text):
                        seen.add(visible)
                    if not seen.cover(span):
                        found.add(source)
                        seen.add(span)
        return found

    def _visible(self, match: Match, text: str) -> Iterator[Span]:
        """Yield the places of a quote that an edited or shortened source still shows."""
        shown = self._text_of(match.source)
        if shown is None:
            yield match.start, match.end - LENGTH
            return
        at, last = match.start, match.end - LENGTH
        while shown and at <= last:
            block = match.start + -(-(at - match.start) // BLOCK) * BLOCK  # lies in the text from `at` on
            if text[block : block + BLOCK] not in shown:
                at = block + 1
                continue
            if text[at : at + LENGTH] not in shown:
                at += 1
                continue
            shorter = range(at + LENGTH + 1, match.end + 1)
            end = at + LENGTH + bisect_left(shorter, True, key=lambda end: text[at:end] not in shown)
            yield at, end - LENGTH
            at = end - LENGTH + 1

    def _text_of(self, source: int) -> str | None:
        """Return the shown text of a source, folded; None if all of it is shown."""
        context = self.played.context
        entry = context.entries.get(self.played.places.get(source, -1))
        if entry is None or is_gone(context, entry):
            return ""
        edit = context.text_edit(entry.seq)
        if edit is not None and edit.kind == "cut":
            shown = shown_of_answer(entry, [one for _, one in context.edits_of(entry.seq)])
        elif edit is not None:
            shown = "" if edit.kind == "clear" else edit.text or ""
        elif entry.spilled:
            shown = entry.spilled.shown
        else:
            return None
        if shown not in self.script.folded:
            self.script.folded[shown] = folded(shown)
        return self.script.folded[shown]


def is_gone(context: Context, entry: Entry) -> bool:
    """Return whether an entry was dropped or summarized."""
    head = entry.exchange.head if entry.exchange else entry
    dropped = entry.exchange is not None and context.dropped(entry.exchange)
    return dropped or not context.is_shown(head.seq)


def shown_of_answer(entry: Entry, edits: Sequence[Edit]) -> str:
    """Return the texts of an answer, with the inputs of its calls as these edits show them."""
    inputs, found = shown_inputs(edits), list[str]()
    for block in getattr(entry.event, "content", ()):
        if isinstance(block, Text):
            found.append(block.text)
        elif isinstance(block, ToolUse):
            found += strings(inputs.get(block.id, block.input))
    return "\n".join(found)


def needed(quoting: Quoting) -> set[int]:
    """Return the sources that a response quotes, except those whose text is also in a newer source."""
    return {source for source, _ in needed_texts(quoting)}


def needed_texts(quoting: Quoting) -> Iterator[tuple[int, str]]:
    """Yield the quotes of these sources: source and folded text."""
    for said, matches, *_ in quoting.said:
        seen = Places()
        for match in matches:
            span = match.start, match.end - LENGTH
            if not seen.cover(span):
                yield match.source, said.text[match.start : match.end]
                seen.add(span)
