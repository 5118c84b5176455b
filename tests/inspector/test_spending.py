"""What was paid, and what pruning did to it."""

import pytest

from prunecli.context.prune_history import Fetch, Lacked, PruneStats
from prunecli.context.spending import Pruning, paid, pruning, rewrites
from prunecli.model.events import AssistantMessage, AttemptBilled, CompactionApplied, Event, Record
from prunecli.model.messages import Text, Usage


def price(model: str, usage: Usage) -> float | None:
    """Reading 1, writing 10, all else 2 USD a token."""
    if model == "?":
        return None
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return read + 10.0 * written + 2 * (usage.input_tokens + usage.output_tokens)


def answer(read: int, write: int, model: str = "m") -> AssistantMessage:
    return AssistantMessage((Text("x"),), model, usage=Usage(0, 0, read, write))


def log(*events: Event) -> list[Record]:
    return [Record(seq, seq * 1_000, event) for seq, event in enumerate(events)]


def books(*pairs: tuple[AssistantMessage, Lacked], fetches: tuple[Fetch, ...] = ()) -> Pruning:
    lacked = {seq: lacked for seq, (_, lacked) in enumerate(pairs)}
    return pruning(paid(log(*(event for event, _ in pairs)), price, lacked, fetches), price)


def test_each_response_is_a_row_and_an_unknown_price_is_none() -> None:
    events = answer(0, 10), answer(10, 1, "?"), AssistantMessage((), "m"), AttemptBilled("m", Usage(5))
    rows = paid(log(*events), price)
    assert [(one.model, one.kind, one.cost) for one in rows] == [
        ("m", "answer", 100.0),
        ("?", "answer", None),
        ("m", "cut", 10.0),
    ]


def test_the_request_after_a_prune_is_held_against_one_that_reads_all_of_the_request_before() -> None:
    pruned = Lacked(40, prunes=(9,), rewritten=40)
    found = books((answer(0, 100), Lacked()), (answer(20, 45), pruned), (answer(65, 5), Lacked(40)))
    assert (found.withheld, found.rewritten) == (80, 40)
    rewritten, saved = 40 * (10 - 1), 2 * 40
    assert (found.saved, found.cost) == (saved, rewritten)
    first = (100 + 10 * 5) - (20 + 10 * 45)  # all 100 read back and 5 new ones written, instead of 20 read
    second = (105 + 10 * 5) - (65 + 10 * 5)
    assert found.net == saved - rewritten == first + second


def test_what_would_have_been_written_costs_by_the_lifetime_of_what_was() -> None:
    def hourly(model: str, usage: Usage) -> float:
        short = (usage.cache_creation_input_tokens or 0) - (hour := usage.cache_1h_input_tokens or 0)
        return (usage.cache_read_input_tokens or 0) + 10.0 * short + 16 * hour

    for share, each in ((0, 10.0), (1, 16.0)):
        event = AssistantMessage((Text("x"),), "m", usage=Usage(0, 0, 20, 45, None, 45 * share))
        found = pruning(paid(log(event), hourly, {0: Lacked(40, rewritten=40)}), hourly)
        assert found.cost == 40 * (each - 1)
        assert found.net == (100 + 5 * each) - (20 + 45 * each)


@pytest.mark.parametrize("part", ["pruned", "cleared", "unsent"])
def test_what_a_request_lacks_is_saved_at_the_price_it_would_have_had(part: str) -> None:
    """Read with a warm cache, written where it was new or the cache was cold, input without a cache."""
    lacked = Lacked(**{part: 40})
    assert books((answer(60, 5), lacked)).saved == 40.0
    assert books((answer(60, 5), lacked._replace(fresh=40))).saved == 400.0
    assert books((answer(0, 65), lacked._replace(cold=True))).saved == 400.0
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    assert books((plain, lacked)).saved == 80.0
    assert books((answer(60, 5), lacked)).cleared == (40 if part == "cleared" else 0)


def test_the_prunes_before_a_request_share_what_it_rewrote() -> None:
    """The figures of each add up to the one of the session."""

    def prune(seq: int, rewritten: int) -> PruneStats:
        return PruneStats(seq, 0, "user", "", "", 100, 60, rewritten=rewritten, model="m", idle_ms=1_000)

    lacked = {0: Lacked(40, prunes=(1, 2), rewritten=40), 1: Lacked(45, prunes=(4,), rewritten=35)}
    rows = paid(log(answer(20, 45), answer(30, 40)), price, lacked)
    found = rewrites(rows, {1: prune(1, 30), 2: prune(2, 10), 4: prune(4, 35)}, price)
    assert found == {1: (30, 270.0), 2: (10, 90.0), 4: (35, 315.0)}
    total = pruning(rows, price)
    assert (total.rewritten, total.cost) == (75, 675.0)


def test_a_summary_is_a_row_of_its_kind() -> None:
    summary = CompactionApplied("s", 0, 1, model="m", usage=Usage(5, 5))
    rows = paid(log(summary, answer(1, 1)), price, {0: Lacked(40)})
    assert [(one.kind, one.withheld) for one in rows] == [("summary", 40), ("answer", 0)]


def test_without_a_price_nothing_is_made_up() -> None:
    found = books((answer(0, 9, "?"), Lacked(40)))
    assert (found.withheld, found.saved, found.net) == (40, None, None)
    assert set(found.to_json().values()) == {None}


def test_what_is_fetched_again_counts_against_it() -> None:
    """Answer 1 did nothing but fetch 30 tokens: a request of 145 tokens that would have been read, its one token of
    output, 30 tokens written, then read with the next request."""
    asked = AssistantMessage((Text("x"),), "m", usage=Usage(0, 1, 100, 5))
    unsent = Lacked(unsent=40)
    rows = (
        (answer(0, 100), Lacked()),
        (asked, unsent._replace(fresh=40)),
        (answer(105, 32), unsent._replace(again=30, again_fresh=30)),
        (answer(137, 2), unsent._replace(again=30)),
    )
    found = books(*rows, fetches=(Fetch(3, 1, 1, 30),))
    assert found.saved == 400.0 + 40.0 + 40.0
    assert found.regret == (105 + 40 + 2 * 1) + 30 * 10 + 30
    assert found.balance == 480.0 - found.regret
    assert found.to_json()["net_usd"] == round(480.0 - found.regret, 6)


def test_a_fetch_beside_other_calls_is_no_request_of_its_own() -> None:
    events = log(answer(0, 100), answer(100, 5))
    assert [one.extra for one in paid(events, price, {}, [Fetch(3, 1, 2, 9)])] == [False, False]
    assert [one.extra for one in paid(events, price, {}, [Fetch(3, 1, 2, 9), Fetch(4, 1, 2, 9)])] == [
        False,
        True,
    ]


def test_without_a_report_of_the_cache_a_fetch_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    assert books((plain, Lacked(again=30, again_fresh=30))).regret == 60.0
