"""What a prompt asks of the demo model: the tour, help, or phrases that are done one after the other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prunecli.providers.demo_phrases import MAX_BESIDE, Move, moves

MAX_CHARS = 4_000
"""A longer prompt is not understood."""

LOOKING = frozenset({"read", "grep", "find", "ls"})
"""Tools that change nothing."""

_MAX_JOINS = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked. `moves` are for `work` only, one message of calls each."""

    kind: Literal["work", "tour", "help", "stop", "unknown"]
    moves: tuple[Move, ...] = ()


def asked(words: str) -> Asked:
    """What the words ask for; `unknown` unless all of them are understood."""
    words = words.strip()
    if len(words) > MAX_CHARS:
        return Asked("unknown")
    plain = " ".join(words.lower().strip(" .!?").split())
    if plain in _HELP:
        return Asked("help")
    if plain in _STOP:
        return Asked("stop")
    if re.fullmatch(_TOUR, plain):
        return Asked("tour")
    found: list[Move] = []
    for clause in _clauses(words):
        understood = moves(clause)
        if understood is None:
            return Asked("unknown")
        found += understood
    return Asked("work", tuple(_beside_each_other(found)))


_HELP = frozenset(
    (
        "",
        "help",
        "hello",
        "hi",
        "hey",
        "help me",
        "what can you do",
        "what can i do",
        "who are you",
        "what are you",
    )
)
_STOP = frozenset(("stop", "cancel", "enough", "no", "ok", "okay", "thanks", "thank you"))
_TOUR = (
    r"(?:(?:start|show me|give me|take|run|play|begin|go on)(?: with)? )?(?:(?:the|a) )?(?:demo|tour)"
    r"(?:,? step by step)?|show me"
)
_JOIN = r"\s{0,9};\s*(?:and )?(?:then )?|,?\s{1,9}and then\s+|,\s{1,9}then\s+"


def _clauses(words: str) -> Iterator[str]:
    """The phrases in the words. A join counts only between two phrases: `run a; b` is one command."""
    start = 0
    for join in _joins(words):
        head = words[start : join.start()]
        if _open_quote(head) or moves(head) is None or moves(_first_clause(words, join.end())) is None:
            continue
        yield head
        start = join.end()
    yield words[start:]


def _joins(words: str) -> Iterator[re.Match[str]]:
    for _, join in zip(range(_MAX_JOINS), re.finditer(_JOIN, words, re.IGNORECASE), strict=False):
        yield join


def _first_clause(words: str, start: int) -> str:
    rest = words[start:]
    join = re.search(_JOIN, rest, re.IGNORECASE)
    return rest[: join.start()] if join else rest


def _open_quote(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("`") % 2 == 1


def _beside_each_other(moves: list[Move]) -> Iterator[Move]:
    """Moves that only look run as parallel calls of one message."""
    waiting: Move = ()
    for move in moves:
        looks = all(call.name in LOOKING for call in move)
        if waiting and not (looks and len(waiting) + len(move) <= MAX_BESIDE):
            yield waiting
            waiting = ()
        if looks:
            waiting += move
        else:
            yield move
    if waiting:
        yield waiting
