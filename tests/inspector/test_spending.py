"""What was paid, and what pruning did to it."""

from collections.abc import Callable

from prunecli.context.prune_history import PruneStats
from prunecli.inspector.spending import paid, pruning
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    Record,
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
