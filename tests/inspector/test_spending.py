"""What was paid, and what pruning did to it."""

from collections.abc import Callable

from prunecli.context.prune_history import Fetch, PruneStats
from prunecli.inspector.spending import paid, pruning, rewrites
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    Spilled,
    ToolResult,
    UserMessage,
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


def prune(seq: int, rewritten: int) -> PruneStats:
    return PruneStats(seq, 0, "user", "", "", 100, 60, rewritten=rewritten, model="m", idle_ms=1_000)


def test_the_request_after_a_prune_is_held_against_one_that_reads_all_of_the_request_before() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price, kept_out(40, 2, 3))
    books = pruning(rows, price)
    assert (books.withheld, books.rewritten) == (80, 40)
    rewritten, saved = 40 * (10 - 1), 2 * 40
    assert (books.saved, books.cost) == (saved, rewritten)
    first = (100 + 10 * 5) - (20 + 10 * 45)  # all 100 read back and 5 new ones written, instead of 20 read
    second = (105 + 10 * 5) - (65 + 10 * 5)
    assert books.net == saved - rewritten == first + second


def test_what_would_have_been_written_costs_by_the_lifetime_of_what_was() -> None:
    def hourly(model: str, usage: Usage) -> float:
        short = (usage.cache_creation_input_tokens or 0) - (hour := usage.cache_1h_input_tokens or 0)
        return (usage.cache_read_input_tokens or 0) + 10.0 * short + 16 * hour

    def written(read: int, tokens: int, hour: int) -> AssistantMessage:
        return AssistantMessage((Text("x"),), "m", usage=Usage(0, 0, read, tokens, None, hour))

    for share, each in ((0, 10.0), (1, 16.0)):
        events = (written(0, 100, 100 * share), clear(40), written(20, 45, 45 * share))
        books = pruning(paid(log(*events), hourly, kept_out(40, 2)), hourly)
        assert books.cost == 40 * (each - 1)
        assert books.net == (100 + 5 * each) - (20 + 45 * each)


def test_a_prune_is_not_charged_for_a_cache_that_the_endpoint_lost_with_its_system_prompt() -> None:
    def net_and_cost(preamble: int, read: int) -> tuple[float | None, float | None]:
        events = (answer(0, 9_000), clear(400), answer(read, 8_700 - read))
        books = pruning(paid(log(*events), price, kept_out(400, 2), preamble=preamble), price)
        return books.net, books.cost

    assert net_and_cost(5_000, 0) == (400 * 10, 0), "written anew either way, but less"
    assert net_and_cost(5_000, 5_000) == (9_000 + 100 * 10 - (5_000 + 3_700 * 10), (9_000 - 400 - 5_000) * 9)
    short = (9_000 + 100 * 10 - 8_700 * 10, (9_000 - 400) * 9)
    assert net_and_cost(1_000, 0) == short, "so short that it may not be cached at all"


def test_the_prunes_before_a_request_share_what_it_rewrote() -> None:
    """The figures of each add up to the one of the session."""
    events = (answer(0, 100), clear(30), clear(10), answer(20, 45), clear(5), answer(30, 40))
    rows = paid(log(*events), price, kept_out(40, 3, 5))
    found = rewrites(rows, {1: prune(1, 30), 2: prune(2, 10), 4: prune(4, 20)}, price)
    assert found == {1: (30, 270.0), 2: (10, 90.0), 4: (35, 315.0)}
    books = pruning(rows, price)
    assert (books.rewritten, books.cost) == (75, 675.0)


def test_on_a_cold_cache_what_is_withheld_would_have_been_written() -> None:
    events = (answer(0, 100), clear(40), answer(0, 65))
    books = pruning(paid(log(*events, step=TTL + 1), price, kept_out(40, 2)), price)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_a_cache_that_the_endpoint_lost_for_other_reasons_is_no_cost_of_pruning() -> None:
    rows = paid(log(answer(0, 100), clear(40), answer(60, 1), answer(0, 62)), price, kept_out(40, 2, 3))
    books = pruning(rows[2:], price)
    assert (books.saved, books.cost) == (400.0, 0.0)


def test_without_a_report_of_the_cache_what_is_withheld_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    books = pruning(paid(log(clear(40), plain), price, kept_out(40, 1)), price)
    assert (books.saved, books.cost) == (80.0, 0.0)


def test_the_request_of_a_summary_was_shorter_too() -> None:
    compacted = log(clear(40), CompactionApplied("s", 0, 1, model="m", usage=Usage(5, 5)), answer(1, 1))
    rows = paid(compacted, price, kept_out(40, 1))
    assert [(one.kind, one.withheld) for one in rows] == [("summary", 40), ("answer", 0)]


