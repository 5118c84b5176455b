"""Lines that fit."""

import pytest

from prunecli.tui.widgets.fitting import Piece, fitted

LEFT = [Piece(("a long name", "name", ""), weight=2), Piece(("important",), weight=9)]
RIGHT = [Piece(("extra", ""), weight=1), Piece(("$1.00",), weight=5)]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, "a long name · important    extra · $1.00"),
        (38, "a long name · important  extra · $1.00"),
        (36, "a long name · important        $1.00"),
        (24, "name · important   $1.00"),
        (20, "important      $1.00"),
        (15, "important $1.00"),
    ],
)
def test_the_least_important_piece_gives_way_first(width: int, line: str) -> None:
    assert fitted(LEFT, RIGHT, width).plain == line


def test_wide_characters_count_as_two_cells() -> None:
    assert fitted([Piece(("🔪 1",))], [Piece(("x",))], 8).plain == "🔪 1   x"


@pytest.mark.parametrize(
    ("width", "line"), [(14, "important     "), (9, "important"), (8, " " * 8), (-2, "")]
)
def test_pieces_that_cannot_fit_are_left_out_whole(width: int, line: str) -> None:
    assert fitted(LEFT, RIGHT, width).plain == line


def test_nothing_is_nothing() -> None:
    assert fitted((), (), 5).plain == "     "
