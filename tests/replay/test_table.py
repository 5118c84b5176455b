"""The terminal's table: its first three lines answer which setting is cheapest, what it saves and what it risks."""

from prunecli.features.replay.prefix import Validation, together
from prunecli.features.replay.rows import Report, Row, lines, totals


def rows(session: str, agent: str, requests: int, cost: float, saved: float, worse: float = 0.0) -> list[Row]:
    base = Row(session, agent, "no_pruning", "always", False, requests, 100, 50, cost=cost)
    base.cost_with_rereads = base.cost_with_any_rereads = cost
    auto = Row(session, agent, "auto", "cache_aware", True, requests, 60, 40, cost=cost - saved)
    auto.cost_with_rereads = cost - saved
    auto.cost_with_any_rereads = cost - saved + worse
    auto.pruned_results, auto.spilled_results, auto.regret, auto.edit_regret = 5, 3, 2, 1
    return [base, auto]


def test_the_first_three_lines_answer_what_it_would_have_saved_and_risks() -> None:
    report = Report([rows("a", "codex", 10, 3.0, 1.0), rows("b", "pi", 30, 1.0, 0.5, 0.75)], Validation())
    assert list(lines(report))[:3] == [
        "Cheapest: auto, gate cache_aware (2 sessions, 40 requests)",
        "Would have saved $0.75 of $4.00 (19%), with removed content fetched again whenever it is quoted",
        "Risk: 4 removed texts were quoted later, 2 by edits, with 10 pruned and 6 shortened results; "
        "worst session: 1.25 times the cost of no pruning (b)",
    ]


def test_of_a_single_session_no_worst_one_is_named() -> None:
    base, auto = rows("a", "codex", 10, 3.0, 1.0)
    auto.regret = auto.edit_regret = 0
    report = Report([[base, auto]], Validation())
    assert list(lines(report))[2] == "Risk: none of 5 pruned and 3 shortened results was quoted later"
    auto.thinking_breaks = 4
    assert list(lines(report))[2].endswith(
        "quoted later; 4 requests changed content already sent, which loses thinking on models that bind it"
    )
    auto.thinking_breaks, auto.dropped_answers = 0, 7
    assert list(lines(report))[2].endswith("quoted later; drops 7 of the model's own answers")
    auto.pruned_results, auto.spilled_results, auto.dropped_answers = 0, 1, 0
    assert list(lines(report))[2] == "Risk: the 1 shortened result was not quoted later"
    auto.regret = 1
    assert list(lines(report))[2] == (
        "Risk: 1 removed text was quoted later, 0 by edits, with 1 shortened result"
    )


def test_free_prompts_and_a_replay_without_strategies_are_said() -> None:
    free = Report([rows("a", "codex", 10, 0.0, 0.0)], Validation())
    assert list(lines(free))[1] == "These prompts are free, so no strategy would have saved money"
    alone = Report([rows("a", "codex", 10, 3.0, 1.0)[:1]], Validation())
    assert list(lines(alone))[1] == "No strategy was replayed; without pruning the prompts cost $3.00"


def test_a_narrow_terminal_gets_the_table_in_parts_and_whole_words() -> None:
    report = Report(
        [rows("a", "codex", 10, 3.0, 1.0), rows("b", "pi", 90, 1.0, 0.5)], Validation(), setup="5m cache"
    )
    said = list(lines(report, 60))
    assert max(map(len, said)) <= 60
    at = said.index("strategy     cost  + edits  + any  tokens  peak")
    assert said[at + 2 : at + 5] == ["auto        0.625    0.625  0.625     120    40", "", said[at + 4]]
    assert said[at + 4].split() == ["strategy", "breaks", "pruned", "shortened", "quoted"]
    assert said[at + 6].split() == ["auto", "0", "10", "6", "4/2"]
    assert "5m cache" in said


def test_no_pruning_is_named_where_nothing_is_cheaper() -> None:
    report = Report([rows("a", "codex", 10, 3.0, 1.0, worse=1.5)], Validation())
    assert list(lines(report))[:3] == [
        "Cheapest: no pruning (1 session, 10 requests)",
        "No strategy would have cost less than $3.00",
        "Risk: none",
    ]


def test_there_are_ratios_by_agent_and_by_length() -> None:
    report = Report([rows("a", "codex", 10, 3.0, 1.5), rows("b", "pi", 90, 1.0, 0.1)], Validation())
    said = "\n".join(lines(report))
    assert "+ any, by agent  codex (1)  pi (1)\nauto                 0.500   0.900" in said
    assert "+ any, by requests  to 20 (1)  over 80 (1)\nauto                    0.500        0.900" in said
    assert "Not checked: no session reports the usage of two requests" in said


def test_totals_add_up_and_the_peak_is_the_largest() -> None:
    found = totals([*rows("a", "codex", 10, 3.0, 1.0), *rows("b", "pi", 30, 1.0, 0.5)])
    assert [(row.strategy, row.requests, row.tokens, row.peak, row.cost) for row in found] == [
        ("no_pruning", 40, 200, 50, 4.0),
        ("auto", 40, 120, 40, 2.5),
    ]
    assert set(found[0].to_json()) - set(found[0].total_to_json()) == {"session", "agent"}


def test_the_error_is_that_of_all_sessions_together() -> None:
    found = together(
        [
            Validation((0.01, 0.03), 110, 100, 90, 100, (-0.1,)),
            Validation((0.02,), 90, 100, 315, 300, (0.05,)),
        ]
    )
    report = Report([rows("a", "codex", 10, 3.0, 1.0)], found)
    assert list(lines(report))[-2:] == [
        "Prompt sizes against 3 reports: median error 2.00%, 95th percentile 3.0%; "
        "summed up without later reports +1.2%, in a session up to -10.0%",
        "Cache reads: 200 predicted, 200 reported (+0.0%)",
    ]
