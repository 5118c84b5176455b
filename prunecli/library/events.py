"""The events of a run for programs: frozen values in a closed union."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from prunecli.context.labels import prune_in_words, tokens_pruned_by
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    EndReason,
    PrunApplied,
    PruneSource,
    PrunReverted,
    Record,
    RunEnded,
    ToolResult,
)
from prunecli.model.messages import ToolUse, Usage, plain_text, tool_uses
from prunecli.model.signals import (
    Notice,
    RetryScheduled,
    SessionEvent,
    StreamDiscarded,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from prunecli.runtime.notices import notice_of
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.runtime import Runtime


@frozen
class Message:
    """A complete answer by the model, after its deltas. `stop_reason` is the endpoint's, or "interrupted"."""

    text: str
    model: str
    stop_reason: str
    usage: Usage


@frozen
class Pruned:
    """A prune: `tokens` of `results` results leave the context. `text` describes it in one line.

    `source` is the model, a strategy or the user; `thinking_blocks` are those that the endpoint drops because of it.
    """

    source: PruneSource
    strategy: str
    tokens: int
    results: int
    thinking_blocks: int
    text: str


@frozen
class Restored:
    """Prunes were undone, or entries restored, by the numbers of their records."""

    entries: tuple[int, ...]


@frozen
class Compacted:
    """The older part was summarized: the tokens of the context before and after."""

    before: int
    after: int
    summary: str


@frozen
class Figures:
    """The state after an answer or a prune: tokens of the next request and their limit, tokens withheld by pruning,
    requests so far, and the bill in USD."""

    context_tokens: int
    window: int
    pruned_tokens: int
    requests: int
    cost_usd: float


@frozen
class Finished:
    """The end of a run, always the last event: the reason, the last answer, and a note if the reason is not
    obvious."""

    reason: EndReason
    text: str
    note: str = ""


AgentEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | StreamDiscarded
    | Message
    | ToolUse
    | ToolProgress
    | ToolResult
    | Pruned
    | Restored
    | Compacted
    | Figures
    | Notice
    | Finished
)
"""The events that `Agent.run` yields. `StreamDiscarded` voids the deltas since the last `Message`; they are sent
again."""


class EventsOf:
    """The source of events for one session."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime
        self._summarizing = False

    def of(self, event: SessionEvent) -> Iterator[AgentEvent]:
        match event:
            case SummaryStarted() | SummaryEnded():
                self._summarizing = isinstance(event, SummaryStarted)
            case TextDelta() | ThinkingDelta() | StreamDiscarded() if not self._summarizing:
                yield event
            case ToolProgress() | Notice():
                yield event
            case RetryScheduled(_, seconds, reason):
                yield Notice(f"{reason}; retrying in {seconds:.1f} s", "warning")
            case Record():
                yield from self._record(event)
            case _:
                if line := notice_of(event, self._runtime):
                    yield Notice(line)

    def _record(self, record: Record) -> Iterator[AgentEvent]:
        event = record.event
        match event:
            case AssistantMessage():
                yield Message(plain_text(event.content), event.model, event.stop_reason, event.usage)
                yield from tool_uses(event.content)
                yield self.figures()
            case ToolResult():
                yield event
            case PrunApplied():
                tokens = tokens_pruned_by(self._runtime.session.context, record.seq) or 0
                yield Pruned(
                    event.source,
                    event.strategy or "",
                    tokens,
                    event.messages_removed,
                    event.thinking_blocks,
                    prune_in_words(event, tokens),
                )
                yield self.figures()
            case PrunReverted(seqs):
                yield Restored(seqs)
                yield self.figures()
            case CompactionApplied(summary=summary, tokens_before=before, tokens_after=after):
                yield Compacted(before, after, summary)
                yield self.figures()
            case RunEnded():
                pass  # `Finished` reports it
            case _:
                if line := notice_of(record, self._runtime):
                    yield Notice(line)

    def figures(self) -> Figures:
        status = self._runtime.status()
        ledger, bill = status.ledger, status.bill
        return Figures(ledger.context_tokens, ledger.window, ledger.pruned_tokens, bill.requests, bill.cost)
