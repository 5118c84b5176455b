"""What the inspector says of the entry that is selected, before and after an edit of it."""

import pytest

from prunecli.context.economics import Break
from prunecli.context.impact import Impact
from prunecli.context.unseen import ThinkingSum
from prunecli.inspector.labels import Key, NodeKind
from prunecli.inspector.manual_edits import Plan
from prunecli.tui.screens.context_words import done, preview, selected_name
from prunecli.tui.widgets.fitting import fitted


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
        100, 300, -200, Break(0, None, None, "", ""), ThinkingSum(lost, 9 * lost), ThinkingSum(back, 9 * back)
    )
    line = fitted(*preview("in_place", planned, effect, 200_000), 78).plain
    assert words in line
    assert done(planned, effect).endswith(f" · ~200 back · {words}")
