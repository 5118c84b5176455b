"""Prune_old_observations: in older exchanges long results become their beginning."""

import pytest

from prunecli.context.strategies.prune_old_observations import Options
from tests.context.talk import PICTURE, Talk, seqs, texts, tokens


def talk_of(*texts_: str) -> tuple[Talk, list[int]]:
    talk = Talk()
    talk.user()
    return talk, [talk.step("read", text) for text in texts_]


def test_the_defaults_are_those_of_the_original() -> None:
    assert Options() == Options(keep_last_n=3, max_length=100)


@pytest.mark.parametrize(("keep", "trimmed"), [(3, 1), (4, 0), (5, 0), (1, 3), (0, 3), (-1, 3)])
def test_results_of_the_last_exchanges_stay_whole_the_one_in_progress_always(keep: int, trimmed: int) -> None:
    talk, found = talk_of(*[tokens(50)] * 4)
    assert seqs(talk.ask("prune_old_observations", keep_last_n=keep)) == found[:trimmed]


def test_an_answer_without_calls_is_an_exchange() -> None:
    talk, found = talk_of(*[tokens(50)] * 2)
    talk.say()
    talk.say()
    assert seqs(talk.ask("prune_old_observations", keep_last_n=3)) == found[:1]


def test_all_results_of_an_older_exchange_are_trimmed() -> None:
    talk = Talk()
    talk.user()
    talk.call(("read", {}), ("bash", {}))
    found = [talk.answer(tokens(50)), talk.answer(tokens(50))]
    talk.say()
    assert seqs(talk.ask("prune_old_observations", keep_last_n=1)) == found


def test_a_text_longer_than_max_length_becomes_its_first_characters_and_three_dots() -> None:
    talk, _ = talk_of("a" * 101 + "b" * 99, "tail")
    assert texts(talk.ask("prune_old_observations", keep_last_n=1)) == ["a" * 100 + "..."]


@pytest.mark.parametrize(("length", "trims"), [(20, False), (21, False), (40, True)])
def test_a_text_of_max_length_stays_and_one_that_would_cost_no_less(length: int, trims: bool) -> None:
    talk, _ = talk_of("a" * length, "tail")
    asked = talk.ask("prune_old_observations", keep_last_n=1, max_length=20)
    assert bool(asked.edits) is trims


def test_the_cut_keeps_characters_whole_and_counts_code_points() -> None:
    talk, _ = talk_of("🙂" * 19 + "e\u0301" + "x" * 100, "tail")
    asked = talk.ask("prune_old_observations", keep_last_n=1, max_length=20)
    assert texts(asked) == ["🙂" * 19 + "..."]


def test_the_blocks_of_a_result_are_joined_by_newlines() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", "ab", "c" * 200)
    talk.say()
    asked = talk.ask("prune_old_observations", keep_last_n=1, max_length=5)
    assert texts(asked) == ["ab\ncc..."]


def test_images_pinned_and_edited_results_stay() -> None:
    talk = Talk()
    talk.user()
    talk.step("read", tokens(50), PICTURE)
    talk.pin(talk.step("read", tokens(50)))
    talk.edit("trim", talk.step("read", tokens(50)), "t" * 190)
    failed = talk.step("read", tokens(50), error=True)
    talk.say()
    assert seqs(talk.ask("prune_old_observations", keep_last_n=1)) == [failed]


def test_the_handle_for_recall_is_a_last_line() -> None:
    talk, (first, _) = talk_of("a" * 300, "tail")
    asked = talk.ask("prune_old_observations", talk.view(recall=True), keep_last_n=1, max_length=5)
    assert texts(asked) == [f"aaaaa...\n[recall {first} for the full text]"]


def test_nothing_before_a_compaction_is_touched_and_its_exchanges_do_not_count() -> None:
    talk = Talk()
    start = talk.user()
    old = talk.step("read", tokens(50))
    talk.say()
    talk.compact(start, old - 1)
    new = talk.step("read", tokens(50))
    talk.say()
    assert talk.ask("prune_old_observations", keep_last_n=2).edits == ()
    assert seqs(talk.ask("prune_old_observations", keep_last_n=1)) == [new]


def test_each_result_that_is_spared_has_its_reason() -> None:
    talk, (short, last) = talk_of("ab", tokens(50))
    why = talk.ask("prune_old_observations", keep_last_n=1).why
    assert why(talk.entry(short)) == "short, or an image"
    assert why(talk.entry(last)) == "in the last 1 exchanges"
