"""What the inspector says of the entry that is selected."""

import pytest

from prunecli.inspector.labels import Key, NodeKind
from prunecli.tui.screens.context_words import selected_name


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
