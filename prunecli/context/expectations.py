"""Expectations of results: the length limit of each kind, and the probability that a result is quoted again.

The numbers are in `data/expectations.json`, fitted on recorded sessions. No other code contains such numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Any, Literal, TypeAlias, get_args

from prunecli.context.inputs import INPUT_KINDS, InputKind
from prunecli.model.requests import TTL_MS
from prunecli.util.frozen import frozen

Kind: TypeAlias = Literal["bash", "print", "read", "search", "other"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Level: TypeAlias = Literal["normal", "strong"]
Group: TypeAlias = Literal["read", "bash", "other"]

GROUPS: Mapping[Kind, Group] = {
    "bash": "bash",
    "print": "read",
    "read": "read",
    "search": "other",
    "other": "other",
}
"""The group whose probabilities apply to each kind of result."""


SUMMARY_TOKENS = 3_000
"""The tokens of a summary: the median of recorded ones."""


@frozen
class Caps:
    """Maximum raw tokens of a result that are sent, by kind; 0 for no cap. At least `least` tokens are held back, or
    none."""

    bash: int = 0
    print: int = 0
    read: int = 0
    search: int = 0
    other: int = 0
    least: int = 0

    def of(self, kind: Kind) -> int:
        cap: int = getattr(self, kind)
        return cap


@frozen
class Expectations:
    """The numbers behind `spill` and `auto`.

    `caps` are by level. `page` is the maximum tokens of one result of `recall`. `quoted` is the probability that a
    result is quoted again, by group at each of `ages` (in requests). `inputs` is the same for the long texts in the
    inputs of calls, by what they are; a kind that is missing stays. `superseded` replaces it for a result whose
    file was read or changed again. The expected number of further requests is the number so far, limited by the two
    `further_requests`. `reply_tokens` is the output of a request that fetches a result again, `summary_tokens` that
    of a summary. A context below `return_tokens` is never summarized just because its cache expired. A candidate
    has at least `min_tokens` and is at least `min_age` requests old. A prune frees at least `min_batch` tokens;
    with a warm cache, its expected gain is more than a margin times its cost: the first of `warm_margin` with the
    5-minute cache, else the second. Files without these two allow any prune of a cold cache, and none of a warm
    one.
    """

    caps: Mapping[Level, Caps]
    page: int
    ages: Sequence[int]
    quoted: Mapping[Group, Sequence[float]]
    superseded: float
    further_requests: tuple[int, int]
    reply_tokens: int
    min_tokens: int
    min_age: int
    min_batch: int
    warm_margin: tuple[float, float]
    summary_tokens: int = SUMMARY_TOKENS
    return_tokens: int = 80_000
    inputs: Mapping[InputKind, Sequence[float]] = field(default_factory=dict)

    def further(self, requests: int) -> int:
        """Return the expected number of further requests after this many."""
        least, most = self.further_requests
        return max(least, min(most, requests))

    def margin(self, ttl_ms: int) -> float:
        """Return how many times its cost a prune of a warm cache with this lifetime must be expected to gain."""
        return self.warm_margin[ttl_ms > TTL_MS["5m"]]

    @staticmethod
    def of(value: Mapping[str, Any]) -> "Expectations":
        """Return the expectations of a JSON object. Raises KeyError, TypeError or ValueError for a malformed one."""
        quoted, least = value["quoted"], _count("least_held", value["least_held"])
        given: Mapping[str, Any] = value.get("inputs", {})
        ages = tuple(_count("ages", age) for age in quoted["ages"])
        groups: tuple[Group, ...] = ("read", "bash", "other")
        table = {group: tuple(_number(group, one, most=1) for one in quoted[group]) for group in groups}
        inputs = {
            kind: tuple(_number(kind, one, most=1) for one in given[kind])
            for kind in INPUT_KINDS
            if kind in given
        }
        rows = (*table.values(), *inputs.values())
        if list(ages) != sorted(set(ages)) or any(len(row) != len(ages) for row in rows):
            raise ValueError("quoted: expected increasing ages, each with a probability")
        low, high = (_count("further_requests", one) for one in value["further_requests"])
        if not ages or low > high:
            raise ValueError("expected ages, and further_requests from low to high")
        levels: tuple[Level, ...] = ("normal", "strong")
        return Expectations(
            {level: _caps(value["caps"][level], least) for level in levels},
            _count("page", value["page"], least=1),
            ages,
            table,
            _number("superseded", value["superseded"], most=1),
            (low, high),
            reply_tokens=_count("reply_tokens", value["reply_tokens"]),
            min_tokens=_count("min_tokens", value["min_tokens"]),
            min_age=_count("min_age", value["min_age"]),
            min_batch=_count("min_batch", value.get("min_batch", 0)),
            warm_margin=_margins(value.get("warm_margin", inf)),
            summary_tokens=_count("summary_tokens", value.get("summary_tokens", SUMMARY_TOKENS)),
            return_tokens=_count("return_tokens", value.get("return_tokens", 80_000)),
            inputs=inputs,
        )


def break_even(saved: int, size: int, odds: float) -> float:
    """Return what a request that fetches a text of this size again may cost, in tokens as kept ones cost, if leaving
    it out gains."""
    return saved / odds - size if odds else inf


def _margins(value: object) -> tuple[float, float]:
    """Return the margins by lifetime; a single number is that of both."""
    each = value if isinstance(value, list) else [value, value]
    if len(each) != 2:
        raise ValueError(
            "warm_margin: expected a number, or one for the 5-minute cache and one for longer ones"
        )
    return _number("warm_margin", each[0]), _number("warm_margin", each[1])


def _caps(row: Mapping[str, Any], least: int) -> Caps:
    return Caps(**{kind: _count(f"caps: {kind}", row[kind]) for kind in KINDS}, least=least)


def _count(name: str, value: object, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}")
    return value


def _number(name: str, value: object, most: float = inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{name}: expected a number from 0{f' to {most:g}' if most < inf else ' on'}")
    return float(value)
