"""The status bar's word for the sandbox."""

from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.tui.widgets.status import session_line
from tests.starting import start


@pytest.mark.parametrize("word", ["sandbox bwrap", "no sandbox", "sandbox off"])
def test_the_bar_says_which_sandbox_is_in_force(tmp_path: Path, word: str) -> None:
    status = replace(start(tmp_path).status(), sandbox=word)
    assert word.removeprefix("sandbox ") in session_line(status, "", 80).plain


def test_before_one_was_tried_the_bar_says_nothing(tmp_path: Path) -> None:
    assert "sandbox" not in session_line(start(tmp_path).status(), "", 80).plain
