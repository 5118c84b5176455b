"""What was paid, and what pruning did to it."""

from collections.abc import Callable

from prunecli.context.prune_history import Fetch, PruneStats
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
    Spilled,
    ToolResult,
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


def kept_out(tokens: int, *responses: int) -> Callable[[int], int]:
    """So many tokens were kept out of the requests of these responses."""
    return lambda response: tokens if response in responses else 0


def log(*events: Event, step: int = 1_000) -> list[Record]:
    return [Record(seq, seq * step, event) for seq, event in enumerate(events)]


def test_each_response_is_a_row_and_an_unknown_price_is_none() -> None:
    rows = paid(log(answer(0, 10), answer(10, 1, "?"), AssistantMessage((), "m")), price)
    assert [(one.model, one.cost) for one in rows] == [("m", 100.0), ("?", None)]


def prune(rewritten: int, *, idle_ms: int = 1_000, model: str = "m") -> PruneStats:
    return PruneStats(1, 0, "user", "", "", 100, 60, rewritten=rewritten, model=model, idle_ms=idle_ms)


def test_the_request_after_a_prune_is_held_against_one_that_reads_all_of_the_request_before() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price, kept_out(40, 2, 3))
    books = pruning(rows, [prune(40), prune(99, idle_ms=TTL + 1)], price, TTL)
    assert (books.withheld, books.rewritten) == (80, 40)
    first = (100 + 10 * 5) - (20 + 10 * 45)  # all 100 read back and 5 new ones written, instead of 20 read
    second = (105 + 10 * 5) - (65 + 10 * 5)
    assert (books.saved, books.cost, books.net) == (second, -first, first + second)


def test_on_a_cold_cache_what_is_withheld_would_have_been_written() -> None:
    events = (answer(0, 100), clear(40), answer(0, 65))
    books = pruning(paid(log(*events, step=TTL + 1), price, kept_out(40, 2)), [], price, TTL)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_a_cache_that_the_endpoint_lost_for_other_reasons_is_no_cost_of_pruning() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(60, 1), answer(0, 62)), price, kept_out(40, 2, 3))
    books = pruning(rows[2:], [], price, TTL)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_without_a_report_of_the_cache_what_is_withheld_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    books = pruning(paid(log(clear(40), plain), price, kept_out(40, 1)), [], price, TTL)
    assert (books.saved, books.cost) == (80.0, 0.0)


def test_from_the_request_of_a_summary_nothing_is_withheld() -> None:
    compacted = log(clear(40), CompactionApplied("s", 0, 1, model="m", usage=Usage(5, 5)), answer(1, 1))
    rows = paid(compacted, price, kept_out(40, 1))
    assert [(one.kind, one.withheld) for one in rows] == [("summary", 0), ("answer", 0)]


def test_without_a_price_nothing_is_made_up() -> None:
    books = pruning(paid(log(clear(40), answer(0, 9, "?")), price, kept_out(40, 1)), [], price, TTL)
    assert (books.withheld, books.saved, books.net) == (40, None, None)


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
    pruned = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price, kept_out(40, 2, 3))
    one, other = pruning(rows, [], price, TTL), pruning(pruned, [], price, TTL)
    assert (one.saved, one.cost, one.cleared) == (other.saved, other.cost, 80)


def held_back(tokens: int, seq: str = "t") -> ToolResult:
    return ToolResult(seq, "bash", (Text("x"),), spilled=Spilled(tokens, "x"))


def test_what_was_never_sent_is_saved_at_the_price_it_would_have_had() -> None:
    """40 tokens: written with the first request after them, read with the next."""
    rows = paid(log(answer(0, 100), held_back(40), answer(100, 5), answer(105, 5)), price)
    assert [(one.withheld, one.fresh) for one in rows] == [(0, 0), (40, 40), (40, 0)]
    books = pruning(rows, [], price, TTL)
    assert (books.saved, books.cost, books.regret) == (400.0 + 40.0, 0.0, 0.0)


