"""Each strategy makes of each real session what it made of it before."""

import json
from pathlib import Path

import pytest

from tests.golden.requests import GOLDEN, SESSIONS, figures, strategies

KNOWN = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name.split(".")[0])
@pytest.mark.parametrize("strategy", strategies())
def test_the_request_is_the_golden_one(path: Path, strategy: str) -> None:
    assert figures(path, strategy) == KNOWN[path.name][strategy]


@pytest.mark.parametrize("strategy", [name for name in strategies() if name != "no_pruning"])
def test_every_strategy_prunes_at_least_one_of_them(strategy: str) -> None:
    assert any(figures_of[strategy]["edits"] for figures_of in KNOWN.values())
