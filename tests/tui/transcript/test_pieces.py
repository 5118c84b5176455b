"""Long outputs are shown in bounded pieces that lose nothing."""

from hypothesis import given
from hypothesis import strategies as st

from prunecli.tui.transcript.pieces import PIECE_CHARS, PIECE_LINES, pieces

RUNS = st.tuples(st.sampled_from(["\n", "x", "x\n", "some words\n"]), st.integers(1, 9_000))
TEXTS = st.lists(RUNS.map(lambda run: run[0] * run[1]), max_size=5).map("".join)


def joined(text: str) -> str:
    whole = ""
    for number, (piece, glued) in enumerate(pieces(text)):
        assert len(piece) <= PIECE_CHARS
        assert piece.count("\n") <= PIECE_LINES
        whole += piece if glued or not number else f"\n{piece}"
    return whole


@given(TEXTS)
def test_pieces_are_bounded_and_together_the_text(text: str) -> None:
    assert joined(text) == text


def test_many_short_lines_before_a_long_one_are_shown() -> None:
    text = "1\n" * 300 + "x" * 3_000
    assert joined(text) == text
