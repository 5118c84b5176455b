"""Going over to the precise tokenizer while a session runs, without holding the screen up."""

import asyncio
from collections.abc import Sequence

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter


async def recount(context: Context) -> None:
    """Loads the tokenizer and counts the live entries in a thread, then swaps the counter in one step."""
    entries = [entry for item in context.items for entry in _parts(item)]
    counter, counts = await asyncio.to_thread(_count, entries)
    context.tally.recount(counter, counts)


def _parts(item: Entry) -> list[Entry]:
    return item.exchange.entries if item.exchange else [item]


def _count(entries: Sequence[Entry]) -> tuple[TokenCounter, dict[int, int]]:
    from prunecli.providers.tokenizer import load  # 0.3 s and 90 MB: only when it is wanted

    counter = load()
    counts = {entry.seq: sum(map(counter.count, entry.countable)) + entry.image_tokens for entry in entries}
    return counter, counts
