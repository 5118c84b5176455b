"""Texts as vectors, and the greedy choice of relevant ones that do not repeat each other (MMR).

Built-in vectors are TF-IDF: (1 + ln tf) * ln(documents / documents with the term), of unit length. Terms are runs of
letters, digits and underscores of at least two characters, in lower case; each text keeps its MOST_TERMS weightiest,
which bounds what comparing two of them costs.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, nlargest
from typing import TypeAlias, TypeVar

MOST_TERMS = 64

_TERM = re.compile(r"\w{2,}")

Sparse: TypeAlias = Mapping[str, float]
K = TypeVar("K", bound=Hashable)


def terms(text: str) -> Counter[str]:
    """How often each term stands in a text."""
    return Counter(_TERM.findall(text.lower()))


def tfidf(documents: Sequence[Mapping[str, int]]) -> list[Sparse]:
    """The vectors of documents, given their terms; an empty one where every term is in every document."""
    found = Counter(term for document in documents for term in document)
    rarity = {term: math.log(len(documents) / count) for term, count in found.items()}
    return [_vector(document, rarity) for document in documents]


def _vector(document: Mapping[str, int], rarity: Mapping[str, float]) -> Sparse:
    weights = ((term, (1 + math.log(count)) * rarity[term]) for term, count in document.items())
    kept = nlargest(MOST_TERMS, ((weight, term) for term, weight in weights if weight > 0))
    length = math.sqrt(sum(weight * weight for weight, _ in kept))
    return {term: weight / length for weight, term in kept}


def sparse_cosine(first: Sparse, second: Sparse) -> float:
    """The cosine of two vectors of unit length."""
    if len(second) < len(first):
        first, second = second, first
    return sum(weight * second[term] for term, weight in first.items() if term in second)


def unit(vector: Iterable[float]) -> tuple[float, ...]:
    """The vector with length one; a zero vector stays."""
    numbers = tuple(float(number) for number in vector)
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers) if length else numbers


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """The cosine of two vectors of unit length."""
    return sum(a * b for a, b in zip(first, second, strict=True))


def mmr(
    relevance: Mapping[K, float],
    costs: Mapping[K, int],
    budget: int,
    taken: Sequence[K],
    similar: Callable[[K, K], float],
    weight: float,
) -> list[K]:
    """The keys chosen one by one, each with the greatest `weight * relevance - (1 - weight) * likeness` to the most
    similar one taken before, a likeness below 0 counting as 0; `taken` are so from the start, at no cost.

    What does not fit into the rest of the budget is passed over. Of equal ones the key that stands later in
    `relevance` is chosen. The value of a key only falls as others are taken, so each is worked out again only when
    it would be next: seldom, where texts differ.
    """
    before = list(taken)
    waiting = [(-weight * worth, -place, key, 0, 0.0) for place, (key, worth) in enumerate(relevance.items())]
    heapify(waiting)
    chosen: list[K] = []
    while waiting:
        _, place, key, seen, likeness = heappop(waiting)
        if costs[key] > budget:
            continue
        if seen < len(before):
            likeness = max(likeness, *(similar(key, other) for other in before[seen:]), 0.0)
            value = weight * relevance[key] - (1 - weight) * likeness
            heappush(waiting, (-value, place, key, len(before), likeness))
            continue
        chosen.append(key)
        before.append(key)
        budget -= costs[key]
    return chosen
