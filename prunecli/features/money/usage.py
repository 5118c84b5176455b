"""The usage of one session by day, model and origin: tokens, cost, cache, prunes and savings.

The figures match `/cost`: the same payments, at the same prices. Only sessions with prunes or shortened results are
folded, because others saved nothing.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, tzinfo
from typing import Any, Literal, TypeAlias, get_args

from prunecli.context.spending import Paid, billed_responses, effects, paid
from prunecli.context.state import Context
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    PrunApplied,
    Record,
    RequestSent,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Usage
from prunecli.providers.models import Prices
from prunecli.runtime.offered_models import recorded_prices
from prunecli.util.figures import in_tokens, money, share, short
from prunecli.util.frozen import frozen

Origin: TypeAlias = Literal["own", "copied", "imported"]
"""The origin of a request: this session, the session that it was copied from, or another program."""


@dataclass(slots=True)
class Sums:
    """Totals of requests. `input` is uncached tokens. `cost` is in USD, for requests with a known price; `unpriced`
    counts the others. `withheld` is the tokens that pruning kept out of requests, and `saved` its net effect in USD.
    `pruned` is the tokens of pruned results."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    unpriced: int = 0
    withheld: int = 0
    saved: float = 0.0
    prunes: int = 0
    pruned: int = 0

    def add(self, other: "Sums") -> None:
        for name in NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write

    @property
    def hit(self) -> float:
        """The share of prompt tokens that was read from the cache."""
        return self.cache_read / self.prompt if self.prompt else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "cache_hit": round(self.hit, 4)}


NAMES = tuple(one.name for one in fields(Sums))


def total(parts: Iterable[Sums]) -> Sums:
    found = Sums()
    for part in parts:
        found.add(part)
    return found


@frozen
class UsageRow:
    """The usage of a session on a day (YYYY-MM-DD) with a model."""

    day: str
    model: str
    origin: Origin
    sums: Sums


@dataclass(slots=True)
class SessionUsage:
    """The usage of a session. `parent` is the id of the session that it was copied from or is a task of, "" for none;
    `bad` is the number of damaged lines."""

    id: str
    cwd: str = ""
    name: str = ""
    started: int = 0
    parent: str = ""
    is_task: bool = False
    bad: int = 0
    rows: list[UsageRow] = field(default_factory=list)

    def to_text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> "SessionUsage":
        """Parse the text from `to_text`. Raises ValueError, TypeError or KeyError for anything else."""
        value = json.loads(text)
        rows = [
            UsageRow(row["day"], row["model"], row["origin"], Sums(**row["sums"])) for row in value["rows"]
        ]
        if any(row.origin not in get_args(Origin) for row in rows):
            raise ValueError("not the usage of a session")
        return SessionUsage(**{**value, "rows": rows})


@frozen
class Pricing:
    """The pricing of usage: `price(model, usage, recorded)` in USD, where `recorded` are the prices that a session
    recorded; a function that makes an empty context, and the time zone of days (None for
    the machine's)."""

    price: Callable[[str, Usage, Mapping[str, Prices]], float | None]
    context: Callable[[], Context]
    zone: tzinfo | None = None


