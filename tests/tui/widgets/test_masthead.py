"""The top line: what stays of it when it is too narrow."""

import pytest
from rich.cells import cell_len

from prunecli.tui.widgets.masthead import title_line


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("parser fix", " parser fix"),
        ("a rather long name that does not fit", " a rather long name that doe…"),
        ("L" * 200, " " + "L" * 27 + "…"),
        ("漢字" * 50, " " + "漢字" * 6 + "漢 …"),
        ("", "(main)"),
    ],
)
def test_a_long_session_name_is_cut_and_the_branch_stays(name: str, end: str) -> None:
    line = title_line("~/project", "main", name, 57).plain
    assert cell_len(line) == 57
    assert line.startswith("prunecli · ~/project (main) ")
    assert line.rstrip().endswith(end)
