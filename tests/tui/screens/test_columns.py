"""How a table stands in a width."""

from hypothesis import given
from hypothesis import strategies as st

from prunecli.commands.command import Table
from prunecli.tui.screens.columns import Layout, needs, note_lines
from prunecli.tui.transcript.rows import width_of

PRUNES = Table(
    "Prunes",
    ("no.", "time", "strategy", "before", "saved", "re-reads", "reason"),
    (
        ("7", "10:11:12", "auto-stale", "123.4K", "12%", "2 (~3.1K)", "the file was written again later on"),
        ("18", "10:11:13", "undo", "1.2K", "5%", "0", ""),
    ),
    (0, 3, 4, 5),
)


def lines(table: Table, room: int) -> list[str]:
    layout = Layout(table, needs(table), room)
    assert layout.line(len(layout)) == ()
    return ["".join(piece.text for piece in layout.line(at)).rstrip() for at in range(len(layout))]


def heading(table: Table, room: int) -> str:
    return Layout(table, needs(table), room).heading


def test_what_fits_stands_side_by_side() -> None:
    assert heading(PRUNES, 120).rstrip() == "no.  time      strategy    before  saved   re-reads  reason"
    assert lines(PRUNES, 120)[1] == " 18  10:11:13  undo          1.2K     5%          0"


def test_words_at_the_end_of_a_row_wrap_while_there_is_room_for_them() -> None:
    assert heading(PRUNES, 81).endswith("reason" + " " * 22)
    assert lines(PRUNES, 81) == [
        "  7  10:11:12  auto-stale  123.4K    12%  2 (~3.1K)  the file was written again",
        " " * 53 + "later on",
        " 18  10:11:13  undo          1.2K     5%          0",
    ]


def test_what_does_not_fit_stands_below_its_row_with_its_heading() -> None:
    assert heading(PRUNES, 70).split() == ["no.", "time", "strategy", "before", "saved", "re-reads"]
    assert lines(PRUNES, 70) == [
        "  7  10:11:12  auto-stale  123.4K    12%  2 (~3.1K)",
        "    reason: the file was written again later on",
        " 18  10:11:13  undo          1.2K     5%          0",
    ]
    assert lines(PRUNES, 44)[:4] == [
        "  7  10:11:12  auto-stale  123.4K    12%",
        "    re-reads: 2 (~3.1K)",
        "    reason: the file was written again later",
        "    on",
    ]


def test_wordy_columns_give_way_from_the_widest() -> None:
    table = Table("t", ("a", "b", "c"), (("x " * 25, "y " * 15, "z" * 5),))
    widths = [Layout(table, needs(table), room).shape.side_by_side for room in (200, 75, 65)]
    assert widths == [(50, 30, 5), (36, 30, 5), (28, 28, 5)]


def test_a_long_note_is_wrapped() -> None:
    assert note_lines("one two\nthree\x1b", 5) == ["one", "two", "three", "␛"]
    assert note_lines("", 5) == []


CELLS = st.text(st.sampled_from("ab 漢 👍\x1b\n"), max_size=40)


@given(st.lists(st.tuples(CELLS, st.integers(0, 10**9).map(str), CELLS), max_size=6), st.integers(0, 90))
def test_no_number_is_cut_and_no_word_lost_at_any_width(rows: list[tuple[str, str, str]], room: int) -> None:
    table = Table("t", ("what", "tokens", "why"), tuple(rows), (1,))
    found = lines(table, room)
    shown = "".join("".join(found).split())
    for _, number, _ in rows:
        assert room < 6 or any(number in line for line in found) or number in shown
    assert sum(shown.count(char) for char in "漢👍␛") == sum(
        "".join(row).count(char) for row in rows for char in "漢👍\x1b"
    )
    if room >= 24:
        assert all(width_of(line) <= room for line in found)
