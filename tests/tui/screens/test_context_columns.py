"""How the columns of the inspector's tree share the width."""

import pytest

from prunecli.context.labels import Key
from prunecli.context.outline import Node, Row
from prunecli.features.inspector.tree import Cells, Columns, cells_of
from prunecli.tui.transcript.rows import width_of


def cells(what: str, why: str = "", state: str = "live") -> Cells:
    return Cells("7", what, "1.2K", "4.5K", "3", "9.9K", state, why)


def drawn(columns: Columns, row: Cells) -> str:
    columns.widen([row])
    return "".join(columns.line(row))


def test_a_label_is_whole_where_no_row_has_a_reason() -> None:
    assert "w" * 70 in drawn(Columns(120), cells("w" * 70))


def test_a_reason_is_whole_where_labels_are_short() -> None:
    assert "y" * 60 in drawn(Columns(120), cells("short", "y" * 60))


def test_label_and_reason_share_what_is_too_narrow_for_both() -> None:
    line = drawn(Columns(120), cells("w" * 90, "y" * 90))
    assert min(line.count("w"), line.count("y")) >= 18
    assert width_of(line) <= 120


def test_a_reason_without_room_has_no_column_and_leaves_its_cells_to_the_label() -> None:
    line = drawn(Columns(76), cells("w" * 35, "y" * 40))
    assert "w" * 35 in line
    assert "y" not in line


@pytest.mark.parametrize("width", [20, 50, 59, 60, 80, 109, 110, 200])
def test_a_line_is_never_wider_than_the_screen_and_as_wide_as_its_heading(width: int) -> None:
    columns = Columns(width)
    line = drawn(columns, cells("漢" * 200, "y" * 200, "12/345 restored"))
    assert width_of(line) == width_of(columns.heading())
    assert width_of(line) <= max(width, 45)


def test_columns_only_grow() -> None:
    columns = Columns(100)
    assert columns.widen([cells("a long label of a row")])
    heading = columns.heading()
    assert not columns.widen([cells("short")])
    assert columns.heading() == heading


def test_the_column_that_the_list_is_sorted_by_is_marked_and_there_at_any_width() -> None:
    assert "carried▾" in Columns(50, "carried").heading()
    assert "size▾" in Columns(80, "size").heading()
    assert "▾" not in Columns(80).heading()


def test_a_turn_says_how_many_of_its_results_are_pruned_or_were_restored() -> None:
    def state(pruned: int, restored: int, kind: str = "turn") -> str:
        key = Key(kind, 1)  # type: ignore[arg-type]
        node = Node(key, "", 1, 1, 1, 1, "live", "", 5, pruned, restored)
        return cells_of(node, Row(0, key, unfolds=True, is_open=False), "").state

    assert [state(0, 0), state(2, 0), state(2, 3), state(0, 3), state(0, 5)] == [
        "live",
        "2/5 ✂",
        "2/5 ✂",
        "3/5 restored",
        "restored",
    ]
