"""What a session used, by day, model and origin, adds up to its bill, its audit and its /cost."""

from datetime import UTC

import pytest
from hypothesis import given, settings

from prunecli.context.bill import Bill
from prunecli.context.spending import balance, billed_responses
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.money.usage import Pricing, SessionUsage, total, usage_of
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    Event,
    Record,
    SessionStarted,
    Spilled,
    UserMessage,
)
from prunecli.model.messages import Text, Usage
from prunecli.session.audit import audit
from tests.laws.logs import logs, sessions
from tests.session.points import folded

TTL = 300_000


def price(model: str, usage: Usage) -> float:
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return (usage.input_tokens + 5 * usage.output_tokens + read / 10 + 1.25 * written) / 1_000_000


PRICING = Pricing(lambda model, usage, _: price(model, usage), lambda: Context(Chars4()), UTC)


def holds(records: list[Record], copied: int = -1) -> None:
    first = SessionStarted("s", "/w", "m", parent={"id": "p", "seq": copied} if copied >= 0 else None)
    records = [Record(-1, records[0].timestamp, first), *records]
    found = usage_of(records, PRICING)
    whole = total(row.sums for row in found.rows)
    bill, context = Bill(), folded(records)
    for record in records:
        bill = bill.after(record, price)
    own = total(row.sums for row in found.rows if row.origin != "copied")
    assert (own.requests, own.input, own.output) == (bill.requests, bill.input_tokens, bill.output_tokens)
    assert (own.cache_read, own.cache_write) == (bill.cache_read, bill.cache_write)
    assert own.cost == pytest.approx(bill.cost)
    assert whole.cost == pytest.approx(bill.cost + bill.copied)
    audited = audit(records, Context(Chars4()), price).summary()
    assert whole.prompt == audited["prompt_tokens"]
    assert whole.output == audited["output_tokens"]
    assert whole.cost == pytest.approx(audited["cost"])
    payments = billed_responses(records, context, price)
    assert whole.withheld == sum(one.withheld for one in payments)
    net = balance(records, context, price).balance
    assert net is not None
    assert whole.saved == pytest.approx(net)
    assert SessionUsage.from_text(found.to_text()) == found


@given(logs())
@settings(max_examples=30, deadline=None)
def test_the_parts_of_any_session_add_up(records: list[Record]) -> None:
    holds(records)


@given(sessions())
@settings(max_examples=30, deadline=None)
def test_the_parts_of_a_copy_of_a_working_session_add_up(records: list[Record]) -> None:
    holds(records, copied=len(records) // 2)


def test_what_was_held_back_of_an_attachment_is_counted_alike() -> None:
    spilled = Spilled(7, "line\n[5 of 6 lines held back | recall 1]")
    attached = Attached("read", {"path": "a.py"}, {}, spilled)
    texts = Text("[attached: a.py]"), Text("line\n" * 6)
    events: list[Event] = [
        *(UserMessage((Text("w0"),)) for _ in range(6)),
        UserMessage(texts, "attachment", attached=attached),
        AssistantMessage((Text("ok"),), "m", "end_turn", Usage(5, 5)),
    ]
    holds([Record(seq, 1_700_000_000_000 + seq, event) for seq, event in enumerate(events)])
