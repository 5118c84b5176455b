"""semantic (tinyAgent): keep the exchanges that matter to the newest prompt and repeat each other least.

Source: PRUNING.md sections 4 and 10. A greedy choice by maximal marginal relevance under `max_tokens`, made once in a
user turn, when not everything fits any more; what comes later in that turn goes last. The built-in vectors are
those of context/relevance.py. An embedder of the user's is `embedder(texts) -> a vector of numbers for each text`,
of which the first is the prompt.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.relevance import Dense, DenseLikeness, Likeness, SparseLikeness, mmr, terms, tfidf, unit
from prunecli.context.strategy import FunctionFailed, Proposal, Size, check_reference
from prunecli.context.view import View
from prunecli.model.edits import Edit

FUNCTIONS = ("embedder",)
LAMBDA = 0.5
"""The weight of relevance against novelty."""
SAMPLE_CHARS = 4_000
"""Of each message and result only so many characters are compared."""

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.semantic]`."""

    max_tokens: Annotated[Size | None, "Tokens that may be kept; unset: half of the window."] = None
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
        return Proposal((), f"everything fits max_tokens ({budget:,})", lambda _: "everything fits")
    try:
        gone = choice.beyond(view, budget, embedder)
    except FunctionFailed as failed:
        return Proposal((), failed.message, problem=failed.message)
    drops = view.keeping_thinking([choice.drop(view, seq) for seq in sorted(gone)])
    left = used - sum(drop.tokens_before for drop in drops)
    return Proposal(
        drops,
        f"{left / max(1, budget):.0%} of max_tokens ({budget:,}) kept",
        lambda _: "closest to the prompt",
    )


class Choice:
    """The exchanges of the working context with their tokens, and what was chosen of them in this user turn.

    A free one was chosen (`_chosen`, in that order), or not (`_left`), or came since (`_late`).
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.free: dict[int, Exchange] = {}
        self._aside: dict[int, Exchange] = {}
        self._costs: dict[int, int] = {}
        self._drops: dict[int, Edit] = {}
        self._chosen: dict[int, None] = {}
        self._left: set[int] = set()
        self._late: set[int] = set()
        self._turn = -1
        self._failed: FunctionFailed | None = None
        self._results: dict[int, int] = {}
        self._terms: dict[int, Counter[str]] = {}
        self._embedded: dict[int, Dense] = {}

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        for entry in touched:
            if entry.kind == "assistant" and entry.exchange:
                self._place(view, entry.exchange)

    def _place(self, view: View, exchange: Exchange) -> None:
        seq = exchange.seq
        self.tokens -= self._costs.pop(seq, 0)
        self._aside.pop(seq, None)
        self._drops.pop(seq, None)
        live = view.live(exchange) and exchange.head.is_sent
        if live:
            self._costs[seq] = view.shown_tokens(exchange)
            self.tokens += self._costs[seq]
        if live and not view.locked(exchange):
            if seq not in self.free:
                self.free[seq] = exchange
                self._late.add(seq)
        else:
            if live:
                self._aside[seq] = exchange
            self.free.pop(seq, None)
            self._chosen.pop(seq, None)
            self._left.discard(seq)
            self._late.discard(seq)
        if not live or self._results.get(seq) != len(exchange.results):
            self._terms.pop(seq, None)
            self._embedded.pop(seq, None)
        self._results[seq] = len(exchange.results)

    def beyond(self, view: View, budget: int, embedder: Embedder | None) -> list[int]:
        """The free exchanges that have to go: what was not chosen, then what was chosen last, then the oldest of
        what came since.

        Raises FunctionFailed where the embedder does, until the next user turn without asking it again.
        """
        room = budget - view.fixed_tokens
        if view.context.turns != self._turn:
            self._turn, self._failed = view.context.turns, None
            try:
                self._choose(view, room - sum(self._costs[seq] for seq in self._aside), embedder)
            except FunctionFailed as failed:
                self._failed = failed
        if self._failed:
            raise self._failed
        gone = list(self._left)
        excess = self.tokens - room - sum(self._costs[seq] for seq in gone)
        for seq in self._last_first():
            if excess <= 0:
                break
            gone.append(seq)
            excess -= self._costs[seq]
        return gone

    def drop(self, view: View, seq: int) -> Edit:
        """The edit that drops a free exchange."""
        if seq not in self._drops:
            self._drops[seq] = view.drop(self.free[seq])
        return self._drops[seq]

    def _last_first(self) -> Iterator[int]:
        yield from reversed(self._chosen)
        yield from sorted(self._late)

    def _choose(self, view: View, room: int, embedder: Embedder | None) -> None:
        seqs = sorted((*self.free, *self._aside))
        query = _sample(prompt) if (prompt := newest_prompt(view)) else ""
        likeness = self._embed(embedder, query, seqs) if embedder else self._count(query, seqs)
        aside = [seq for seq in seqs if seq in self._aside]
        chosen = mmr(sorted(self.free), likeness, self._costs.__getitem__, room, aside, LAMBDA)
        self._chosen, self._late = dict.fromkeys(chosen), set()
        self._left = set(self.free) - set(chosen)

    def _count(self, query: str, seqs: Sequence[int]) -> Likeness:
        """By the built-in vectors."""
        for seq in seqs:
            if seq not in self._terms:
                self._terms[seq] = terms(self._text(seq))
        first, *rest = tfidf([terms(query), *(self._terms[seq] for seq in seqs)])
        return SparseLikeness(first, dict(zip(seqs, rest, strict=True)))

    def _embed(self, embedder: Embedder, query: str, seqs: Sequence[int]) -> Likeness:
        """By an embedder, which is asked for the prompt and what it has not embedded yet."""
        new = [seq for seq in seqs if seq not in self._embedded]
        given = embedder([query, *(self._text(seq) for seq in new)])
        first, *rest = _vectors(given, len(new) + 1, {len(vector) for vector in self._embedded.values()})
        self._embedded.update(zip(new, rest, strict=True))
        return DenseLikeness(first, self._embedded)

    def _text(self, seq: int) -> str:
        exchange = self.free.get(seq) or self._aside[seq]
        return "\n".join(_sample(entry) for entry in exchange.entries)


def newest_prompt(view: View) -> Entry | None:
    """The user message that was typed last, commands aside."""
    return next((item for item in reversed(view.context.items) if item.kind == "user"), None)


def _sample(entry: Entry) -> str:
    return "\n".join(entry.countable)[:SAMPLE_CHARS]


def _vectors(given: Any, wanted: int, lengths: set[int]) -> list[Dense]:
    """What an embedder gave, checked. Raises FunctionFailed."""
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
