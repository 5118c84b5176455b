"""Which summaries may become the memory of a session, and when no more are requested."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from prunecli.agent.assemble import ModelSettings
from prunecli.agent.journal import Journal
from prunecli.context.compaction import signed_summary
from prunecli.model.events import CompactionApplied, Event, PrunApplied, SettingChanged
from prunecli.model.messages import Json, plain_text
from prunecli.providers.provider import Response
from prunecli.util.sanitize import one_line

MAX_FAILED = 3
FAILED = "compaction.failed"
"""The setting that records how many automatic summaries in a row failed, and with which model."""
WHOLE = ("end_turn", "stop_sequence", "tool_use")
"""The stop reasons of an answer whose text is complete."""
_UNFINISHED = {
    "max_tokens": "was cut off at the length limit",
    "model_context_window_exceeded": "was cut off because the window is full",
    "refusal": "was refused by the model",
}


def unfinished(stop_reason: str) -> str:
    """Return why a summary with this stop reason can't replace the messages; "" for a whole one."""
    if stop_reason in (*WHOLE, "compaction"):
        return ""
    return f"the summary {_UNFINISHED.get(stop_reason, f'is not complete ({one_line(stop_reason)[:40]})')}"


def summary_in(response: Response, *, by_endpoint: bool) -> tuple[Mapping[str, Json] | None, str, str]:
    """Return the endpoint's block, the text, and why it can't replace messages, of an answer with a summary."""
    block = signed_summary(response.content) if by_endpoint else None
    text = str(block["content"]) if block else plain_text(response.content)
    return block, text, unfinished(response.stop_reason) or ("" if text.strip() else "the summary is empty")


@dataclass(frozen=True, slots=True)
class FailedSummaries:
    """The automatic summaries in a row that failed with the current model. The count is in the log."""

    session: Journal
    model: Callable[[], ModelSettings]

    @property
    def count(self) -> int:
        match self.session.context.settings.get(FAILED):
            case {"model": str(model), "count": int(count)} if model == self.model().name:
                return count
        return 0

    @property
    def are_too_many(self) -> bool:
        """Whether no more are requested until /compact succeeds or the model changes."""
        return self.count >= MAX_FAILED

    def add(self) -> str:
        """Record one more; return the words to add to its notice."""
        self._record(self.count + 1)
        if not self.are_too_many:
            return ""
        return f". That is {MAX_FAILED} in a row, so only /compact or another model tries again"

    def clear(self) -> None:
        if self.count:
            self._record(0)

    def _record(self, count: int) -> None:
        self.session.keep(SettingChanged(FAILED, {"model": self.model().name, "count": count}))


def record_summary(session: Journal, summary: CompactionApplied, with_it: Sequence[Event]) -> None:
    """Record a summary after the prunes of what it keeps."""
    counts, entries = session.context.counts, session.context.entries
    edits = [edit for one in with_it if isinstance(one, PrunApplied) for edit in one.edits]
    saved = counts.scale.tokens(*counts.saved_by(edits, entries))
    for one in with_it:
        session.emit(one)
    session.keep(replace(summary, tokens_after=max(0, summary.tokens_after - saved)))
