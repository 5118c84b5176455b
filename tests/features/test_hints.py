"""Hints name no command that is not there."""

import pytest

from prunecli.plugins.features import available


@pytest.mark.parametrize(
    ("hint", "left"),
    [
        ("/restore restores single entries", "/restore restores single entries"),
        ("/prune-stats lists prunes; /gone does too", "/prune-stats lists prunes"),
        ("/gone lists prunes; /undo 41 undoes one", "/undo 41 undoes one"),
        ("on · /gone", "on"),
        (" · /gone", ""),
        ("- `/gone` shows nothing", ""),
        ("press p in /context", "press p in /context"),
        ("see docs/gone", "see docs/gone"),
    ],
)
def test_a_hint_loses_the_clauses_that_name_commands_that_are_not_there(hint: str, left: str) -> None:
    assert available(hint) == left
