"""Opencode: everything older than the newest results within a budget is cleared."""

import pytest

from prunecli.context.strategies.opencode import PLACEHOLDER, Options
from tests.context.talk import ALL, PICTURE, Talk, seqs, talk_of, texts, tokens


def test_the_defaults_are_those_of_the_original() -> None:
    options = Options()
    assert (options.prune_minimum, options.prune_protect, options.protected_turns) == (20_000, 40_000, 2)
    assert options.protected_tools == ("skill",)


@pytest.mark.parametrize(("protect", "pruned"), [(59, 3), (60, 2), (109, 2), (110, 1), (160, 0)])
def test_up_to_and_including_the_budget_is_kept_and_the_result_that_crosses_is_cleared(
    protect: int, pruned: int
) -> None:
    talk, found = talk_of(50, 50, 60)
    asked = talk.ask("opencode", prune_minimum=0, prune_protect=protect, protected_turns=0)
    assert seqs(asked) == found[:pruned]


@pytest.mark.parametrize(("minimum", "pruned"), [(99, 2), (100, 0)])
def test_only_more_than_the_minimum_is_enough(minimum: int, pruned: int) -> None:
    talk, _ = talk_of(50, 50)
    asked = talk.ask("opencode", prune_minimum=minimum, prune_protect=0, protected_turns=0)
    assert len(asked.edits) == pruned


@pytest.mark.parametrize(("chars", "counted"), [(401, 100), (402, 101), (403, 101), (405, 101)])
def test_tokens_are_characters_by_four_rounded_half_up(chars: int, counted: int) -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "x" * chars, path="a")
    talk.seen()
    assert talk.ask("opencode", **{**ALL, "prune_minimum": counted}).edits == ()
    assert len(talk.ask("opencode", **{**ALL, "prune_minimum": counted - 1}).edits) == 1


def test_an_image_counts_nothing_and_goes_with_the_text() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "x" * 400, PICTURE, path="a")
    talk.seen()
    assert talk.ask("opencode", **{**ALL, "prune_minimum": 100}).edits == ()
    talk.apply(talk.ask("opencode", **ALL), "opencode")
    assert talk.shown() == {"toolu_0": PLACEHOLDER}


def test_the_placeholder_gets_the_handle_where_recall_is_enabled() -> None:
    talk, (first,) = talk_of(50)
    assert texts(talk.ask("opencode", **ALL)) == ["[Old tool result content cleared]"]
    told = texts(talk.ask("opencode", talk.view(recall=True), **ALL))
    assert told == [f"[Old tool result content cleared | recall {first}]"]


def test_errors_are_neither_cleared_nor_counted() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.step("read", tokens(60), path="b", error=True)
    talk.step("read", tokens(60), path="c")
    talk.seen()
    assert seqs(talk.ask("opencode", prune_minimum=59, prune_protect=60, protected_turns=0)) == [old]


def test_protected_tools_are_neither_cleared_nor_counted() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.step("skill", tokens(60))
    other = talk.step("my_tool", tokens(60))
    talk.seen()
    assert seqs(talk.ask("opencode", prune_minimum=0, prune_protect=60, protected_turns=0)) == [old]
    asked = talk.ask("opencode", **ALL, protected_tools=("read",))
    assert len(asked.edits) == 2
    assert other in seqs(asked)


def test_the_last_user_turns_are_kept_outside_of_the_budget() -> None:
    talk = Talk()
    talk.user()
    old = talk.step("read", tokens(60), path="a")
    talk.user()
    talk.user()
    talk.step("read", tokens(60), path="b")
    talk.seen()
    assert seqs(talk.ask("opencode", prune_minimum=0, prune_protect=0)) == [old]


def test_the_walk_stops_at_the_first_result_that_this_strategy_cleared_before() -> None:
    talk, (first, second, third) = talk_of(60, 60, 60)
    talk.edit("clear", second, PLACEHOLDER, "opencode")
    assert seqs(talk.ask("opencode", **ALL)) == [third]
    why = talk.ask("opencode", **ALL).why
    assert why(talk.entry(first)) == "older than the results already cleared"


def test_edits_of_others_are_passed_over() -> None:
    talk, (first, second, third) = talk_of(60, 60, 60)
    talk.edit("clear", second, "[gone]", "pi")
    assert seqs(talk.ask("opencode", **ALL)) == [first, third]


def test_a_clear_that_was_taken_back_stops_the_walk_no_more() -> None:
    talk, (first, second, third) = talk_of(60, 60, 60)
    talk.revert(talk.edit("clear", second, PLACEHOLDER, "opencode"))
    assert seqs(talk.ask("opencode", **ALL)) == [first, third]


def test_the_walk_stops_at_a_summary() -> None:
    talk = Talk()
    first = talk.user()
    kept = talk.step("read", tokens(60), path="a")
    talk.seen()
    talk.compact(first, kept - 1)
    talk.user()
    new = talk.step("read", tokens(60), path="b")
    talk.seen()
    assert seqs(talk.ask("opencode", **ALL)) == [new]


def test_what_the_model_has_not_seen_or_somebody_pinned_is_never_touched() -> None:
    talk = Talk()
    talk.user()
    pinned = talk.step("read", tokens(60), path="a")
    talk.pin(pinned)
    talk.step("read", tokens(60), path="b")
    assert talk.ask("opencode", **ALL).edits == ()


def test_a_result_that_the_placeholder_would_not_shorten_stays_and_counts_all_the_same() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(8), path="a")
    long = talk.step("read", tokens(60), path="b")
    talk.seen()
    assert seqs(talk.ask("opencode", prune_minimum=67, prune_protect=0, protected_turns=0)) == [long]
    assert talk.ask("opencode", prune_minimum=68, prune_protect=0, protected_turns=0).edits == ()


def test_forced_the_minimum_counts_as_zero() -> None:
    talk, found = talk_of(60, 60)
    asked = talk.ask("opencode", talk.view(forced=True), prune_protect=0, protected_turns=0)
    assert seqs(asked) == found


def test_the_note_says_what_holds_it_back() -> None:
    talk, _ = talk_of(60, 60)
    assert talk.ask("opencode", protected_turns=0).note == "the newest 40K of tool output is always kept"
    held = talk.ask("opencode", prune_protect=60, prune_minimum=60, protected_turns=0)
    assert held.note == "only 99% of prune_minimum (60 tokens) could go"


def test_each_result_that_is_spared_has_its_reason() -> None:
    talk = Talk()
    talk.user()
    small = talk.step("read", "abc", path="s")
    failed = talk.step("read", tokens(60), path="a", error=True)
    skill = talk.step("skill", tokens(60))
    near = talk.step("read", tokens(60), path="b")
    talk.user()
    recent = talk.step("read", tokens(60), path="c")
    why = talk.ask("opencode", prune_minimum=0, prune_protect=60, protected_turns=1).why
    assert {seq: why(talk.entry(seq)) for seq in (small, failed, skill, near, recent)} == {
        small: "its placeholder would not be shorter",
        failed: "an error",
        skill: "skill is a protected tool",
        near: "within prune_protect (60 tokens)",
        recent: "within the last 1 user turns",
    }
