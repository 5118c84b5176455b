"""Count tokens in threads, so that neither the screen nor a request waits."""

import asyncio
from collections.abc import Callable, Sequence

from prunecli.context.exchange import Entry, result_tokens
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.model.messages import Block, Text
from prunecli.providers.tokenizer import SHIPPED
from prunecli.session.session import Session

LARGE_CHARS = 50_000
"""The most characters counted between two key presses; about 4 ms."""


WARM_SECONDS = 0.2
"""Delay after the first request before the tokenizer is loaded, which briefly blocks the interpreter."""


def warm(estimator: str) -> None:
    """Load the tokenizer in a thread, once, if this estimator needs it."""
    if estimator == SHIPPED.name:
        SHIPPED.warm()


def refold(session: Session, context: Context, tell: Sequence[Callable[[Session], None]]) -> None:
    """Fold all records into an empty context with another counter, then pass it to these readers."""
    for record in session.records:
        context.apply(record)
    session.context = context
    for reader in tell:
        reader(session)


def teller(context: Context) -> Callable[[int], int | None]:
    """Return the tokens of an entry by record number; None if unknown or not counted yet."""

    def tokens(seq: int) -> int | None:
        entry = context.entries.get(seq)
        return None if entry is None else context.counts.told(entry)

    return tokens


async def count_content(counter: TokenCounter, content: Sequence[Block]) -> int | None:
    """The tokens to record with a tool result; None if the estimator needs no record."""
    if counter.name != "tiktoken":
        return None
    size = sum(len(block.text) for block in content if isinstance(block, Text))
    if size < LARGE_CHARS and _is_ready(counter):
        return result_tokens(content, counter.count)
    return await asyncio.to_thread(result_tokens, content, counter.count)


def to_count(context: Context) -> list[Entry]:
    """The entries to count in a thread before the context's figures are needed."""
    counts = context.counts
    waiting = counts.uncounted
    if not waiting or counts.counter.name == "chars4":
        return []
    large = sum(entry.size[0] for entry in waiting) >= LARGE_CHARS
    return waiting if large or not _is_ready(counts.counter) else []


async def count_ahead(context: Context, entries: Sequence[Entry]) -> None:
    """Count these entries in a thread, so that figures are ready when needed."""
    counter = context.counts.counter
    counted = await asyncio.to_thread(_counted, counter, entries)
    for entry, tokens in zip(entries, counted, strict=True):
        entry.tokens = tokens


def _counted(counter: TokenCounter, entries: Sequence[Entry]) -> list[int]:
    return [sum(map(counter.count, entry.countable)) + entry.image_tokens for entry in entries]


def _is_ready(counter: TokenCounter) -> bool:
    return bool(getattr(counter, "ready", True))
