"""The terminal's table: its first three lines answer which setting is cheapest, what it saves and what it risks."""

from prunecli.replay.rows import Row, totals
from prunecli.replay.table import Report, lines
from prunecli.replay.validation import Validation, together


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
        "Risk: 4 of 16 shortened or cleared results were quoted later, 2 by edits; "
        "worst session: 1.25 times the cost of no pruning",
    ]


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
    assert "by agent  codex (1)  pi (1)\nauto          0.500   0.900" in said
    assert "by requests  to 20 (1)  over 80 (1)\nauto             0.500        0.900" in said
    assert "Not checked: the recordings report no usage" in said


def test_totals_add_up_and_the_peak_is_the_largest() -> None:
    found = totals([*rows("a", "codex", 10, 3.0, 1.0), *rows("b", "pi", 30, 1.0, 0.5)])
    assert [(row.strategy, row.requests, row.tokens, row.peak, row.cost) for row in found] == [
        ("no_pruning", 40, 200, 50, 4.0),
        ("auto", 40, 120, 40, 2.5),
    ]
    assert set(found[0].to_json()) - set(found[0].total_to_json()) == {"session", "agent"}


def test_the_error_is_that_of_all_sessions_together() -> None:
    found = together([Validation((0.01, 0.03), 110, 100), Validation((0.02,), 90, 100)])
    report = Report([rows("a", "codex", 10, 3.0, 1.0)], found)
    assert list(lines(report))[-2:] == [
        "Prompt sizes against 3 reports: median error 2.00%, 95th percentile 3.0%",
        "Cache reads: 200 predicted, 200 reported (+0.0%)",
    ]
