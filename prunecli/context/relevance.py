"""Text vectors, and a greedy choice of relevant texts that do not repeat each other (MMR).

Built-in vectors are TF-IDF: (1 + ln tf) * ln(documents / documents with the term), of unit length. Terms are runs of
letters, digits and underscores of at least two characters, in lower case. Each text keeps its MOST_TERMS heaviest
terms. Comparisons between texts ignore terms shared by more than MOST_SHARED texts, which have the least weight and
would take the most time.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol, TypeAlias

MOST_TERMS = 64
MOST_SHARED = 100

_TERM = re.compile(r"\w{2,}")

Sparse: TypeAlias = Mapping[str, float]
Dense: TypeAlias = Sequence[float]


def terms(text: str) -> Counter[str]:
    """Return the number of occurrences of each term in the text."""
    return Counter(_TERM.findall(text.lower()))


def tfidf(documents: Sequence[Mapping[str, int]]) -> list[Sparse]:
    """Return the vectors of documents, given their terms; empty if every term is in every document."""
    found = Counter[str]()
    for document in documents:
        found.update(document.keys())
    rarity = {term: math.log(len(documents) / count) for term, count in found.items()}
    return [_vector(document, rarity) for document in documents]


def _vector(document: Mapping[str, int], rarity: Mapping[str, float]) -> Sparse:
    log = math.log
    weights = [((1 + log(count)) * rarity[term], term) for term, count in document.items()]
    if len(weights) > MOST_TERMS:
        weights.sort(reverse=True)
        del weights[MOST_TERMS:]
    length = math.sqrt(sum([weight * weight for weight, _ in weights]))
    return {term: weight / length for weight, term in weights if weight}


def unit(vector: Iterable[float]) -> Dense:
    """Return the vector scaled to length one; a zero vector is unchanged."""
    numbers = tuple(float(number) for number in vector)
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers) if length else numbers


class Likeness(Protocol):
    """Similarity of texts to the query and to those already taken. Keys are seqs, values cosines."""

    def to_query(self, key: int) -> float:
        """Return the similarity to the query."""

    def take(self, key: int) -> None:
        """Mark this text as taken."""

    def to_taken(self, key: int) -> float:
        """Return the similarity to the closest taken text, at least 0."""


class SparseLikeness:
    """Similarities of sparse vectors. Taking a text updates those that share a term with it."""

    def __init__(self, query: Sparse, vectors: Mapping[int, Sparse]) -> None:
        self._query = query
        self._vectors = vectors
        self._most: dict[int, float] = {}
        self._with: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for key, vector in vectors.items():
            for term, weight in vector.items():
                self._with[term].append((key, weight))
        for term in [term for term, sharing in self._with.items() if len(sharing) > MOST_SHARED]:
            del self._with[term]

    def to_query(self, key: int) -> float:
        """Return the similarity to the query."""
        vector = self._vectors[key]
        return sum(weight * vector[term] for term, weight in self._query.items() if term in vector)

    def take(self, key: int) -> None:
        """Mark this text as taken."""
        products: defaultdict[int, float] = defaultdict(float)
        for term, weight in self._vectors[key].items():
            for other, its in self._with.get(term, ()):
                products[other] += weight * its
        most = self._most
        for other, product in products.items():
            if product > most.get(other, 0.0):
                most[other] = product

    def to_taken(self, key: int) -> float:
        """Return the similarity to the closest taken text, at least 0."""
        return self._most.get(key, 0.0)


class DenseLikeness:
    """Similarities of dense vectors, compared with the taken texts on demand."""

    def __init__(self, query: Dense, vectors: Mapping[int, Dense]) -> None:
        self._query = query
        self._vectors = vectors
        self._taken: list[Dense] = []
        self._most: dict[int, tuple[int, float]] = {}

    def to_query(self, key: int) -> float:
        """Return the similarity to the query."""
        return _dot(self._query, self._vectors[key])

    def take(self, key: int) -> None:
        """Mark this text as taken."""
        self._taken.append(self._vectors[key])

    def to_taken(self, key: int) -> float:
        """Return the similarity to the closest taken text, at least 0."""
        seen, most = self._most.get(key, (0, 0.0))
        vector = self._vectors[key]
        most = max(most, *(_dot(vector, other) for other in self._taken[seen:]), 0.0)
        self._most[key] = len(self._taken), most
        return most


def _dot(first: Dense, second: Dense) -> float:
    return sum(map(float.__mul__, first, second))


def mmr(
    keys: Sequence[int],
    likeness: Likeness,
    cost: Callable[[int], int],
    budget: int,
    taken: Sequence[int],
    weight: float,
) -> list[int]:
    """Choose keys greedily by maximal marginal relevance within a budget.

    Each choice has the greatest `weight * similarity to the query - (1 - weight) * similarity to the closest one
    taken before`. The keys in `taken` are chosen from the start, at no cost. A key that exceeds the rest of the
    budget is skipped. Ties go to the greater key. A key's value only falls as others are taken, so it is updated only
    when the key would be next.
    """
    for key in taken:
        likeness.take(key)
    worth = {key: weight * likeness.to_query(key) for key in keys}
    waiting = [(-worth[key], -key) for key in keys]
    heapify(waiting)
    chosen: list[int] = []
    while waiting:
        value, key = heappop(waiting)
        if cost(-key) > budget:
            continue
        now = (1 - weight) * likeness.to_taken(-key) - worth[-key]
        if now > value:
            heappush(waiting, (now, key))
            continue
        likeness.take(-key)
        chosen.append(-key)
        budget -= cost(-key)
    return chosen
