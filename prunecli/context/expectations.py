"""Expectations of results: the length limit of each kind, and the probability that a result is quoted again.

The numbers are in `data/expectations.json`, fitted on recorded sessions. No other code contains such numbers.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from prunecli.frozen import frozen

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
        """Return the cap for a kind."""
        cap: int = getattr(self, kind)
        return cap


@frozen
class Expectations:
    """The numbers behind `spill` and `auto`.

    `caps` are by level. `page` is the maximum tokens of one result of `recall`. `quoted` is the probability that a
    result is quoted again, by group at each of `ages` (in requests). It is multiplied by the factor of the first
    matching entry of `sizes` (lower bound in tokens, factor). `superseded` replaces it for a result whose file was
    read or changed again. The expected number of further requests is the number so far, limited by the two
    `further_requests`. `reply_tokens` is the output of a request that fetches a result again. A candidate has at
    least `min_tokens` and is at least `min_age` requests old.
    """

    caps: Mapping[Level, Caps]
    page: int
    ages: Sequence[int]
    quoted: Mapping[Group, Sequence[float]]
    sizes: Sequence[tuple[int, float]]
    superseded: float
    further_requests: tuple[int, int]
    reply_tokens: int
    min_tokens: int
    min_age: int

    def probability(self, group: Group, age: int, tokens: int) -> float:
        """Return the probability that a result of this age and size is quoted again."""
        at = max(0, bisect_right(self.ages, age) - 1)
        factor = next((factor for above, factor in self.sizes if tokens > above), 1.0)
        return min(1.0, self.quoted[group][at] * factor)

    def further(self, requests: int) -> int:
        """Return the expected number of further requests after this many."""
        least, most = self.further_requests
        return max(least, min(most, requests))

    @staticmethod
    def of(value: Mapping[str, Any]) -> "Expectations":
        """Return the expectations of a JSON object. Raises KeyError, TypeError or ValueError for a malformed one."""
        quoted, least = value["quoted"], int(value["least_held"])
        ages = tuple(map(int, quoted["ages"]))
        groups: tuple[Group, ...] = ("read", "bash", "other")
        table = {group: tuple(map(float, quoted[group])) for group in groups}
        if list(ages) != sorted(set(ages)) or any(len(row) != len(ages) for row in table.values()):
            raise ValueError("quoted: expected increasing ages, each with a probability")
        if any(not 0 <= one <= 1 for row in table.values() for one in row):
            raise ValueError("quoted: expected probabilities from 0 to 1")
        low, high = map(int, value["further_requests"])
        levels: tuple[Level, ...] = ("normal", "strong")
        return Expectations(
            {level: _caps(value["caps"][level], least) for level in levels},
            int(value["page"]),
            ages,
            table,
            tuple((int(above), float(factor)) for above, factor in value["sizes"]),
            float(value["superseded"]),
            (low, high),
            int(value["reply_tokens"]),
            int(value["min_tokens"]),
            int(value["min_age"]),
        )


def _caps(row: Mapping[str, Any], least: int) -> Caps:
    return Caps(**{kind: int(row[kind]) for kind in KINDS}, least=least)
