"""semantic (tinyAgent): keep the exchanges that fit the newest prompt best, prune the rest.

A greedy choice by maximal marginal relevance within `max_tokens`, made once per user turn when not everything fits;
later content of that turn is dropped last. The built-in vectors are those of terms by frequency. A user's embedder
is called as `embedder(texts) -> a vector of numbers for each text`; the first text is the prompt.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Annotated, Any, Protocol, TypeAlias

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.strategy import FunctionFailed, Proposal, Size, check_reference
from prunecli.context.view import View
from prunecli.util.by_project import ALLOWED, Refused
from prunecli.util.frozen import frozen

MOST_TERMS = 64
MOST_SHARED = 100

_TERM = re.compile(r"\w{2,}")

Sparse: TypeAlias = Mapping[str, float]
Dense: TypeAlias = Sequence[float]


def terms(text: str) -> Counter[str]:
    """Return the number of occurrences of each term in the text."""
    return Counter(_TERM.findall(text.lower()))


def tfidf(documents: Sequence[Mapping[str, int]]) -> list[Sparse]:
    """Return the vectors of documents, given their terms; empty if every term is in every document.

    (1 + ln tf) * ln(documents / documents with the term), of unit length. Each text keeps its MOST_TERMS heaviest
    terms. Comparisons between texts ignore terms shared by more than MOST_SHARED texts, which have the least weight
    and would take the most time.
    """
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


FUNCTIONS = ("embedder",)
LAMBDA = 0.5
"""The weight of relevance against novelty, 0 to 1."""
SAMPLE_CHARS = 4_000
"""Only this many characters of each message and result are compared."""

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@frozen
class Options:
    """The options of `[pruning.semantic]`."""

    max_tokens: Annotated[Size | None, "Tokens to keep; unset: half of the window.", ALLOWED] = None
    embedder: Annotated[
        str,
        'Embedding function as "package.module:name"; empty: TF-IDF.',
        Refused("it names code to run"),
    ] = ""

    def __post_init__(self) -> None:
        check_reference("embedder", self.embedder)


def propose(view: View, options: Options, embedder: Embedder | None = None) -> Proposal:
    """Drop the exchanges that are not chosen, if not everything fits."""
    budget = options.max_tokens if options.max_tokens is not None else view.window // 2
    sizes = view.measured("shown tokens", view.shown_tokens)
    locked: Mapping[Exchange, str] = view.measured("locked", view.locked)
    shown = [exchange for exchange in view.exchanges if exchange.head.is_sent]
    free = {exchange.seq: exchange for exchange in shown if not locked[exchange]}
    used = view.fixed_tokens + sum([sizes[exchange] for exchange in shown])
    choice = view.kept(("semantic", options, embedder is None), Choice)
    choice.keep_to(shown, free)
    if used <= budget:
        return Proposal((), f"everything fits max_tokens ({budget:,})", lambda _: "everything fits")
    if choice.turn != view.context.turns:
        choice.make(view, shown, sizes, budget, embedder)
    if choice.failed:
        return Proposal((), choice.failed.message, problem=choice.failed.message)
    gone = choice.beyond(used - budget, sizes)
    drops = view.measured("drop", view.drop)
    edits = view.keeping_thinking([drops[free[seq]] for seq in sorted(gone)])
    left = used - sum(edit.tokens_before for edit in edits)
    return Proposal(
        edits,
        f"{left / max(1, budget):.0%} of max_tokens ({budget:,}) kept",
        lambda _: "closest to the prompt",
    )


class Choice:
    """The choice among the free exchanges in this user turn, by seq.

    `_chosen` are the chosen exchanges in order, `_left` the others. An exchange in neither was added later.
    """

    def __init__(self) -> None:
        self.turn = -1
        self.failed: FunctionFailed | None = None
        self._free: Mapping[int, Exchange] = {}
        self._chosen: list[int] = []
        self._left: list[int] = []
        self._vectors: dict[Exchange, tuple[int, Dense]] = {}

    def keep_to(self, shown: Sequence[Exchange], free: Mapping[int, Exchange]) -> None:
        """Forget outdated vectors and exchanges that are no longer free. An exchange that returns counts as new."""
        self._free = free
        self._chosen = [seq for seq in self._chosen if seq in free]
        self._left = [seq for seq in self._left if seq in free]
        known = self._vectors
        self._vectors = {
            one: known[one] for one in shown if one in known and known[one][0] == len(one.results)
        }

    def make(
        self,
        view: View,
        shown: Sequence[Exchange],
        sizes: Mapping[Exchange, int],
        budget: int,
        embedder: Embedder | None,
    ) -> None:
        """Make the choice. A failed embedder is not called again until the next user turn."""
        self.turn, self.failed = view.context.turns, None
        prompt = newest_prompt(view)
        query = _sample(prompt) if prompt else ""
        try:
            likeness = self._embed(embedder, query, shown) if embedder else _count(view, query, shown)
        except FunctionFailed as failed:
            self.failed = failed
            return
        by_seq = {exchange.seq: sizes[exchange] for exchange in shown}
        aside = [seq for seq in by_seq if seq not in self._free]
        room = budget - view.fixed_tokens - sum(by_seq[seq] for seq in aside)
        self._chosen = mmr(list(self._free), likeness, by_seq.__getitem__, room, aside, LAMBDA)
        taken = set(self._chosen)
        self._left = [seq for seq in self._free if seq not in taken]

    def beyond(self, excess: int, sizes: Mapping[Exchange, int]) -> list[int]:
        """Return the free exchanges to drop: first those not chosen, then the last chosen ones, then the oldest new
        ones."""
        gone = list(self._left)
        excess -= sum(sizes[self._free[seq]] for seq in gone)
        decided = {*self._chosen, *gone}
        for seq in (*reversed(self._chosen), *(seq for seq in self._free if seq not in decided)):
            if excess <= 0:
                break
            gone.append(seq)
            excess -= sizes[self._free[seq]]
        return gone

    def _embed(self, embedder: Embedder, query: str, shown: Sequence[Exchange]) -> Likeness:
        """Choose by an embedder, which gets the prompt and the texts it has not embedded yet."""
        known = self._vectors
        new = [one for one in shown if one not in known]
        given = embedder([query, *map(_text, new)])
        first, *rest = _checked(given, len(new) + 1, {len(vector) for _, vector in known.values()})
        known.update((one, (len(one.results), vector)) for one, vector in zip(new, rest, strict=True))
        return DenseLikeness(first, {one.seq: known[one][1] for one in shown})


def _count(view: View, query: str, shown: Sequence[Exchange]) -> Likeness:
    """Choose by the built-in vectors."""
    words: Mapping[Exchange, Counter[str]] = view.measured("terms", lambda exchange: terms(_text(exchange)))
    first, *rest = tfidf([terms(query), *(words[exchange] for exchange in shown)])
    return SparseLikeness(first, {one.seq: vector for one, vector in zip(shown, rest, strict=True)})


def _text(exchange: Exchange) -> str:
    return "\n".join(map(_sample, exchange.entries))


def newest_prompt(view: View) -> Entry | None:
    """Return the newest typed user message, excluding commands."""
    return next((item for item in reversed(view.context.items) if item.kind == "user"), None)


def _sample(entry: Entry) -> str:
    return "\n".join(entry.countable)[:SAMPLE_CHARS]


def _checked(given: Any, wanted: int, lengths: set[int]) -> list[Dense]:
    """Return an embedder's result after checking it. Raises FunctionFailed."""
    what = f"pruning.semantic.embedder: expected {wanted} vectors of one length"
    try:
        vectors = [unit(vector) for vector in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise FunctionFailed(f"{what}, {error}") from error
    lengths = lengths | {len(vector) for vector in vectors}
    if len(vectors) != wanted or len(lengths) != 1:
        raise FunctionFailed(f"{what}, got {len(vectors)} of lengths {sorted(lengths)}")
    if any(number != number for vector in vectors for number in vector):
        raise FunctionFailed(f"{what}, got one that is not finite")
    return vectors
