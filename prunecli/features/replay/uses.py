"""What answers use of earlier texts, and whether each stands in the context then, or a handle that brings it back.

Quotes of 40 characters are those of `regret.py`. Names are paths, symbols, and tests that failed, which an answer
repeats from an earlier message; a constraint is a sentence of the user's that each answer at the end of a turn has to
obey. A text counts once for each answer that uses it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from prunecli.context.strategies.importance import strings
from prunecli.context.strategies.superseded import superseded
from prunecli.context.view import View
from prunecli.features.replay.regret import Regrets, folded, is_gone, needed, shown_of_answer
from prunecli.features.replay.rows import SHARES, Kind, Share
from prunecli.model.events import AssistantMessage, CompactionApplied, Event, ToolResult, UserMessage
from prunecli.model.messages import Text, plain_text, tool_uses
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.features.replay.script import Script, Step

_PATH = re.compile(r"(?:[\w@.~-]*/)+[\w@-]+\.\w{1,8}\b")
_WORD = re.compile(r"\b[A-Za-z_]\w{7,79}\b")
_INSIDE = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]")
"""What tells a symbol from a word: an underscore inside, or a capital."""
_FAILED = re.compile(r"^(?:FAILED|ERROR|--- FAIL:|test) +(\S+)(?: \.\.\. FAILED)?", re.MULTILINE)
"""A line of pytest, go or cargo about a test that failed."""
_MUST = re.compile(
    r"\b(?:must|never|always|only|do not|don't|without|should not|shouldn't|instead of|make sure)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_READ_ON = "| continue with offset="
_LONGEST = 400
"""Characters of a sentence; a longer one is a pasted text."""


@frozen
class Use:
    """A text that an answer repeats: it stands in the first `count` of `sources`, which are places in the log."""

    kind: Kind
    text: str
    sources: Sequence[int]
    count: int


Uses: TypeAlias = Mapping[int, Sequence[Use]]
"""The names and constraints that each answer uses."""


def find_uses(events: Iterable[tuple[int, Event]]) -> Uses:
    """Find the names and constraints that answers use."""
    found: dict[int, Sequence[Use]] = {}
    places: dict[str, list[int]] = {}
    failed: set[str] = set()
    rules: dict[str, list[int]] = {}
    for seq, event in events:
        match event:
            case AssistantMessage(content=content):
                calls = tool_uses(content)
                said = [block.text for block in content if isinstance(block, Text)]
                names = _names([*said, *(text for call in calls for text in strings(call.input))])
                uses = [_use(name, kind, places, failed) for name, kind in names.items() if name in places]
                obeyed = rules if said and not calls else {}
                uses += [Use("constraints", text, at, len(at)) for text, at in obeyed.items()]
                if uses:
                    found[seq] = uses
            case ToolResult(content=content):
                text = plain_text(content)
                names = _names([text])
                lines = _names(_FAILED.findall(text))
                failed.update(name for name, kind in lines.items() if kind == "symbols")
            case UserMessage(content=content, origin=origin):
                text = plain_text(content)
                names = _names([text])
                if origin not in ("command", "attachment"):
                    for rule in _rules(text):
                        rules.setdefault(rule, []).append(seq)
            case CompactionApplied(summary=summary):
                places, names = {}, _names([summary])  # what was compacted is gone with or without pruning
                rules = {}
            case _:
                continue
        for name in names:
            places.setdefault(name, []).append(seq)
    return found


def _use(name: str, kind: Kind, places: Mapping[str, list[int]], failed: set[str]) -> Use:
    at = places[name]
    return Use("failed tests" if name in failed else kind, name, at, len(at))


def _names(texts: Iterable[str]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for text in texts:
        found |= dict.fromkeys(_PATH.findall(text), "paths")
        words = _WORD.findall(_PATH.sub(" ", text))
        found |= dict.fromkeys((word for word in words if _INSIDE.search(word)), "symbols")
    return found


def _rules(text: str) -> Iterator[str]:
    sentences = (folded(sentence) for sentence in _SENTENCE.split(text))
    yield from (one for one in sentences if len(one) <= _LONGEST and _MUST.search(one))


class Judge:
    """Counts the uses of one play in its row: all, those that stand in the context, those with a handle."""

    def __init__(self, script: "Script", regrets: Regrets) -> None:
        self._script = script
        self._regrets = regrets

    def answered(self, step: "Step") -> None:
        """Count the texts that a response uses, with the context as its request sent it."""
        regrets, counts = self._regrets, self._regrets.played.row.uses
        if quoting := self._script.quotes.get(step.source):
            used = needed(quoting) - regrets.rewound
            missing = regrets.missing(quoting) & used
            _count(counts, "quotes", len(used), len(missing), sum(map(self._has_handle, missing)))
        for use in self._script.uses.get(step.source, ()):
            sources = [one for one in use.sources[: use.count] if one not in regrets.rewound]
            if not sources:
                continue
            gone = not any(self._shows(one, use.text) for one in reversed(sources))
            handle = gone and any(map(self._has_handle, sources))
            _count(counts, use.kind, 1, gone, handle)

    def _shows(self, source: int, text: str) -> bool:
        shown = self._shown(source)
        return shown is None or text in shown

    def _shown(self, source: int) -> str | None:
        """Return what stands in the context for a source; None for all of it."""
        played = self._regrets.played
        entry = played.context.entries.get(played.places.get(source, -1))
        if source not in self._regrets.hidden:
            return None
        if entry is None or is_gone(played.context, entry):
            return ""
        edit = played.context.text_edit(entry.seq)
        if edit and edit.kind == "cut":
            return shown_of_answer(entry, [one for _, one in played.context.edits_of(entry.seq)])
        return edit.text or "" if edit else entry.spilled.shown if entry.spilled else None

    def _has_handle(self, source: int) -> bool:
        """Return whether what stands for a source says how to get all of it: by `recall`, or by reading on in a file
        that has not changed since."""
        shown = self._shown(source)
        if not shown:
            return False
        context = self._regrets.played.context
        entry = context.entries[self._regrets.played.places[source]]
        if re.search(rf"(?:\| |\[)recall {(entry.origin or entry).seq}\b", shown):
            return True
        return _READ_ON in shown and all(entry is not one for one, _ in superseded(View(context, 1)))


def _count(counts: Counter[tuple[Kind, Share]], kind: Kind, used: int, gone: int, handles: int) -> None:
    for share, count in zip(SHARES, (used, used - gone, used - gone + handles), strict=True):
        counts[kind, share] += count
