"""Counts tokens in threads, so that neither the screen nor a request waits."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from prunecli.agent.execute import Measured
from prunecli.context.exchange import Entry
from prunecli.context.spill import cut_of, spill
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter, result_tokens
from prunecli.model.edits import Edit
from prunecli.model.events import Event, PrunApplied, ToolResult
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import PREAMBLE, takes
from prunecli.model.touches import Touches, named
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime.choices import Choices
from prunecli.runtime.preamble import known_tools
from prunecli.session.session import Session
from prunecli.tools.tool import Tool
from prunecli.util.frozen import frozen

LARGE_CHARS = 50_000
"""Maximum characters counted between two key presses: 3 to 13 ms of work."""


def refold(session: Session, context: Context, tell: Sequence[Callable[[Session], None]]) -> None:
    """Fold all records into an empty context with another counter, then pass it to these readers."""
    for record in session.records:
        context.apply(record)
    session.context = context
    for reader in tell:
        reader(session)


def chosen_in(context: Context, choices: Choices, tools: Mapping[str, Tool]) -> Choices:
    """Return the choices for a session with this context, which need not be the current session."""
    recall = "recall" in known_tools(context, tools)
    return replace(choices, settings=context.settings, recall=recall)


def teller(context: Context) -> Callable[[int], int | None]:
    """Return a function from record numbers to tokens of entries; None if unknown or not counted yet."""

    def tokens(seq: int) -> int | None:
        entry = context.entries.get(seq)
        return None if entry is None else context.counts.told(entry)

    return tokens


def saver(context: Context) -> Callable[[int, Edit], int]:
    """Return a function from a prune and one of its edits to the tokens that it saves, as the prune was shown."""
    counts = context.counts

    def saved(prun: int, edit: Edit) -> int:
        record = context.pruns.get(prun)
        edits = record.event.edits if record and isinstance(record.event, PrunApplied) else ()
        shown = context.prune_history.shown_edit(prun, edit, edits)
        return counts.scale.tokens(*counts.saved_by([edit], context.entries)) if shown is None else shown

    return saved


@frozen
class Measuring:
    """A measure that counts tool results and decides where to cut them, before they are recorded."""

    session: Session
    choices: Callable[[], Choices]

    async def __call__(
        self, result: ToolResult, call: ToolUse, touches: Touches | None, seq: int
    ) -> Measured:
        """Measure a result, in a thread unless it is short."""
        work = partial(self._measured, result, call, touches, seq, self.choices())
        size = sum(len(block.text) for block in result.content if isinstance(block, Text))
        if size < LARGE_CHARS // 4:
            return work()
        return await asyncio.to_thread(work)

    @property
    def _counter(self) -> TokenCounter:
        return self.session.context.counts.counter

    @property
    def _lines(self) -> bool:
        return takes(self.session.context.settings.get(PREAMBLE), "recall", "lines")

    def _measured(
        self, result: ToolResult, call: ToolUse, touches: Touches | None, seq: int, choices: Choices
    ) -> Measured:
        counter = self._counter
        recall = choices.recall
        cut = cut_of(result, call, touches, seq, choices.caps, counter, recall=recall, lines=self._lines)
        if cut or counter.name != SHIPPED.name:
            return Measured(None, cut)  # the result has its own count, or the estimator needs no record
        return Measured(result_tokens(result.content, counter.count))


def interrupted(event: Event, seq: int, context: Context, choices: Callable[[], Choices]) -> Event:
    """Return the result of an interrupted call in the form to record; return other events unchanged."""
    exchange = context.in_progress
    if exchange is None or not isinstance(event, ToolResult):
        return event
    calls = {call.id: call for call in exchange.calls}
    if (call := calls.get(event.tool_use_id)) is None:
        return event
    touches, counter = exchange.started.get(call.id) or named(call.name, call.input), context.counts.counter
    lines = takes(context.settings.get(PREAMBLE), "recall", "lines")
    now = choices()
    return spill(event, call, touches, seq, now.caps, counter, recall=now.recall, lines=lines)


def to_count(context: Context) -> list[Entry]:
    """Return the entries to count in a thread before the context's figures are needed."""
    counts = context.counts
    waiting = counts.uncounted
    if not waiting or counts.counter.name == "chars4":
        return []
    return waiting if sum(entry.countable_chars for entry in waiting) >= LARGE_CHARS else []


async def count_ahead(context: Context, entries: Sequence[Entry]) -> None:
    """Count these entries in a thread, so that figures are ready when needed."""
    counter = context.counts.counter
    counted = await asyncio.to_thread(_counted, counter, entries)
    for entry, tokens in zip(entries, counted, strict=True):
        entry.sizes.tokens = tokens


def _counted(counter: TokenCounter, entries: Sequence[Entry]) -> list[int]:
    return [sum(map(counter.count, entry.countable)) + entry.image_tokens for entry in entries]
