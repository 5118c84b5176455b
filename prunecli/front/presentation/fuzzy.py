"""Fuzzy matching: rank names by a few typed letters. Case, and how accents are encoded, make no difference."""

import re
from collections.abc import Iterable
from functools import lru_cache
from heapq import nsmallest
from unicodedata import normalize

MOST_RANKED = 3_000
"""Maximum number of names to rank."""


def _folded(text: str) -> str:
    """Return the text in lower case, with accents after their letters, so that `o` finds ö, too."""
    return text.lower() if text.isascii() else normalize("NFD", text.lower())


@lru_cache(maxsize=64)
def _pattern(query: str) -> re.Pattern[str]:
    """Return a pattern for the letters in order with anything between. Matching is linear, since each gap stops at
    its letter."""
    return re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in query))


def spans(query: str, name: str) -> tuple[int, ...] | None:
    """Return the positions of a query's letters in a name, contiguous if possible; None without a match."""
    query, low = _folded(query), _folded(name)
    if len(low) != len(name):  # İ and ö become longer, so positions would be wrong
        return () if _pattern(query).match(low) else None
    at = _best_start(query, low)
    if at >= 0:
        return tuple(range(at, at + len(query)))
    places, start = [], 0
    for letter in query:
        start = low.find(letter, start) + 1
        if not start:
            return None
        places.append(start - 1)
    return tuple(places)


def _best_start(query: str, low: str) -> int:
    """Return the position of the whole query, preferring the last part of a path."""
    if not query:
        return -1
    leaf = low.rstrip("/").rfind("/") + 1
    at = low.find(query, leaf)
    return at if at >= 0 else low.find(query)


def _rank(query: str, name: str) -> tuple[int, int, str]:
    """Rank a match, lower is better: whole name, prefix, word start, inside, scattered; then shorter names."""
    low = _folded(name)
    leaf = low.rstrip("/").rsplit("/", 1)[-1].rstrip("/")
    if query in (leaf, low):
        group = 0
    elif leaf.startswith(query):
        group = 1
    elif query in leaf:
        group = 2 if re.search(rf"(?:^|[^a-z0-9]){re.escape(query)}", leaf) else 3
    elif query in low:
        group = 4
    else:
        group = 5
    return group, len(name), name


def best(query: str, names: Iterable[str], most: int = 50) -> list[str]:
    """Return the names that contain the query's letters in order, best first."""
    query = _folded(query)
    if not query:
        return [name for name, _ in zip(names, range(most), strict=False)]
    matches = _pattern(query).match
    found: list[str] = []
    for name in names:
        if matches(_folded(name)):
            found.append(name)
            if len(found) >= MOST_RANKED:
                break
    return nsmallest(most, found, key=lambda name: _rank(query, name))