def test_a_summary_that_misses_the_cache_rewrites_nothing_because_of_earlier_prunes() -> None:
    summary = CompactionApplied("s", 0, 1, model="m", usage=Usage(0, 5, 20, 40))
    rows = paid(log(answer(0, 100), clear(40), answer(20, 40), summary), price, kept_out(40, 2, 3))
    assert [one.rewritten for one in rows] == [0, 40, 0]


def test_without_a_price_nothing_is_made_up() -> None:
    books = pruning(paid(log(clear(40), answer(0, 9, "?")), price, kept_out(40, 1)), price)
    assert (books.withheld, books.saved, books.net) == (40, None, None)


def cleared(read: int, write: int, tokens: int) -> AssistantMessage:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": tokens}
    return AssistantMessage((Text("x"),), "m", usage=Usage(0, 0, read, write), applied_edits=(edit,))


def test_what_the_endpoint_cleared_is_priced_like_a_prune() -> None:
    rows = paid(log(answer(0, 100), cleared(20, 45, 40), cleared(65, 5, 40)), price)
    assert [(one.withheld, one.cleared, one.rewritten) for one in rows] == [
        (0, 0, 0),
        (40, 40, 40),
        (40, 40, 0),
    ]
    pruned = paid(log(answer(0, 100), clear(40), answer(20, 45), answer(65, 5)), price, kept_out(40, 2, 3))
    one, other = pruning(rows, price), pruning(pruned, price)
    assert (one.saved, one.cost, one.cleared) == (other.saved, other.cost, 80)


def held_back(tokens: int, seq: str = "t") -> ToolResult:
    return ToolResult(seq, "bash", (Text("x"),), spilled=Spilled(tokens, "x"))


def test_what_was_never_sent_is_saved_at_the_price_it_would_have_had() -> None:
    """40 tokens: written with the first request after them, read with the next."""
    rows = paid(log(answer(0, 100), held_back(40), answer(100, 5), answer(105, 5)), price)
    assert [(one.withheld, one.fresh) for one in rows] == [(0, 0), (40, 40), (40, 0)]
    books = pruning(rows, price)
    assert (books.saved, books.cost, books.regret) == (400.0 + 40.0, 0.0, 0.0)


def test_what_was_never_sent_is_not_written_again_when_its_size_is_estimated_anew() -> None:
    """40 tokens at first, then 30, then 50: the content that was read is the same."""
    events = (answer(0, 100), held_back(40), answer(100, 5), answer(105, 5), answer(110, 5))
    sizes = {0: 1.0, 2: 1.0, 3: 0.75, 4: 1.25}
    rows = paid(log(*events), price, told=lambda raw, response: round(raw * sizes[response]))
    assert [(one.withheld, one.rewritten) for one in rows] == [(0, 0), (40, 0), (30, 0), (50, 0)]
    books = pruning(rows, price)
    assert (books.saved, books.cost) == (400.0 + 30.0 + 50.0, 0.0)


def test_what_was_never_sent_is_not_saved_from_a_summary_by_the_endpoint_of_the_turns_before_it() -> None:
    """Such a request has the first 40 tokens, and not the 90 of the turns that are kept."""
    events = (held_back(40), answer(0, 60), held_back(90), answer(60, 9))
    usage, block = Usage(0, 0, 0, 60), {"type": "compaction"}
    for made, left in (({}, 130), ({"block": block}, 40)):
        summary = CompactionApplied("s", -1, 2, model="m", usage=usage, **made)
        rows = paid(log(*events, summary, answer(0, 20), step=TTL + 1), price)
        assert [one.withheld for one in rows] == [40, 130, left, 90]


def test_on_a_cold_cache_it_would_have_been_written_again() -> None:
    books = pruning(paid(log(held_back(40), answer(0, 60), answer(0, 65), step=TTL + 1), price), price)
    assert books.saved == 800.0


def test_what_is_fetched_again_counts_against_it() -> None:
    """Entry 3 fetches 30 tokens for answer 2, which did nothing else: a request of 145 tokens that would have been
    read, its one token of output, 30 tokens written, then read with the next request."""
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
    books = pruning(rows, price)
    assert books.saved == 400.0 + 40.0 + 40.0
    assert books.regret == (105 + 40 + 2 * 1) + 30 * 10 + 30
    assert books.net == 480.0
    assert books.balance == 480.0 - books.regret


