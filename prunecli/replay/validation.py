"""Compares the predicted size and cache reads of each prompt with those that a recording reports.

The recording is folded with its own edits and reports. Each prompt is estimated before its report is known, based on
the earlier reports. Cache reads are those of the exact cache (`prefix.py`), with the lifetime that the endpoint
reported. If it reported none or several, it is the one that fits the recording better. The first request may read
content that earlier sessions cached, which counts as cached from then on. Attempts without an answer
are requests too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.frozen import frozen
from prunecli.model.events import AssistantMessage, AttemptBilled, Event, Record, RequestSent
from prunecli.model.messages import Json
from prunecli.model.requests import TTL_MS, reported_ttl
from prunecli.providers.models import token_factor
from prunecli.replay.prefix import PrefixCache


@frozen
class Validation:
    """The sorted relative errors of prompts with earlier reports, and the predicted and reported cache reads in
    tokens."""

    errors: tuple[float, ...] = ()
    predicted: int = 0
    reported: int = 0

    def at(self, part: float) -> float | None:
        """Return the error that this share of the requests does not exceed; None without reports."""
        return self.errors[max(0, round(part * len(self.errors)) - 1)] if self.errors else None

    def to_json(self) -> dict[str, Json]:
        """Return the summary figures."""
        return {
            "requests": len(self.errors),
            "prompt_error_median": self.at(0.5),
            "prompt_error_p95": self.at(0.95),
            "cache_read_predicted": self.predicted,
            "cache_read_reported": self.reported,
        }


def together(found: Iterable[Validation]) -> Validation:
    """Return the combined validation of several sessions."""
    each = list(found)
    errors = sorted(error for one in each for error in one.errors)
    return Validation(tuple(errors), sum(one.predicted for one in each), sum(one.reported for one in each))


def validated(records: Sequence[Record], counter: TokenCounter) -> Validation:
    """Compare a session with its reports."""
    errors: list[float] = []
    reads: list[tuple[int, ...]] = []
    reported = 0
    for error, predicted, read in _requests(records, counter):
        if error is not None:
            errors.append(error)
        if read is not None:
            reads.append(predicted)
            reported += read
    kept = {reported_ttl(record.event.usage) for record in records if _reports(record.event)} - {None}
    likely = [at for at, ttl in enumerate(TTL_MS) if len(kept) != 1 or ttl in kept]
    sums = [sum(one[at] for one in reads) for at in likely]
    return Validation(tuple(sorted(errors)), min(sums, key=lambda one: abs(one - reported)), reported)


def _requests(
    records: Sequence[Record], counter: TokenCounter
) -> Iterator[tuple[float | None, tuple[int, ...], int | None]]:
    """Yield for each reported prompt its error, the reads predicted with each lifetime, and the reported reads."""
    context = Context(counter, token_factor, billed=False)
    caches = [PrefixCache(0, lifetime, minimum=0) for lifetime in TTL_MS.values()]
    recorded = False
    sizes: dict[int, int] = {}
    shared: int | None = None
    now = 0
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            recorded = True
            for cache in caches:
                cache.lay_out(context, event.model)
        if _reports(event) and (prompt := event.usage.prompt_tokens):
            estimate = context.counts.context_tokens
            read = event.usage.cache_read_input_tokens
            predicted: list[int] = []
            marks = context.cache.marks if recorded else ()
            for cache in caches:
                if not recorded:
                    cache.lay_out(context, event.model)
                place, _ = cache.read(now, marks)
                predicted.append(sizes.get(cache.prefix(place), shared or 0))
                cache.sent(now, record.timestamp, marks=marks)
            sizes[caches[0].prefix(-1)] = estimate
            error = abs(estimate - prompt) / prompt if context.counts.scale.measured else None
            yield error, tuple(predicted), None if shared is None else read
            shared = (read or 0) if shared is None else shared
            if not recorded:  # by another agent
                context.apply(Record(record.seq, now, RequestSent(event.model, estimate, "")))
        recorded = recorded and not isinstance(event, AssistantMessage)
        context.apply(record)
        now = record.timestamp


def _reports(event: Event) -> TypeGuard[AssistantMessage | AttemptBilled]:
    """Return whether an event reports a request of this context, answered or not."""
    if isinstance(event, AttemptBilled):
        return event.reason in ("cut", "stopped")
    return isinstance(event, AssistantMessage)
