"""semantic (tinyAgent): keep the exchanges that matter to the newest prompt and repeat each other least.

Source: PRUNING.md sections 4 and 10. A greedy choice by maximal marginal relevance under `max_tokens`, made once in a
user turn, when not everything fits any more; what comes later in that turn goes last. The built-in vectors are
those of context/relevance.py. An embedder of the user's is `embedder(texts) -> a vector of numbers for each text`,
of which the first is the prompt.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from prunecli.context import relevance
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.strategy import FunctionFailed, Proposal, check_reference
from prunecli.context.view import View

FUNCTIONS = ("embedder",)
LAMBDA = 0.5
"""The weight of relevance against novelty."""
SAMPLE_CHARS = 4_000
"""Of each message and result only so many characters are compared."""

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
Vectors = tuple[dict[int, float], Callable[[int, int], float]]
"""Each exchange's likeness to the prompt, and how like two exchanges are."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.semantic]`."""

    max_tokens: Annotated[int | None, "Tokens that may be kept; unset: half of the window."] = None
    embedder: Annotated[
        str,
        'A function that makes vectors, as "package.module:name"; empty: TF-IDF. Never from a project\'s file.',
    ] = ""

    def __post_init__(self) -> None:
        check_reference("embedder", self.embedder)


def propose(view: View, options: Options, embedder: Embedder | None = None) -> Proposal:
    """Drops of the exchanges that are not chosen, where not everything fits."""
    budget = options.max_tokens if options.max_tokens is not None else view.window // 2
    choice = view.follow(("semantic", options, embedder is None), Choice)
    used = view.fixed_tokens + choice.tokens
    if used <= budget:
        return Proposal((), f"{used:,} of {budget:,} tokens: everything fits", lambda _: "everything fits")
    try:
        kept = choice.kept(view, budget - view.fixed_tokens, embedder)
    except FunctionFailed as failed:
        return Proposal((), failed.message, problem=failed.message)
    drops = view.keeping_thinking(
        [view.drop(choice.free[seq]) for seq in sorted(choice.free) if seq not in kept]
    )
    left = used - sum(drop.tokens_before for drop in drops)
    return Proposal(
        drops,
        f"{left:,} of {budget:,} tokens kept",
        lambda _: "closest to the prompt",
    )


class Choice:
    """The exchanges of the working context with their tokens, and the order in which they were chosen."""

    def __init__(self) -> None:
        self.tokens = 0
        self.free: dict[int, Exchange] = {}
        self._aside: dict[int, Exchange] = {}
        self._costs: dict[int, int] = {}
        self._terms: dict[int, Counter[str]] = {}
        self._embedded: dict[int, tuple[float, ...]] = {}
        self._turn = -1
        self._order: list[int] = []
        self._newest = -1
        self._failed: FunctionFailed | None = None

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        for entry in touched:
            if entry.kind == "assistant" and entry.exchange:
                self._place(view, entry.exchange)

    def _place(self, view: View, exchange: Exchange) -> None:
        seq = exchange.seq
        self.tokens -= self._costs.pop(seq, 0)
        for kept in (self.free, self._aside, self._terms, self._embedded):
            kept.pop(seq, None)
        if view.live(exchange) and exchange.head.wire:
            self._costs[seq] = view.shown_tokens(exchange)
            self.tokens += self._costs[seq]
            where = self._aside if view.locked(exchange) else self.free
            where[seq] = exchange

    def kept(self, view: View, room: int, embedder: Embedder | None) -> set[int]:
        """The free exchanges that are kept within `room` tokens, those aside taken first.

        Raises FunctionFailed where the embedder does, until the next user turn without asking it again.
        """
        room -= sum(self._costs[seq] for seq in self._aside)
        if view.context.turns != self._turn:
            self._turn, self._failed, self._order = view.context.turns, None, []
            self._newest = max(self._costs, default=-1)
            try:
                self._order = self._chosen(view, room, embedder)
            except FunctionFailed as failed:
                self._failed = failed
        if self._failed:
            raise self._failed
        kept: set[int] = set()
        for seq in (*sorted((seq for seq in self.free if seq > self._newest), reverse=True), *self._order):
            if seq in self.free and self._costs[seq] <= room:
                kept.add(seq)
                room -= self._costs[seq]
        return kept

    def _chosen(self, view: View, room: int, embedder: Embedder | None) -> list[int]:
        seqs = sorted((*self.free, *self._aside))
        query = _sample(prompt) if (prompt := newest_prompt(view)) else ""
        likeness, similar = self._embed(embedder, query, seqs) if embedder else self._count(query, seqs)
        wanted = {seq: likeness[seq] for seq in seqs if seq in self.free}
        aside = [seq for seq in seqs if seq in self._aside]
        return relevance.mmr(wanted, self._costs, room, aside, similar, LAMBDA)

    def _count(self, query: str, seqs: Sequence[int]) -> Vectors:
        """By the built-in vectors."""
        for seq in seqs:
            if seq not in self._terms:
                self._terms[seq] = relevance.terms(self._text(seq))
        first, *rest = relevance.tfidf([relevance.terms(query), *(self._terms[seq] for seq in seqs)])
        vectors = dict(zip(seqs, rest, strict=True))
        likeness = {seq: relevance.sparse_cosine(first, vectors[seq]) for seq in seqs}
        return likeness, lambda one, other: relevance.sparse_cosine(vectors[one], vectors[other])

    def _embed(self, embedder: Embedder, query: str, seqs: Sequence[int]) -> Vectors:
        """By an embedder, which is asked for the prompt and what it has not embedded yet."""
        new = [seq for seq in seqs if seq not in self._embedded]
        given = embedder([query, *(self._text(seq) for seq in new)])
        first, *rest = _vectors(given, len(new) + 1, {len(vector) for vector in self._embedded.values()})
        self._embedded.update(zip(new, rest, strict=True))
        vectors = self._embedded
        likeness = {seq: relevance.cosine(first, vectors[seq]) for seq in seqs}
        return likeness, lambda one, other: relevance.cosine(vectors[one], vectors[other])

    def _text(self, seq: int) -> str:
        exchange = self.free.get(seq) or self._aside[seq]
        return "\n".join(_sample(entry) for entry in exchange.entries)


def newest_prompt(view: View) -> Entry | None:
    """The user message that was typed last, commands aside."""
    return next((item for item in reversed(view.context.items) if item.kind == "user"), None)


def _sample(entry: Entry) -> str:
    return "\n".join(entry.countable)[:SAMPLE_CHARS]


def _vectors(given: Any, wanted: int, lengths: set[int]) -> list[tuple[float, ...]]:
    """What an embedder gave, checked. Raises FunctionFailed."""
    what = f"pruning.semantic.embedder: expected {wanted} vectors of one length"
    try:
        vectors = [relevance.unit(vector) for vector in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise FunctionFailed(f"{what}, {error}") from error
    lengths = lengths | {len(vector) for vector in vectors}
    if len(vectors) != wanted or len(lengths) != 1:
        raise FunctionFailed(f"{what}, got {len(vectors)} of lengths {sorted(lengths)}")
    if any(number != number for vector in vectors for number in vector):
        raise FunctionFailed(f"{what}, got one that is not finite")
    return vectors
