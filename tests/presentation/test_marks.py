"""Which edits stand on which records: the marks of pruning."""

from prunecli.front.presentation.marks import Marks, label
from prunecli.model.edits import Edit

CLEAR = Edit("clear", 5, "t1", "[gone]", 4_100, 12)
TRIM = Edit("trim", 5, "t1", "short", 4_100, 1_000)
DROP = Edit("drop", 4, None, None, 9_000, 0)


def test_the_newest_edit_of_a_record_is_the_one_that_shows() -> None:
    marks = Marks()
    assert marks.prune(10, [TRIM]) == {5}
    assert marks.prune(11, [CLEAR]) == {5}
    assert marks.on(5) == (11, CLEAR)
    assert marks.revert([11]) == {5}
    assert marks.on(5) == (10, TRIM)


def test_dropping_an_exchange_marks_its_results_too() -> None:
    marks = Marks()
    marks.answered(4, 5)
    marks.answered(4, 6)
    assert marks.prune(10, [DROP]) == {4, 5, 6}
    assert [marks.on(seq) for seq in (4, 5, 6)] == [(10, DROP)] * 3
    assert marks.revert([4]) == {4, 5, 6}
    assert [marks.on(seq) for seq in (4, 5, 6)] == [None, None, None]


def test_a_memo_is_no_mark() -> None:
    marks = Marks()
    assert marks.prune(10, [Edit("memo", 4, None, "words", 0, 5)]) == set()
    assert marks.on(4) is None


def test_restoring_what_carries_no_edit_changes_nothing() -> None:
    marks = Marks()
    assert marks.revert([77]) == {77}
    assert marks.on(77) is None


def test_undoing_a_prune_whose_record_was_restored_before_changes_nothing_more() -> None:
    marks = Marks()
    marks.prune(10, [CLEAR])
    marks.prune(11, [TRIM])
    assert marks.revert([5]) == {5}
    assert marks.revert([11, 10]) == {5}
    assert marks.on(5) is None


def test_marks_say_what_was_saved() -> None:
    assert label((9, CLEAR), None) == "pruned ~4.1K"
    assert label((9, TRIM), None) == "pruned ~3.1K"
    assert label((9, DROP), 2_900) == "pruned ~2.9K"
    assert label((9, DROP), None) == "pruned"
    assert label((9, Edit("strip", 4, None, None, 10, 0)), None) == "not sent again"
    assert label((9, Edit("repair", 5, "t1", "x", 10, 1)), None) == "repaired"
    assert label(None, 5) == ""