def test_a_fetched_result_that_is_pruned_as_well_saves_nothing() -> None:
    """Without prunes, neither its copy nor the request that fetched it would have been sent."""
    asked = AssistantMessage((Text("x"),), "m", usage=Usage(0, 0, 100, 0))
    again = ToolResult("r", "recall", (Text("y"),))
    events = (answer(0, 100), asked, again, answer(100, 900), clear(900, 2), answer(100, 2), answer(102, 3))
    withheld = kept_out(900, 5, 6)
    books = pruning(paid(log(*events), price, withheld, fetches=[Fetch(2, 1, 1, 900)]), price)
    assert (books.saved, books.regret) == (1_800.0, 100.0 + 9_000.0 + 1_800.0)


def test_a_fetch_beside_other_calls_is_no_request_of_its_own() -> None:
    asked = AssistantMessage((Text("x"),), "m", usage=Usage(0, 1, 100, 5))
    again = ToolResult("r", "recall", (Text("y"),))
    rows = paid(log(answer(0, 100), held_back(9), asked, again), price, fetches=[Fetch(3, 2, 2, 9)])
    assert [one.extra for one in rows] == [False, False]
    both = [Fetch(3, 2, 2, 9), Fetch(4, 2, 2, 9)]
    assert [one.extra for one in paid(log(answer(0, 100), held_back(9), asked), price, fetches=both)][1]


def test_a_rewind_and_a_compaction_of_them_end_what_was_held_back_and_fetched() -> None:
    again = ToolResult("r", "recall", (Text("y"),))
    events = (held_back(40), again, answer(0, 9), Rewound(0), answer(0, 9))
    fetches = [Fetch(1, -1, 0, 30)]
    for head_end, left in ((0, (40, 0)), (-1, (0, 0))):
        compacted = log(*events, CompactionApplied("s", head_end, 4), answer(0, 9))
        rows = paid(compacted, price, fetches=fetches)
        assert [(one.withheld, one.again) for one in rows] == [(40, 30), (40, 0), left]


def test_without_a_report_of_the_cache_a_fetch_counts_as_input() -> None:
    plain = AssistantMessage((Text("x"),), "m", usage=Usage(60, 5))
    again = ToolResult("r", "recall", (Text("y"),))
    books = pruning(paid(log(again, plain), price, fetches=[Fetch(0, -1, 0, 30)]), price)
    assert books.regret == 60.0


def test_the_balance_has_public_names_and_no_figure_without_a_price() -> None:
    books = pruning(paid(log(held_back(40), answer(0, 9)), price), price)
    assert books.to_json() == {"saved_usd": 400.0, "paid_usd": 0.0, "regret_usd": 0.0, "net_usd": 400.0}
    unknown = pruning(paid(log(held_back(40), answer(0, 9, "?")), price), price)
    assert set(unknown.to_json().values()) == {None}


def test_a_rewind_past_a_prune_pays_for_what_was_forgotten_meanwhile_and_takes_back_an_unsent_one_for_free() -> (
    None
):
    first = [answer(0, 100), clear(40), answer(20, 45)]
    books = pruning(paid(log(*first, Rewound(0), answer(20, 85)), price, kept_out(40, 2))[2:], price)
    assert (books.saved, books.rewritten, books.cost) == (0, 85, 85 * 9)
    unsent = paid(log(answer(0, 100), clear(40), PrunReverted((1,)), answer(20, 85)), price)
    assert [row.rewritten for row in unsent] == [0, 0]


def session(*steps: tuple[int, Event]) -> list[Record]:
    """Records with the seconds at which they came."""
    return [Record(seq, 1_000 * at, event) for seq, (at, event) in enumerate(steps)]


