"""An index follows the fold with what changed, and keeps the edits it made until their target is touched."""

from collections.abc import Callable, Sequence

import pytest

from prunecli.context.changes import MOST_KEPT
from prunecli.context.exchange import Entry
from prunecli.context.index import ResultIndex
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import Rewound
from tests.context.talk import Talk, tokens


class Noting:
    """A follower that notes what it was told."""

    def __init__(self) -> None:
        self.told: list[list[int]] = []

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        self.told.append([entry.seq for entry in touched])


def told(talk: Talk, view: View | None = None) -> list[int]:
    """What a follower is told now; it is told everything the first time."""
    follower = (view or talk.view()).follow("noting", Noting)
    news = [seq for seqs in follower.told for seq in seqs]
    follower.told.clear()
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


def test_a_follower_is_told_everything_once_and_then_what_changed() -> None:
    talk, _ = worked()
    assert told(talk) == list(range(talk.seq))
    assert told(talk) == []
    talk.user()
    head = talk.call(("read", {}))
    assert told(talk) == [head - 2, head - 1, head]  # the answer before may have been in progress
    talk.answer("x")
    assert told(talk) == [head, head + 1]


def test_when_the_model_answers_results_and_commands_leave_progress() -> None:
    talk, found = worked()
    talk.step("read", "x")
    ran = talk.command("out")
    told(talk)
    talk.say()
    assert told(talk) == [ran - 2, ran - 1, ran, ran + 1]
    assert found


@pytest.mark.parametrize(
    ("act", "touched"),
    [
        (lambda talk, found: talk.edit("clear", found[1], "x"), [0, 1]),
        (lambda talk, found: talk.edit("drop", found[0]), [0, 1, 2]),
        (lambda talk, found: talk.pin(found[2], found[3]), [0, 2, 3, 4, 5]),
        (lambda talk, found: talk.pin(found[2], pinned=False), [0, 2]),
        (lambda talk, found: talk.revert(found[4]), [3, 4]),
        (lambda talk, found: talk.pin(999), []),
    ],
)
def test_what_an_act_touches_is_told_with_what_shares_its_state(
    act: Callable[[Talk, list[int]], object], touched: list[int]
) -> None:
    talk, found = worked()
    told(talk)
    act(talk, found)
    assert told(talk) == [found[index] for index in touched]


def test_an_undo_touches_its_targets_and_again_when_their_shelter_ends() -> None:
    talk, found = worked()
    pruned = talk.edit("clear", found[1], "x")
    told(talk)
    talk.revert(pruned)
    assert told(talk) == found[:2]
    first = talk.user()
    assert told(talk) == [first]
    second = talk.user()
    assert told(talk) == [*found[:2], second]


def test_a_compaction_and_a_rewind_make_a_follower_anew() -> None:
    talk, found = worked()
    told(talk)
    talk.add(Rewound(found[3] - 1))
    assert told(talk) == list(range(found[3]))
    talk.compact(0, found[0])
    new = talk.say()
    assert told(talk) == [new]


def test_a_follower_sees_pending_edits_and_sees_them_gone() -> None:
    talk, found = worked()
    told(talk)
    pending = talk.view().after([Edit("clear", found[1], None, "x")])
    assert told(talk, pending) == found[:2]
    assert told(talk, pending) == found[:2]
    assert told(talk) == found[:2]
    assert told(talk) == []


def test_only_so_many_followers_are_kept_and_the_one_asked_for_longest_ago_goes() -> None:
    talk, _ = worked()
    first = talk.view().follow("first", Noting)
    for number in range(MOST_KEPT - 1):
        talk.view().follow(number, Noting)
    assert talk.view().follow("first", Noting) is first
    talk.view().follow("one more", Noting)
    assert talk.view().follow("first", Noting) is first
    talk.view().follow(0, Noting)
    assert first.told == [list(range(talk.seq))]


def test_edits_are_made_once_until_their_target_is_touched() -> None:
    talk, found = worked()
    asked: list[int] = []

    def make(entry: Entry) -> Edit | None:
        asked.append(entry.seq)
        return None if entry.seq == found[2] else Edit("clear", entry.seq, None, "x")

    def edits(stop: int) -> list[int]:
        index = talk.view().follow("index", lambda: ResultIndex(1, lambda view, entry: (1,)))
        return [edit.seq for edit in index.edits(0, 0, stop, make)]

    assert edits(3) == [found[1], found[4]]
    assert edits(4) == [found[1], found[4], found[5]]
    assert asked == [found[index] for index in (1, 2, 4, 5)]
    assert edits(2) == [found[1]]
    assert len(asked) == 4
    talk.pin(found[2])
    assert edits(4) == [found[1], found[4], found[5]]
    assert asked[4:] == [found[2]]


def test_numbers_are_found_by_slot_and_by_seq() -> None:
    talk, found = worked()
    index = talk.view().follow(
        "index", lambda: ResultIndex(2, lambda view, entry: (view.tokens(entry), entry.seq))
    )
    assert len(index) == 4
    assert [index.seq(slot) for slot in range(4)] == [found[at] for at in (1, 2, 4, 5)]
    assert (index.before(found[4]), index.before(found[3]), index.before(10**9)) == (2, 2, 4)
    assert (index.value(1, found[4]), index.value(1, found[3]), index.value(1, 10**9)) == (found[4], 0, 0)
    assert (index.sum(0, 1, 3), index.sum(0, 3, 1), index.total(0)) == (60, 0, 120)
    assert (index.reaching(0, 4, 31), index.reaching(0, 4, 121)) == (2, -1)
