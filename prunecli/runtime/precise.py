"""Going over to the precise tokenizer while a session runs, without holding the screen up."""

import asyncio
from collections.abc import Sequence

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter

LARGE_CHARS = 50_000
"""Characters of an entry whose tokens are not counted between two keys: about 4 ms."""


async def recount(context: Context) -> None:
    """Loads the tokenizer and counts the live entries in a thread, then swaps the counter in one step."""
    entries = [entry for item in context.items for entry in _parts(item)]
    counter, counts = await asyncio.to_thread(_count, entries)
    context.tally.recount(counter, counts)


async def count_ahead(context: Context) -> None:
    """Counts large new entries in a thread, so that who asks for figures afterwards need not wait for them."""
    tally, counter = context.tally, context.tally.counter
    entries = tally.uncounted(LARGE_CHARS)
    counts = await asyncio.to_thread(_counts, counter, entries)
    if tally.counter is counter:
        for entry in entries:
            entry.tokens = counts[entry.seq]


def _parts(item: Entry) -> list[Entry]:
    return item.exchange.entries if item.exchange else [item]


def _count(entries: Sequence[Entry]) -> tuple[TokenCounter, dict[int, int]]:
    from prunecli.providers.tokenizer import load  # 0.3 s and 90 MB: only when it is wanted

    counter = load()
    return counter, _counts(counter, entries)


def _counts(counter: TokenCounter, entries: Sequence[Entry]) -> dict[int, int]:
    return {entry.seq: sum(map(counter.count, entry.countable)) + entry.image_tokens for entry in entries}