def prompt(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def test_without_prunes_an_old_prefix_is_as_old_as_the_last_request_that_would_have_read_it() -> None:
    """The request of entry 6 cannot read that of entry 3, since a prune is between them."""
    talk = [(0, prompt("a")), (1, answer(0, 100)), (2, prompt("b")), (3, answer(100, 50))]
    pruned = [(190, clear(40)), (200, prompt("c")), (201, answer(20, 140)), (202, Rewound(3))]
    for at, known in ((500, 150), (502, 0)):
        rows = paid(session(*talk, *pruned, (at, prompt("d")), (at, answer(0, 160))), price)
        assert (rows[-1].known, rows[-1].rewritten) == (known, known)


def test_each_model_has_a_cache_of_its_own_and_a_prompt_sent_again_is_in_it() -> None:
    away = [answer(0, 100), answer(0, 105, "n"), clear(40), answer(20, 60)]
    assert [row.known for row in paid(log(*away), price)] == [0, 0, 100]
    again = [prompt("a"), answer(0, 100), Rewound(-1), prompt("a"), answer(100, 0), Rewound(-1), prompt("b")]
    assert [row.known for row in paid(log(*again, answer(0, 90)), price)] == [0, 100, 0]


def test_back_at_a_model_its_prefix_is_found_near_the_end_of_the_request_before_only() -> None:
    for steps, saved in ((3, False), (30, True)):
        others = [answer(0, 100, "other") for _ in range(steps)]
        rows = paid(log(answer(0, 100), clear(40), *others, answer(0, 60)), price, kept_out(40, steps + 2))
        assert (rows[-1].known == 0) is saved


def test_a_prefix_that_is_read_was_near_enough_however_many_blocks_follow_it() -> None:
    """Thinking that the model can't read may not count."""
    others = [answer(0, 100, "other") for _ in range(30)]
    rows = paid(log(clear(40), answer(0, 60), *others, answer(60, 50)), price, kept_out(40, 1, 32))
    assert (rows[-1].known, rows[-1].rewritten) == (100, 0)


def test_a_prefix_that_an_undo_leaves_too_far_behind_was_lost_to_the_prune() -> None:
    """A compaction keeps the first turn and the last. With a short last turn the endpoint would have found what it
    had stored of the first, so it has lost it."""
    for blocks, known in ((25, 100), (1, 0)):
        kept = UserMessage((Text("b"),) * blocks)
        talk = [prompt("a"), answer(0, 100), prompt("c"), clear(40), kept, answer(0, 200)]
        acts = [CompactionApplied("s", 1, 4), PrunReverted((3,)), answer(0, 190)]
        assert paid(log(*talk, *acts), price, kept_out(40, 5))[-1].known == known


def test_prunes_in_what_a_summary_replaces_are_not_to_blame_for_what_the_next_request_does_not_read() -> None:
    kept = UserMessage((Text("b"),) * 25)
    talk = [prompt("a"), answer(0, 100), prompt("c"), clear(40, seq=2), kept, answer(100, 60)]
    for summary, known in ((CompactionApplied("s", 1, 4), 70), (CompactionApplied("s", 1, 2), 100)):
        assert paid(log(*talk, summary, answer(70, 190)), price, kept_out(40, 5))[-1].known == known


def test_a_summary_does_not_read_the_stopped_request_that_it_asks_its_question_in() -> None:
    """Its breakpoints are before the last message, where the prune has changed what was stored."""
    talk = [prompt("a"), answer(0, 100), clear(40), prompt("b")]
    stopped = AttemptBilled("m", Usage(0, 0, 20, 60), "stopped")
    summary = CompactionApplied("s", 0, 3, model="m", usage=Usage(0, 5, 20, 65))
    rows = paid(log(*talk, stopped, summary), price, kept_out(40, 4, 5))
    assert [(row.known, row.rewritten) for row in rows] == [(0, 0), (100, 40), (100, 40)]


def test_a_summary_reads_what_a_stopped_request_stored_anew_after_the_cache_had_expired() -> None:
    talk = [(0, prompt("a")), (1, answer(0, 100)), (900, clear(40)), (900, prompt("b"))]
    stopped = AttemptBilled("m", Usage(0, 0, 0, 80), "stopped")
    summary = CompactionApplied("s", 0, 3, model="m", usage=Usage(0, 5, 60, 25))
    rows = paid(session(*talk, (900, stopped), (901, summary)), price, kept_out(40, 4, 5))
    assert [row.known for row in rows] == [0, 0, 100]


def test_what_a_request_reads_after_a_second_summary_it_would_have_read_without_prunes_too() -> None:
    """After a summary, the request has a breakpoint at the end of the kept beginning, so the next one finds more than
    any request before the summary stored."""
    talk = [prompt("a"), answer(0, 100), prompt("b"), answer(100, 20), prompt("c"), answer(120, 20)]
    first = [CompactionApplied("s", 3, 5), answer(120, 40), clear(40), prompt("d"), answer(130, 50)]
    rows = paid(log(*talk, *first, CompactionApplied("s", 3, 9), answer(130, 30)), price)
    assert (rows[-1].known, rows[-1].rewritten) == (130, 0)


def test_a_change_of_model_renews_of_its_older_prefixes_only_what_it_reads() -> None:
    talk = [(0, prompt("a")), (1, answer(0, 100)), (2, prompt("b")), (3, answer(0, 150, "other"))]
    for back, known in ((200, 100), (400, 0)):
        acts = [(back, answer(0, 160)), (410, Rewound(1)), (410, clear(40)), (410, answer(0, 60))]
        assert paid(session(*talk, *acts), price)[-1].known == known


def test_of_a_request_to_another_model_no_more_is_cached_than_this_model_was_sent() -> None:
    """It is not sent the thinking of some other models."""
    talk = [prompt("a"), answer(0, 100, "other"), prompt("b"), answer(0, 90)]
    assert paid(log(*talk, Rewound(1), clear(40), answer(0, 50)), price)[-1].known == 90
