"""Variables that Textual reads: refused by name where it would raise."""

from pathlib import Path

import pytest

from prunecli.errors import UsageError
from prunecli.tui.surroundings import check


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"TEXTUAL_COLOR_SYSTEM": "many"}, "TEXTUAL_COLOR_SYSTEM: there is no 'many'"),
        ({"TEXTUAL_LOG": "/dev/null/log"}, "TEXTUAL_LOG: /dev/null/log: Not a directory"),
        ({"TEXTUAL_LOG": "/"}, "TEXTUAL_LOG: /: Is a directory"),
    ],
)
def test_a_variable_that_textual_does_not_understand_is_named(environ: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(environ)
    assert refused.value.message == named


def test_what_it_understands_passes(tmp_path: Path) -> None:
    check({})
    check({"TEXTUAL_COLOR_SYSTEM": "256", "TEXTUAL_LOG": str(tmp_path / "log")})
