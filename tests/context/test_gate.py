"""The gate: when a proposal is worth breaking the prompt cache, and what it says while it holds."""

from dataclasses import replace

import pytest

from prunecli.context.economics import Market, Prices, cold
from prunecli.context.impact import impact, judge
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.util.figures import money
from tests.context.expecting import numbers

SECOND = 1_000
MARKET = Market(now=100 * SECOND, ttl_ms=300 * SECOND, model="m", read=0.3, write=3.75)


def session(
    exchanges: int = 10, chars: int = 4_000, *, caches: bool = True, cold_at: int | None = None
) -> Context:
    """A session of so many exchanges whose last response came at 60 s. With `cold_at`, requests have breakpoints,
    and the one of that number found nothing cached."""
    context = Context(Chars4())
    seq, stored = 0, 0

    def add(event: Event) -> None:
        nonlocal seq
        context.apply(Record(seq, min(seq, 59) * SECOND + SECOND, event))
        seq += 1

    add(UserMessage((Text("go"),)))
    for number in range(exchanges):
        weight = context.counts.context_tokens
        add(RequestSent("m", 1, "00", () if cold_at is None else (2 * number,)))
        usage = Usage(weight, 5, 0, 0) if caches else Usage(weight, 5)
        if cold_at is not None:
            read = 0 if number == cold_at else stored
            usage, stored = Usage(0, 5, read, weight - read), weight
        add(AssistantMessage((ToolUse(f"t{number}", "read", {"path": "x"}),), "m", "tool_use", usage))
        add(ToolResult(f"t{number}", "read", (Text("x" * chars),)))
    return context


def clear(context: Context, count: int, start: int = 0) -> list[PrunApplied]:
    results = [e.seq for e in context.entries.values() if e.kind == "result"][start : start + count]
    return [PrunApplied("strategy", tuple(Edit("clear", seq, None, "[gone]", 1_000, 3) for seq in results))]


def test_a_cold_cache_costs_nothing() -> None:
    context = session()
    decision = judge(context, clear(context, 1), MARKET._replace(now=10_000 * SECOND))
    assert decision.apply
    assert "idle for 2h" in decision.reason


def test_a_prune_that_was_undone_before_the_next_request_leaves_the_cache_as_it_was() -> None:
    context = session(20)
    held = judge(context, clear(context, 1), MARKET)
    sent = context.messages()
    for pruned in (clear(context, 1), clear(context, 2, start=5)):
        context.apply(Record(100, 61 * SECOND, pruned[0]))
        assert context.wire.unchanged < 4 or context.messages() != sent
        assert (
            judge(context, clear(context, 1, start=10), MARKET).reason == "the cache is already broken here"
        )
        context.apply(Record(101, 61 * SECOND, PrunReverted((100,))))
        assert context.messages() == sent
        assert judge(context, clear(context, 1), MARKET) == held


def test_taking_back_what_no_request_contained_costs_nothing() -> None:
    context = session(20)
    (prune,) = clear(context, 2)
    targets = tuple(edit.seq for edit in prune.edits)
    context.apply(Record(100, 61 * SECOND, prune))

    def cost(*seqs: int) -> float:
        change = impact(context, [PrunReverted(seqs)], MARKET).change
        assert change is not None
        return change.cost or 0.0

    assert [cost(100), cost(*targets)] == [0, 0]
    whole = context.counts.context_tokens
    context.apply(Record(101, 61 * SECOND, RequestSent("m", 1, "00")))
    assert min(cost(100), cost(*targets)) > 0.9 * whole * 3.45 / 1e6


def test_a_rewind_keeps_what_the_last_request_cached() -> None:
    context = session(20)
    held = judge(context, clear(context, 1), MARKET)
    context.apply(Record(100, 61 * SECOND, UserMessage((Text("more"),))))
    context.apply(Record(101, 61 * SECOND, RequestSent("m", 1, "00")))
    context.apply(Record(102, 61 * SECOND, Rewound(58)))
    assert not held.apply
    assert not judge(context, clear(context, 1), MARKET).apply
    context.apply(Record(103, 61 * SECOND, clear(context, 1)[0]))
    context.apply(Record(104, 61 * SECOND, RequestSent("m", 1, "00")))
    context.apply(Record(105, 61 * SECOND, Rewound(58)))
    assert judge(context, clear(context, 1, start=1), MARKET).reason == "the cache is already broken here"


def test_another_model_has_a_cold_cache() -> None:
    context = session()
    assert judge(context, clear(context, 1), MARKET._replace(model="other")).apply