def test_on_a_cold_cache_it_would_have_been_written_again() -> None:
    books = pruning(
        paid(log(held_back(40), answer(0, 60), answer(0, 65), step=TTL + 1), price), [], price, TTL
    )
    assert books.saved == 800.0


def test_what_is_fetched_again_counts_against_it() -> None:
    """Entry 3 fetches 30 tokens for answer 2, which did nothing else: a request of 105 tokens that are read, its one
    token of output, 30 tokens written, then read with the next request."""
    asked = AssistantMessage((Text("x"),), "m", usage=Usage(0, 1, 100, 5))
    again = ToolResult("r", "recall", (Text("y"),))
    events = (answer(0, 100), held_back(40), asked, again, answer(105, 32), answer(137, 2))
    rows = paid(log(*events), price, fetches=[Fetch(3, 2, 1, 30)])
    assert [(one.again, one.again_fresh, one.extra) for one in rows] == [
        (0, 0, False),
        (0, 0, True),
        (30, 30, False),
        (30, 0, False),
    ]
    books = pruning(rows, [], price, TTL)
    assert books.saved == 400.0 + 40.0 + 40.0
    assert books.regret == (105 + 2 * 1) + 30 * 10 + 30
    assert books.net == 480.0
    assert books.balance == 480.0 - books.regret


def test_a_fetch_beside_other_calls_is_no_request_of_its_own() -> None:
    asked = AssistantMessage((Text("x"),), "m", usage=Usage(0, 1, 100, 5))
    again = ToolResult("r", "recall", (Text("y"),))
    rows = paid(log(answer(0, 100), held_back(9), asked, again), price, fetches=[Fetch(3, 2, 2, 9)])
    assert [one.extra for one in rows] == [False, False]
    both = [Fetch(3, 2, 2, 9), Fetch(4, 2, 2, 9)]
    assert [one.extra for one in paid(log(answer(0, 100), held_back(9), asked), price, fetches=both)][1]


def test_a_compaction_and_a_rewind_end_what_was_held_back_and_fetched() -> None:
    again = ToolResult("r", "recall", (Text("y"),))
    events = (held_back(40), again, answer(0, 9), Rewound(0), answer(0, 9), CompactionApplied("s", 0, 1))
    rows = paid(log(*events, answer(0, 9)), price, fetches=[Fetch(1, -1, 0, 30)])
    assert [(one.withheld, one.again) for one in rows] == [(40, 30), (40, 0), (0, 0)]


def test_without_a_report_of_the_cache_a_fetch_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    again = ToolResult("r", "recall", (Text("y"),))
    books = pruning(paid(log(again, plain), price, fetches=[Fetch(0, -1, 0, 30)]), [], price, TTL)
    assert books.regret == 60.0


def test_the_balance_has_public_names_and_no_figure_without_a_price() -> None:
    books = pruning(paid(log(held_back(40), answer(0, 9)), price), [], price, TTL)
    assert books.to_json() == {"saved_usd": 400.0, "paid_usd": 0.0, "regret_usd": 0.0, "net_usd": 400.0}
    unknown = pruning(paid(log(held_back(40), answer(0, 9, "?")), price), [], price, TTL)
    assert set(unknown.to_json().values()) == {None}


def test_a_rewind_past_a_prune_pays_for_what_was_forgotten_meanwhile_and_takes_back_an_unsent_one_for_free() -> (
    None
):
    first = [answer(0, 100), clear(40), answer(20, 45)]
    rows = paid(log(*first, Rewound(0), answer(20, 85)), price, kept_out(40, 2))
    assert (rows[2].edited, rows[2].kept) == (True, 100)
    books = pruning(rows[2:], [], price, TTL)
    assert (books.saved, books.cost) == (0, 0), "nothing was known of the request before"
    books = pruning(rows[1:], [], price, TTL)
    assert books.cost == (20 + 10 * 85) - (100 + 10 * 5)
    unsent = paid(log(answer(0, 100), clear(40), PrunReverted((1,)), answer(20, 85)), price)
    assert [row.edited for row in unsent] == [False, False]
