"""Audits a session: the estimated and reported size of each request, its cache use and its cost.

All figures come from the log. They include the estimate that the screen showed, and about how much of each request
the endpoint should have read from its cache.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, TypeAlias

from prunecli.context.cache import LEAST_CACHED
from prunecli.context.cache_miss import counted_kinds, kind_of, predicted
from prunecli.context.counting import clearing_of
from prunecli.context.item_order import NOTHING_PLANNED
from prunecli.context.state import Context
from prunecli.context.tokens import total
from prunecli.model.events import AssistantMessage, AttemptBilled, CompactionApplied, Record, RequestSent
from prunecli.model.messages import Usage
from prunecli.model.requests import TTL_MS
from prunecli.session.verify import EarlierRequests
from prunecli.util.figures import money, share, short
from prunecli.util.frozen import frozen

Price: TypeAlias = Callable[[str, Usage], float | None]
"""(model, usage) -> USD, None for a model without a known price."""


_NO_ANSWER = ("cut", "stopped")


@frozen
class AuditRow:
    """One request. Counts are tokens, None if not reported; `cost` is in USD, None if no price is known.

    `pruned`: tokens that prunes withheld; `cleared`: those that the endpoint cleared from its copy. `error` is
    (estimate - report) / report. `proved`: the recorded hash equals the one computed from the log. `estimated` is
    None for summary requests, for responses to another program's request (kind "response"), and for attempts that
    were billed without an answer (kinds "cut" and "stopped").
    """

    seq: int
    at: int
    model: str
    kind: str = "request"
    proved: bool = True
    estimated: int | None = None
    pruned: int = 0
    cleared: int = 0
    reported: int | None = None
    error: float | None = None
    cache_expected: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int = 0
    cost: float | None = 0.0
    cache_miss: str = ""
    miss_predicted: str = ""


@frozen
class Audit:
    rows: tuple[AuditRow, ...]

    @property
    def errors(self) -> list[float]:
        """The absolute relative errors of the estimate, in ascending order."""
        return sorted(abs(row.error) for row in self.rows if row.error is not None)

    def summary(self) -> dict[str, Any]:
        """Return the figures as a JSON object; errors are None if nothing was reported."""
        errors = self.errors
        told = [row for row in self.rows if row.cache_read is not None and row.cache_expected is not None]
        return {
            "requests": len(self.rows),
            "answered": sum(row.reported is not None and row.kind not in _NO_ANSWER for row in self.rows),
            "not_proved": sum(not row.proved for row in self.rows),
            "error_median": _at(errors, 0.5),
            "error_p90": _at(errors, 0.9),
            "error_worst": _at(errors, 1.0),
            "cleared_tokens": sum(row.cleared for row in self.rows),
            "prompt_tokens": sum(row.reported or 0 for row in self.rows),
            "output_tokens": sum(row.output for row in self.rows),
            "cache_expected": sum(row.cache_expected or 0 for row in told),
            "cache_read": sum(row.cache_read or 0 for row in told),
            "cache_misses": counted_kinds(row.cache_miss for row in self.rows),
            "misses_not_predicted": sum(
                bool(row.cache_miss) and row.cache_miss != row.miss_predicted for row in self.rows
            ),
            "cost": sum(row.cost or 0 for row in self.rows),
            "unpriced": sum(row.cost is None for row in self.rows),
        }

    def to_json(self) -> dict[str, Any]:
        return {"requests": [asdict(row) for row in self.rows], "summary": self.summary()}

    def lines(self) -> list[str]:
        head = (
            *("record", "time", "estimate", "reported", "error", "read exp."),
            *("read", "written", "pruned", "cleared", "out", "cost"),
        )
        rows = [head, *map(_cells, self.rows)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
        table = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        ]
        return [*table, *_words(self.summary())]


def audit(records: Sequence[Record], context: Context, price: Price, ttl_ms: int = TTL_MS["5m"]) -> Audit:
    """Fold the records into an empty context and compare each request with its report."""
    rows: list[AuditRow] = []
    earlier = EarlierRequests(records)
    waiting: dict[str, Any] | None = None
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            if waiting:
                rows.append(AuditRow(**waiting))
            waiting = _sent(record, event, context, ttl_ms)
            waiting["proved"] = waiting["proved"] or earlier.proves(event)
        elif isinstance(event, AssistantMessage) and event.usage.prompt_tokens:
            rows.append(
                _answered(waiting, event, price) if waiting else _alone(record, event, "response", price)
            )
            waiting = None
        elif isinstance(event, AttemptBilled) and event.usage.prompt_tokens:
            if waiting and event.reason == "stopped":
                rows.append(replace(_answered(waiting, event, price), kind="stopped"))
                waiting = None
            else:
                rows.append(_alone(record, event, event.reason, price))
            if waiting and event.reason == "cut":
                rows[-1] = replace(rows[-1], pruned=waiting["pruned"])
        elif isinstance(event, CompactionApplied) and event.usage.prompt_tokens:
            rows.append(_alone(record, event, "summary", price))
        context.apply(record)
        earlier.apply(record)
    if waiting:
        rows.append(AuditRow(**waiting))
    return Audit(tuple(rows))


def _sent(record: Record, event: RequestSent, context: Context, ttl_ms: int) -> dict[str, Any]:
    """Return the row of a request, as far as it is known before its answer."""
    counts, cache, since = context.counts, context.cache, record.timestamp - ttl_ms
    stored = cache.cached(NOTHING_PLANNED, since, event.model)
    new = total(counts.item_amount(counts.items[item.seq]) for item in context.items[stored:])
    read = counts.context_tokens - counts.scale.tokens(*new) if cache.last_use(event.model) >= since else 0
    return {
        "seq": record.seq,
        "at": record.timestamp,
        "model": event.model,
        "proved": context.sha256() == event.sha256,
        "estimated": counts.context_tokens,
        "pruned": counts.scale.tokens(*counts.pruned),
        "cache_expected": read if read >= LEAST_CACHED else 0,
        "miss_predicted": predicted(context, event.model),
    }


def _answered(row: dict[str, Any], event: AssistantMessage | AttemptBilled, price: Price) -> AuditRow:
    reported = event.usage.prompt_tokens
    usage = _usage(event.usage, price(event.model, event.usage))
    miss = kind_of(event.cache_miss) if isinstance(event, AssistantMessage) else ""
    error = (row["estimated"] - reported) / reported
    return AuditRow(**row, error=error, cleared=_cleared(event), cache_miss=miss, **usage)


def _alone(
    record: Record,
    event: AssistantMessage | AttemptBilled | CompactionApplied,
    kind: str,
    price: Price,
) -> AuditRow:
    """Return the row of a billed attempt whose request is not in the log, or was answered by a later attempt."""
    usage = _usage(event.usage, price(event.model, event.usage))
    return AuditRow(record.seq, record.timestamp, event.model, kind, cleared=_cleared(event), **usage)


def _cleared(event: AssistantMessage | AttemptBilled | CompactionApplied) -> int:
    return clearing_of(event.applied_edits).tokens if isinstance(event, AssistantMessage) else 0


def _usage(usage: Usage, cost: float | None) -> dict[str, Any]:
    return {
        "reported": usage.prompt_tokens,
        "cache_read": usage.cache_read_input_tokens,
        "cache_write": usage.cache_creation_input_tokens,
        "output": usage.output_tokens,
        "cost": cost,
    }


def _at(sorted_values: Sequence[float], part: float) -> float | None:
    """Return the nearest-rank quantile of sorted values, or None if there are none."""
    if not sorted_values:
        return None
    return sorted_values[max(0, -(-round(part * 1000) * len(sorted_values) // 1000) - 1)]


def _cells(row: AuditRow) -> tuple[str, ...]:
    def tokens(value: int | None) -> str:
        return "-" if value is None else short(value)

    return (
        f"{row.seq}{'' if row.proved else ' ✗'}",
        datetime.fromtimestamp(row.at / 1000).astimezone().strftime("%m-%d %H:%M:%S"),
        row.kind if row.kind in ("summary", *_NO_ANSWER) else tokens(row.estimated),
        tokens(row.reported) if row.reported is not None else "no answer",
        "-" if row.error is None else f"{row.error:+.1%}",
        tokens(row.cache_expected),
        tokens(row.cache_read),
        tokens(row.cache_write),
        tokens(row.pruned),
        tokens(row.cleared),
        tokens(row.output),
        "?" if row.cost is None else money(row.cost),
    )


def _words(found: dict[str, Any]) -> list[str]:
    cost = money(found["cost"]) + ("+?" if found["unpriced"] else "")
    lines = [
        f"{found['requests']} requests, {found['answered']} answered: {short(found['prompt_tokens'])} prompt tokens, "
        f"{short(found['output_tokens'])} output tokens, {cost}"
    ]
    if found["error_median"] is not None:
        median, p90, worst = (found[f"error_{name}"] for name in ("median", "p90", "worst"))
        lines.append(f"estimate error: median {median:.1%}, p90 {p90:.1%}, worst {worst:.1%}")
    if found["cache_expected"] or found["cache_read"]:
        part = share(found["cache_read"] / found["cache_expected"]) if found["cache_expected"] else "-"
        read, expected = short(found["cache_read"]), short(found["cache_expected"])
        lines.append(f"cache: {read} tokens read, {expected} expected ({part})")
    if found["cache_misses"]:
        unknown = found["misses_not_predicted"]
        lines.append(
            f"cache misses by the endpoint: {found['cache_misses']}; {unknown or 'none'} not predicted"
        )
    if found["not_proved"]:
        lines.append(
            f"{found['not_proved']} requests do not match the log (✗); run `prunecli sessions verify`"
        )
    if found["unpriced"]:
        lines.append('"?": no known price; set [models."NAME"] prices in config.toml')
    return lines
