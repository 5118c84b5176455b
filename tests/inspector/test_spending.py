"""What was paid, and what pruning did to it."""

from prunecli.context.prune_history import PruneStats
from prunecli.inspector.spending import paid, pruning
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
)
from prunecli.model.messages import Text, Usage

TTL = 300_000


def price(model: str, usage: Usage) -> float | None:
    """Reading 1, writing 10, all else 2 USD a token."""
    if model == "?":
        return None
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return read + 10.0 * written + 2 * (usage.input_tokens + usage.output_tokens)


def answer(read: int, write: int, model: str = "m") -> AssistantMessage:
    return AssistantMessage((Text("x"),), model, usage=Usage(0, 0, read, write))


def clear(saved: int, seq: int = 1) -> PrunApplied:
    return PrunApplied("strategy", (Edit("clear", seq, None, "x", saved, 0),), tokens_removed=saved)


def log(*events: Event, step: int = 1_000) -> list[Record]:
    return [Record(seq, seq * step, event) for seq, event in enumerate(events)]


def test_each_response_is_a_row_and_an_unknown_price_is_none() -> None:
    rows = paid(log(answer(0, 10), answer(10, 1, "?"), AssistantMessage((), "m")), price)
    assert [(one.model, one.cost) for one in rows] == [("m", 100.0), ("?", None)]


def test_what_is_withheld_counts_for_each_request_until_it_is_taken_back() -> None:
    rows = paid(
        log(answer(0, 100), clear(40), answer(20, 40), answer(60, 1), PrunReverted((1,)), answer(20, 90)),
        price,
    )
    assert [one.withheld for one in rows] == [0, 40, 40, 0]


def prune(rewritten: int, *, idle_ms: int = 1_000, model: str = "m") -> PruneStats:
    return PruneStats(1, 0, "user", "", "", 100, 60, rewritten=rewritten, model=model, idle_ms=idle_ms)


def test_the_request_after_a_prune_is_held_against_one_that_reads_all_of_the_request_before() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price)
    books = pruning(rows, [prune(40), prune(99, idle_ms=TTL + 1)], price, TTL)
    assert (books.withheld, books.rewritten) == (80, 40)
    first = (100 + 10 * 5) - (20 + 10 * 45)  # all 100 read back and 5 new ones written, instead of 20 read
    second = (105 + 10 * 5) - (65 + 10 * 5)
    assert (books.saved, books.cost, books.net) == (second, -first, first + second)


def test_on_a_cold_cache_what_is_withheld_would_have_been_written() -> None:
    events = (answer(0, 100), clear(40), answer(0, 65))
    books = pruning(paid(log(*events, step=TTL + 1), price), [], price, TTL)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_a_cache_that_the_endpoint_lost_for_other_reasons_is_no_cost_of_pruning() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(60, 1), answer(0, 62)), price)
    books = pruning(rows[2:], [], price, TTL)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_without_a_report_of_the_cache_what_is_withheld_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    books = pruning(paid(log(clear(40), plain), price), [], price, TTL)
    assert (books.saved, books.cost) == (80.0, 0.0)


def test_after_a_compaction_and_before_a_rewound_prune_nothing_is_withheld() -> None:
    compacted = log(clear(40), CompactionApplied("s", 0, 1, model="m", usage=Usage(5, 5)), answer(1, 1))
    assert [(one.kind, one.withheld) for one in paid(compacted, price)] == [("summary", 0), ("answer", 0)]
    rewound = log(clear(10), clear(30, 2), Rewound(0), answer(1, 1))
    assert [one.withheld for one in paid(rewound, price)] == [10]


def test_without_a_price_nothing_is_made_up() -> None:
    books = pruning(paid(log(clear(40), answer(0, 9, "?")), price), [], price, TTL)
    assert (books.withheld, books.saved, books.net) == (40, None, None)


def test_a_restored_target_counts_no_longer_and_the_scale_is_the_endpoints() -> None:
    both = PrunApplied("user", (Edit("clear", 1, None, "x", 10, 0), Edit("clear", 2, None, "x", 30, 0)))
    rows = paid(log(both, PrunReverted((2,)), answer(1, 1)), price, lambda raw: round(1.5 * raw))
    assert rows[0].withheld == 15


def test_a_memo_counts_against_its_drops_until_the_last_of_them_is_restored() -> None:
    drops = (Edit("drop", 1, None, None, 50, 0), Edit("drop", 2, None, None, 30, 0))
    prune = PrunApplied("user", (Edit("memo", 1, None, "x", 0, 5), *drops))
    events = (prune, answer(1, 1), PrunReverted((1,)), answer(1, 1), PrunReverted((2,)), answer(1, 1))
    assert [one.withheld for one in paid(log(*events), price)] == [75, 25, 0]
    again = (prune, clear(7), PrunReverted((0,)), answer(1, 1), PrunReverted((1,)), answer(1, 1))
    assert [one.withheld for one in paid(log(*again), price)] == [7, 0]


def test_a_bill_of_many_prunes_is_summed_once() -> None:
    edits = tuple(Edit("clear", seq, None, "x", 2, 1) for seq in range(5_000))
    rows = paid(log(PrunApplied("strategy", edits), *[answer(1, 1)] * 5_000), price)
    assert {one.withheld for one in rows} == {5_000}


def cleared(read: int, write: int, tokens: int) -> AssistantMessage:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": tokens}
    return AssistantMessage((Text("x"),), "m", usage=Usage(0, 0, read, write), applied_edits=(edit,))


def test_what_the_endpoint_cleared_is_priced_like_a_prune() -> None:
    rows = paid(log(answer(0, 100), cleared(20, 45, 40), cleared(65, 5, 40)), price)
    assert [(one.withheld, one.cleared, one.edited) for one in rows] == [
        (0, 0, False),
        (40, 40, True),
        (40, 40, False),
    ]
    pruned = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price)
    one, other = pruning(rows, [], price, TTL), pruning(pruned, [], price, TTL)
    assert (one.saved, one.cost, one.cleared) == (other.saved, other.cost, 80)
