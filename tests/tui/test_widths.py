"""Characters about which terminals differ: the measured widths, and the columns in what is drawn."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

from prunecli.tui.transcript.rows import breaks, clusters, width_of
from prunecli.tui.widths import PROBES, placed, use
from tests.e2e.terminal import HAS_TMUX, Terminal
from tests.e2e.test_terminal import PROMPT
from tests.e2e.test_twenty_turns import environment
from tests.endpoint import Reply, serve

BY_RICH = tuple(map(cell_len, PROBES))
HINDI, BENGALI, TAMIL = "मैंने परीक्षण चलाए", "আমি পরীক্ষা চালিয়েছি", "சோதனைகளை இயக்கினேன்"
BURMESE, KHMER = "မြန်မာဘာသာ", "ភាសាខ្មែរ"
EMOJI = "❤️ 👍🏽 👁️ 1️⃣ 👨‍👩‍👧 🇩🇪"
ALL = f"{HINDI} {BENGALI} {TAMIL} {BURMESE} {KHMER} {EMOJI} end"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    use(BY_RICH)


@pytest.mark.parametrize("cells", [*product((1, 2), (1, 2), (1, 2), (1, 2), (2, 4))])
def test_text_takes_the_cells_that_the_terminal_gives_it(cells: tuple[int, ...]) -> None:
    assert use(cells) == (cells != BY_RICH)
    assert tuple(map(cell_len, PROBES)) == cells
    assert not use(cells)
    marks = sum(char in "\u093e\u0940\u0947\u0948\u0902" for char in "का की") if cells[0] == 2 else 0
    assert cell_len("का की") == 3 + marks
    assert cell_len("漢字 abc é") == 10
    assert [ALL[start:end] for start, end, _ in clusters(ALL)].count("का") == ALL.count("का")


@pytest.mark.parametrize("width", [7, 13, 30])
def test_no_row_is_wider_than_the_terminal_and_no_syllable_is_torn(width: int) -> None:
    use((2, 2, 2, 1, 4))
    for start, end in breaks(ALL, width):
        assert width_of(ALL[start:end].rstrip()) <= width
        assert all(start in (0, *bounds) for bounds in [[one[0] for one in clusters(ALL)]])


def drawn(output: str, cells: dict[str, int]) -> str:
    """What a terminal shows in one row that gives these characters other cells; each cell is one character."""
    row, column, at = [" "] * 80, 0, 0
    while at < len(output):
        if output.startswith("\x1b[", at):
            end = next(n for n in range(at + 2, len(output)) if output[n].isalpha())
            numbers = output[at + 2 : end].split(";")
            column = int(numbers[-1] or 1) - 1 if output[end] in "GH" else column
            at = end + 1
            continue
        char = output[at]
        for number in range(cells.get(char, cell_len(char))):
            if column + number < 80:
                row[column + number] = char
        column += cells.get(char, cell_len(char))
        at += 1
    return "".join(row)


@pytest.mark.parametrize("other", [{}, {"\u093e": 1}, {"\ufe0f": 1}, {"👍": 1}, {"👧": 0, "👩": 0}])
def test_what_follows_stands_in_its_column_whatever_the_terminal_does(other: dict[str, int]) -> None:
    text = f"\x1b[3;5H\x1b[31mका{EMOJI}\x1b[0m|end"
    seen = drawn(placed(text), other)
    assert seen.index("|end") == 4 + cell_len(f"का{EMOJI}")


def test_what_is_certain_is_written_as_it_is() -> None:
    for text in ("\x1b[1;1Hplain", "\x1b[1;1H漢字 é ─│ ✓ ❯", "\x1b]0;plain\x07"):
        assert placed(text) == text
    assert placed("\x1b]0;का\x07") == "\x1b]0;का\x07"


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_in_tmux_every_word_is_shown_and_typed_text_has_no_gaps(tmp_path: Path) -> None:
    words = [
        f"{text} END{number}" for number, text in enumerate((HINDI, BENGALI, TAMIL, BURMESE, KHMER, EMOJI))
    ]
    table = f"| a | b |\n|---|---|\n| {HINDI} | x |\n| f | y |\n"
    answer = "\n\n".join([*(" ".join([word] * 3) for word in words), table])
    with (
        serve([Reply(answer)]) as endpoint,
        Terminal(["--trust"], tmp_path, environment(tmp_path, endpoint.base_url), 60, 45) as terminal,
    ):
        terminal.wait_for(PROMPT)
        terminal.type(f"{HINDI}|{TAMIL}|{EMOJI}|")
        terminal.wait_for(f"❯ {HINDI}|{TAMIL}|{EMOJI}|")
        terminal.press("Enter")
        screen = terminal.wait_for("END5")
        for number, text in enumerate((HINDI, BENGALI, TAMIL, BURMESE, KHMER)):
            assert screen.count(f"END{number}") == 3
            assert " ".join(screen.split()).count(text) >= 3, screen
