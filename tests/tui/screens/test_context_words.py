"""What the inspector says of the entry that is selected, before and after an edit of it."""

import pytest

from prunecli.context.economics import Break
from prunecli.context.impact import Impact
from prunecli.context.labels import Key, NodeKind
from prunecli.context.lost_thinking import ThinkingSum
from prunecli.context.manual_edits import Act, Plan, plan
from prunecli.context.outline import Outline
from prunecli.features.inspector.words import done, preview, selected_name
from prunecli.tui.widgets.fitting import fitted
from tests.context.talk import Talk, tokens


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("turn", "all exchanges in this turn"),
        ("exchange", "exchange 23"),
        ("result", "the exchange with entry 23"),
    ],
)
def test_a_memo_is_asked_for_by_the_number_that_the_tree_shows(kind: NodeKind, expected: str) -> None:
    assert selected_name(Key(kind, 23)) == expected


@pytest.mark.parametrize(
    ("lost", "back", "words"), [(3, 20, "−3 +20 thinking"), (3, 3, "−3 +3 thinking"), (0, 2, "+2 thinking")]
)
def test_the_result_of_an_edit_names_as_many_thinking_blocks_as_its_preview(
    lost: int, back: int, words: str
) -> None:
    planned = Plan(what="restore and pin 4 entries in place")
    effect = Impact(
        100,
        300,
        -200,
        Break(0, None, None, "", None),
        ThinkingSum(lost, 9 * lost),
        ThinkingSum(back, 9 * back),
    )
    line = fitted(preview("in_place", planned, effect, 200_000), (), 78).plain
    assert words in line
    assert done("in_place", planned, effect, -200) == f"Restored 200 · {words}"


@pytest.mark.parametrize("act", ["prune", "in_place", "memo", "undo"])
def test_a_preview_of_80_columns_keeps_price_and_thinking(act: Act) -> None:
    talk = Talk()
    for _ in range(2):
        talk.user()
        results = talk.step("read", tokens(3_000)), talk.step("read", tokens(3_000))
        talk.pin(*results)
        talk.say()

    def planned(act: Act, key: Key) -> Plan:
        return plan(talk.view(), Outline(talk.context, ()), act, key)

    first = Key("turn", Outline(talk.context, ()).turns[0].seq)
    for event in planned("prune", first).events:
        talk.add(event)
    found = planned(act, first if act in ("in_place", "undo") else Key("exchange", results[0] - 1))
    assert found.allowed
    change = Break(25_500, 0.0429, -0.0012, "", None)
    effect = Impact(18_000, 24_500, 0, change, ThinkingSum(3, 30), ThinkingSum(14, 140))
    line = fitted(preview(act, found, effect, 1_000_000), (), 78).plain
    assert "$0.0429 now" in line
    assert "−3 +14 thinking" in line
