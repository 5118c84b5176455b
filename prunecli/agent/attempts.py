"""Sends a request until it is answered, and records the cost of failed attempts.

An endpoint reports the usage of the prompt when a response begins, and bills it even if the response fails. So an
attempt that breaks off or is stopped costs its prompt and its output until then. Most endpoints report output at
the end, so the output is estimated from what was received. Both are recorded once: as `AttemptBilled`, or as usage
of the partial answer if one is kept. An attempt that is refused before it begins reports nothing and costs nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from prunecli.agent.journal import Journal
from prunecli.agent.retry import RetryPolicy, Sleep
from prunecli.context.tokens import from_words
from prunecli.model.events import AssistantMessage, AttemptBilled, BilledReason, CompactionApplied
from prunecli.model.messages import Text, Usage
from prunecli.model.requests import Request
from prunecli.model.signals import (
    Notice,
    RetryScheduled,
    Signal,
    StreamDiscarded,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from prunecli.providers.provider import Begun, Provider, Response
from prunecli.util.errors import NoSummaryNow, ProviderError

SUMMARY_TRIES = 3
"""Maximum attempts to get a summary from an endpoint that can't make one at the moment."""


@dataclass(slots=True)
class Attempts:
    """The request attempts of one run. `spent` is called with the usage of attempts without an answer. If `is_quiet`,
    the readers of the session hear nothing of them."""

    session: Journal
    provider: Provider
    retry: RetryPolicy = RetryPolicy()
    sleep: Sleep = asyncio.sleep
    jitter: Callable[[], float] = lambda: 0.5
    spent: Callable[[Usage], None] = lambda _: None
    is_quiet: bool = False
    _model: str = ""
    _partial: list[str] = field(default_factory=list)
    _received: list[str] = field(default_factory=list)
    _begun: Begun = Begun(Usage())

    async def until_answered(self, request: Request, *, summary: bool) -> Response:
        """Send the request until it succeeds, and return the response. Retries are announced to the readers. Raises a
        ProviderError that no retry can fix."""
        attempt = 1
        self._model = request.model
        while True:
            streamed = False
            try:
                self._tell(StreamStarted())
                async for event in self.provider.stream(request):
                    if isinstance(event, Response):
                        self._forget()
                        return event
                    if isinstance(event, Begun):
                        self._begun = event
                        continue
                    streamed = True
                    self._receive(event)
                    self._tell(event)
                raise AssertionError("a provider's stream ended without a response")
            except ProviderError as error:
                self.bill("summary" if summary else "cut", self._so_far)
                if streamed:
                    self._tell(StreamDiscarded())
                wait = self.retry.wait(error, attempt, streamed=streamed, jitter=self.jitter())
                if request.compaction and isinstance(error, NoSummaryNow) and attempt >= SUMMARY_TRIES:
                    wait = None
                if wait is None:
                    error.hint = self.retry.hint(error)
                    raise
                if attempt == 1 and error.hint:
                    self._tell(Notice(f"{error.message}; {error.hint}", "warning"))
                self._tell(RetryScheduled(attempt, wait, error.message))
                await self.sleep(wait)
                attempt += 1

    def stopped(self) -> None:
        """Record the attempt that the user stopped: as a partial answer, with the thinking before it, if it has text,
        otherwise by its usage."""
        text = "".join(self._partial)
        if not text.strip():
            self.bill("stopped", self._so_far)
            return
        content = *self._begun.thinking, Text(text)
        partial = AssistantMessage(content, self._model, "interrupted", self._so_far)
        self._forget()
        self.session.keep(partial)

    def stopped_summary(self) -> None:
        """Record the usage of a summary that was stopped by the user or cut off by another error."""
        self.bill("summary", self._so_far)

    def bill(
        self, reason: BilledReason, usage: Usage, prepared: CompactionApplied | None = None, sha256: str = ""
    ) -> None:
        self._forget()
        if usage.prompt_tokens or prepared:
            self.spent(usage)
            self.session.keep(
                AttemptBilled(self._model, usage, reason, None, prepared, sha256 * bool(prepared))
            )

    def _tell(self, signal: Signal) -> None:
        if not self.is_quiet:
            self.session.tell(signal)

    def _receive(self, event: TextDelta | ThinkingDelta | ToolCallDelta) -> None:
        if isinstance(event, TextDelta):
            self._partial.append(event.text)
        self._received.append(event.json if isinstance(event, ToolCallDelta) else event.text)

    @property
    def _so_far(self) -> Usage:
        """The usage reported so far, with at least the output that was received."""
        output = round(self.session.context.counts.factor * from_words("".join(self._received)))
        usage = self._begun.usage
        return (
            replace(usage, output_tokens=max(usage.output_tokens, output)) if usage.prompt_tokens else usage
        )

    def _forget(self) -> None:
        self._partial.clear()
        self._received.clear()
        self._begun = Begun(Usage())
