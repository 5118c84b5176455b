"""What a strategy had worked out of an entry or exchange is kept until a record touches it."""

from collections.abc import Callable

import pytest

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.memo import MOST_KEPT
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import Rewound
from tests.context.talk import Talk, tokens


def seq(item: Entry | Exchange) -> int:
    return item.seq


def asked(talk: Talk, view: View | None = None) -> list[int]:
    """Of which entries and exchanges something has to be worked out again when all are looked up; of all of them the
    first time. An exchange has the seq of its assistant message."""
    news: list[int] = []

    def noting(item: Entry | Exchange) -> int:
        news.append(item.seq)
        return item.seq

    view = view or talk.view()
    results = view.measured("results", noting)
    exchanges = view.measured("exchanges", noting)
    shown = [*view.context.live_results, *view.context.live_exchanges]
    for item in sorted(shown, key=seq):
        assert (exchanges[item] if isinstance(item, Exchange) else results[item]) == item.seq
    return news


def worked() -> tuple[Talk, list[int]]:
    """Two exchanges with two results each, and an answer."""
    talk = Talk()
    talk.user()
    found = []
    for _ in range(2):
        head = talk.call(("read", {}), ("bash", {}))
        found += [head, talk.answer(tokens(30)), talk.answer(tokens(30))]
    talk.say()
    return talk, found


def test_everything_is_worked_out_once_and_then_what_is_new_or_changed() -> None:
    talk, _ = worked()
    assert asked(talk) == list(range(1, talk.seq))
    assert asked(talk) == []
    talk.user()
    head = talk.call(("read", {}))
    assert asked(talk) == [head - 2, head]  # the answer before may have been in progress
    talk.answer("x")
    assert asked(talk) == [head, head + 1]


def test_when_the_model_answers_results_and_commands_leave_progress() -> None:
    talk, _ = worked()
    talk.step("read", "x")
    ran = talk.command("out")
    asked(talk)
    talk.say()
    assert asked(talk) == [ran - 2, ran - 1, ran, ran + 1]


@pytest.mark.parametrize(
    ("act", "touched"),
    [
        (lambda talk, found: talk.edit("repair", found[0], "x"), [0, 1, 2]),
        (lambda talk, found: talk.edit("clear", found[1], "x"), [0]),
        (lambda talk, found: talk.edit("drop", found[0]), []),
        (lambda talk, found: talk.pin(found[2], found[3]), [0, 2, 3, 4, 5]),
        (lambda talk, found: talk.pin(found[2], pinned=False), [0, 2]),
        (lambda talk, found: talk.revert(found[4]), [3, 4]),
        (lambda talk, found: talk.pin(999), []),
    ],
)
def test_what_an_act_touches_is_worked_out_again_with_what_shares_its_state(
    act: Callable[[Talk, list[int]], object], touched: list[int]
) -> None:
    talk, found = worked()
    asked(talk)
    act(talk, found)
    assert asked(talk) == [found[index] for index in touched]


def test_an_undo_touches_its_targets_and_again_when_their_shelter_ends() -> None:
    talk, found = worked()
    pruned = talk.edit("clear", found[1], "x")
    asked(talk)
    talk.revert(pruned)
    assert asked(talk) == found[:2]
    talk.user()
    assert asked(talk) == []
    talk.user()
    assert asked(talk) == found[:2]


def test_a_rewind_and_a_compaction_forget_everything() -> None:
    talk, found = worked()
    asked(talk)
    talk.add(Rewound(found[3] - 1))
    assert asked(talk) == found[:3]
    held = talk.view().kept("held", object)
    talk.compact(0, found[0])
    new = talk.say()
    assert asked(talk) == [new]
    assert talk.view().kept("held", object) is not held


def test_pending_edits_count_for_the_view_that_has_them_alone() -> None:
    talk, found = worked()
    asked(talk)
    pending = talk.view().after([Edit("clear", found[1], None, "x")])
    assert asked(talk, pending) == found[:2]
    assert asked(talk, pending) == found[:2]
    assert asked(talk) == found[:2]
    assert asked(talk) == []


def test_windows_and_handles_for_recall_have_values_of_their_own() -> None:
    talk, _ = worked()
    everything = asked(talk)
    assert asked(talk, talk.view(1_000)) == everything
    assert asked(talk, talk.view(recall=True)) == everything
    assert asked(talk) == []


def test_only_so_many_kinds_of_values_are_kept_and_those_asked_for_longest_ago_go() -> None:
    talk, _ = worked()
    first = talk.view().measured("first", seq)
    for number in range(MOST_KEPT - 1):
        talk.view().measured(number, seq)
    assert talk.view().measured("first", seq) is first
    talk.view().measured("one more", seq)
    assert talk.view().measured("first", seq) is first
    everything = [talk.view().kept(number, object) for number in range(MOST_KEPT)]
    assert [talk.view().kept(number, object) for number in range(MOST_KEPT)] == everything