def test_a_model_that_answers_under_a_longer_name_keeps_its_cache() -> None:
    context = session()
    context.apply(Record(100, 60 * SECOND, RequestSent("m", 1, "00")))
    usage = Usage(context.counts.context_tokens, 5, 0, 0)
    context.apply(Record(101, 60 * SECOND, AssistantMessage((Text("ok"),), "m-20260101", usage=usage)))
    assert cold(context, MARKET) == ""


def test_before_the_first_response_nothing_is_cached() -> None:
    context = Context(Chars4())
    assert judge(context, [PrunApplied("strategy", (Edit("clear", 0, None, "x"),))], MARKET).apply


def test_a_full_window_alone_opens_nothing() -> None:
    """Whatever share of a limit the context takes: the price decides."""
    context = session(20)
    used = context.counts.context_tokens
    for limit in (0, used // 2, used, 10 * used):
        assert not judge(context, clear(context, 1), MARKET._replace(limit=limit)).apply


def test_near_the_limit_a_prune_also_saves_the_summary_that_it_makes_unnecessary() -> None:
    """8 of 40 results go: the requests to come save a little less than the rest costs to write again."""
    context = session(40)
    used = context.counts.context_tokens
    assert not judge(context, clear(context, 8), MARKET).apply
    near = MARKET._replace(limit=round(used / 0.76))
    decision = judge(context, clear(context, 8), near)
    assert decision.apply
    assert decision.reason.endswith(f", spares a summary (~{money(used * 0.3 / 1e6)})")
    assert not judge(context, clear(context, 8), near._replace(limit=round(used / 0.70))).apply
    full = near._replace(limit=used // 2)
    assert not judge(context, clear(context, 8), full).apply, "the summary is due all the same"


def test_without_prices_a_prune_near_the_limit_comes_before_a_compaction() -> None:
    context = session(20, caches=False)
    market = MARKET._replace(read=None, write=None)
    near = market._replace(limit=round(context.counts.context_tokens / 0.76))
    decision = judge(context, clear(context, 18), near)
    assert decision.apply
    assert decision.reason.startswith("rewrites ")
    assert not judge(context, clear(context, 18), market).apply


def test_further_requests_are_those_expected() -> None:
    context = session(20)
    found = clear(context, 10)
    assert judge(context, found, MARKET).apply
    assert not judge(context, found, MARKET, numbers(further_requests=(2, 3))).apply


def test_a_small_gain_far_back_is_held_with_its_price() -> None:
    context = session(20)
    decision = judge(context, clear(context, 1), MARKET)
    assert not decision.apply
    assert decision.freed == 998
    assert decision.reason.startswith("cache warm for ")
    two = clear(context, 2)
    assert judge(context, two, MARKET).freed == impact(context, two, MARKET).withheld, "as in a preview"
    assert "pruning now costs ~$" in decision.reason
    assert "a request" in decision.reason


def test_a_large_gain_for_a_small_rewrite_is_worth_it() -> None:
    context = session(20)
    decision = judge(context, clear(context, 18), MARKET)
    assert decision.apply
    assert "saves" in decision.reason


def test_each_length_of_a_prompt_has_its_prices() -> None:
    context = session(20)
    events = clear(context, 2)
    used = context.counts.context_tokens
    here = impact(context, events, MARKET)
    long = Prices(used - 100, 5 * 0.3, 5 * 3.75)
    crossed = impact(context, events, MARKET._replace(bands=(long,)))
    assert here.change is not None
    assert crossed.change is not None
    new = context.counts.tokens_of(context.items[-1:])
    assert crossed.change.gain == pytest.approx((used * 1.5 - here.after * 0.3) / 1e6)
    assert crossed.change.cost == pytest.approx(max(0, (here.change.cost or 0) - new * 4 * 3.45 / 1e6))
    above = impact(context, events, MARKET._replace(bands=(long._replace(above=0),))).change
    assert above is not None
    assert above.cost == pytest.approx(5 * (here.change.cost or 0))
    assert above.gain == pytest.approx(5 * (here.change.gain or 0))
    below = impact(context, events, MARKET._replace(bands=(long._replace(above=used),))).change
    assert below == here.change


def test_what_was_never_sent_breaks_nothing() -> None:
    context = session(3)
    assert judge(context, clear(context, 1, start=2), MARKET).apply


def test_without_prices_only_a_cold_cache_counts() -> None:
    context = session(20, caches=False)
    market = MARKET._replace(read=None, write=None)
    decision = judge(context, clear(context, 18), market)
    assert not decision.apply
    assert "$" not in decision.reason
    assert context.caches is False


def test_an_edit_rewrites_everything_behind_the_last_prefix_that_was_stored() -> None:
    context = session(10, cold_at=6)

    def rewritten(start: int) -> int:
        change = impact(context, clear(context, 1, start), MARKET).change
        assert change is not None
        return change.rewritten

    assert rewritten(1) == rewritten(5) > 1_000 + rewritten(6)
    assert rewritten(6) > rewritten(7) > rewritten(8) > rewritten(9) == 0


def test_a_rewind_leaves_the_prefix_before_it_cached() -> None:
    context = session(10, cold_at=0)
    end = max(item.seq for item in context.items[:5])
    context.apply(Record(100, 61 * SECOND, Rewound(end)))
    context.apply(Record(101, 62 * SECOND, UserMessage((Text("go on"),))))
    assert not judge(context, clear(context, 1), MARKET).apply


def continued(context: Context, *acts: Event, at: int) -> None:
    """Applies these acts, sends a request with a breakpoint at its end, and calls another tool."""
    seq = max(context.entries) + 100
    call = AssistantMessage((ToolUse(f"t{seq}", "read", {"path": "x"}),), "m", "tool_use")
    for number, act in enumerate(acts):
        context.apply(Record(seq + number, at * SECOND, act))
    tokens = context.counts.context_tokens
    context.apply(Record(seq + 10, at * SECOND, RequestSent("m", 1, "00", (len(context.messages()) - 1,))))
    context.apply(Record(seq + 11, at * SECOND, replace(call, usage=Usage(0, 5, 0, tokens))))
    context.apply(Record(seq + 12, at * SECOND, ToolResult(f"t{seq}", "read", (Text("x" * 4_000),))))


def written(context: Context, act: Event, now: int = 100) -> float:
    """The tokens that the act has the endpoint write instead of read, at its price."""
    change = impact(context, [act], MARKET._replace(now=now * SECOND)).change
    assert change is not None
    return (change.cost or 0) / 3.45e-6


def from_item(context: Context, start: int) -> float:
    """The tokens of the items from this one on that the last request contained."""
    return context.counts.tokens_of(context.items[start:-1])


def test_an_attempt_without_an_answer_keeps_the_cache_warm() -> None:
    context = session(10, cold_at=0)
    tokens = context.counts.context_tokens
    later = MARKET._replace(now=400 * SECOND)
    context.apply(Record(100, 350 * SECOND, RequestSent("m", 1, "00", (20,))))
    assert cold(context, later)
    context.apply(Record(101, 350 * SECOND, AttemptBilled("m", Usage(0, 0, 0, tokens), "stopped")))
    assert not cold(context, later)
    assert not judge(context, clear(context, 1), later).apply
    context.apply(Record(102, 350 * SECOND, AttemptBilled("m", Usage(0, 0, 0, tokens), "task")))


def test_a_model_that_was_left_for_another_finds_its_prefixes_again() -> None:
    context = session(10, cold_at=0)
    back = len(context.messages()) - 1
    context.apply(Record(100, 70 * SECOND, RequestSent("other", 1, "00", (back,))))
    answer = AssistantMessage((Text("x"),), "other", usage=Usage(0, 5, 0, context.counts.context_tokens))
    context.apply(Record(101, 70 * SECOND, answer))
    assert not cold(context, MARKET)
    assert cold(context, MARKET._replace(now=400 * SECOND))
    assert cold(context, MARKET._replace(model="third"))
    assert written(context, clear(context, 1)[0]) > 8_000


def test_a_request_for_a_summary_leaves_the_cache_warm() -> None:
    context = session(10, cold_at=0)
    later = MARKET._replace(now=400 * SECOND)
    tokens = context.counts.context_tokens
    context.apply(Record(100, 350 * SECOND, AttemptBilled("m", Usage(tokens), "summary")))
    assert cold(context, later), "the endpoint cached none of it"
    context.apply(Record(101, 351 * SECOND, AttemptBilled("m", Usage(50, 5, 0, tokens), "summary")))
    assert not cold(context, later)
    change = impact(context, clear(context, 1), later).change
    assert change is not None
    assert change.rewritten > 7_000


def test_a_rewind_to_the_start_leaves_the_system_prompt_cached() -> None:
    context = session(10, cold_at=0)
    context.apply(Record(100, 61 * SECOND, Rewound(-1)))
    assert not context.items
    assert not cold(context, MARKET)
    assert cold(context, MARKET._replace(model="other"))
    assert cold(context, MARKET._replace(now=400 * SECOND))


def test_a_memo_in_the_message_before_it_moves_the_breakpoint() -> None:
    context = session(30, cold_at=0)
    exchange = context.exchanges[5].seq
    drop = Edit("drop", exchange, None, None, 1_000, 0)
    memo = Edit("memo", exchange, None, "the gist", 0, 2)
    plain, noted = (PrunApplied("model", edits) for edits in ((drop,), (memo, drop)))
    before = context.counts.tokens_of(context.items[5:6])
    assert written(context, noted) - written(context, plain) == pytest.approx(before, abs=5)