def usage_of(
    records: Sequence[Record], pricing: Pricing, whole: Callable[[Record], Record] = lambda record: record
) -> SessionUsage:
    """Return the usage of a session with these records. `whole` loads content that is stored beside the log."""
    started = next((one.event for one in records if isinstance(one.event, SessionStarted)), None)
    model = started.model if started else ""
    parent = started.parent if started and isinstance(started.parent, dict) else {}
    found = SessionUsage(
        started.id if started else "",
        started.cwd if started else "",
        started=records[0].timestamp if records else 0,
        parent=str(parent.get("id") or ""),
        is_task=bool(parent.get("tool_use_id")),
    )
    copied = parent.get("seq") if not found.is_task else None
    rows: dict[tuple[str, str, Origin], Sums] = {}

    def sums(at: int, name: str, origin: Origin) -> Sums:
        day = datetime.fromtimestamp(at / 1000, pricing.zone).strftime("%Y-%m-%d")
        return rows.setdefault((day, name or model, origin), Sums())

    def price(name: str, usage: Usage) -> float | None:
        return pricing.price(name or model, usage, recorded)

    def origin_of(seq: int) -> Origin:
        return (
            "copied" if isinstance(copied, int) and seq <= copied else "imported" if seq in foreign else "own"
        )

    foreign, recorded = _foreign(records), recorded_prices(records)
    responses = _payments(records, pricing, price, whole)
    for one, effect in zip(responses, effects(responses, price), strict=True):
        part = sums(one.timestamp, one.model, origin_of(one.seq))
        part.add(_of(one))
        part.saved += effect.balance if effect else 0.0
    last = model
    for record in records:
        event = record.event
        if isinstance(event, AssistantMessage | RequestSent):
            last = event.model or last
        elif isinstance(event, PrunApplied):
            part = sums(record.timestamp, last, origin_of(record.seq))
            part.prunes += 1
            part.pruned += max(0, event.tokens_removed)
        elif isinstance(event, SettingChanged) and event.key == "session.name":
            found.name = str(event.value or "")
    found.rows = [UsageRow(*key, value) for key, value in sorted(rows.items())]
    return found


def _payments(
    records: Sequence[Record],
    pricing: Pricing,
    price: Callable[[str, Usage], float | None],
    whole: Callable[[Record], Record],
) -> list[Paid]:
    """Return all responses with usage. Folds the session only if something was kept out of a request."""
    if not any(map(_keeps_out, records)):
        return paid(records, price)
    context = pricing.context()
    records = list(map(whole, records))
    for record in records:
        context.apply(record)
    return billed_responses(records, context, price)


def _keeps_out(record: Record) -> bool:
    match record.event:
        case PrunApplied():
            return True
        case ToolResult(spilled=spilled):
            return spilled is not None
        case UserMessage(attached=attached):
            return attached is not None and attached.spilled is not None
        case AssistantMessage(applied_edits=edits):
            return bool(edits)
        case _:
            return False


def _foreign(records: Sequence[Record]) -> set[int]:
    """Return the responses to other programs' requests, which no request of prunecli's precedes."""
    found, sent = set[int](), False
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            sent = True
        elif isinstance(event, AssistantMessage):
            if not sent:
                found.add(record.seq)
            sent = False
        elif isinstance(event, AttemptBilled) and event.reason == "stopped":
            sent = False
    return found


def _of(one: Paid) -> Sums:
    usage = one.usage
    return Sums(
        1,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        one.cost or 0.0,
        int(one.cost is None),
        one.withheld,
    )


# In words ----------------------------------------------------------------------------------------------------

_UNKNOWN = "$ ?"
"""The text if no request has a known price."""


def pruning_words(sums: Sums) -> str:
    if not sums.withheld:
        return "no tokens saved by pruning"
    words = f"without pruning, ~{in_tokens(sums.withheld)} more sent"
    return words if cost_words(sums) == _UNKNOWN else f"{words}, {_saved(sums)} net"


def _saved(sums: Sums) -> str:
    """Return the net effect of pruning as text: saved ~$1.84."""
    return f"{'saved' if sums.saved >= 0 else 'cost'} ~{money(abs(sums.saved))}"


def cost_words(sums: Sums) -> str:
    if sums.requests and sums.unpriced == sums.requests:
        return _UNKNOWN
    return money(sums.cost) + ("+?" if sums.unpriced else "")


def cells(sums: Sums) -> tuple[str, ...]:
    cost, change = cost_words(sums), ""
    if sums.withheld or sums.saved:
        change = f"{'-' if sums.saved < 0 else ''}{money(abs(sums.saved))}" if cost != _UNKNOWN else _UNKNOWN
    return (
        f"{sums.requests:,}",
        short(sums.prompt),
        short(sums.output),
        share(sums.hit) if sums.prompt else "-",
        cost,
        f"{sums.prunes:,}" if sums.prunes else "",
        change,
    )
