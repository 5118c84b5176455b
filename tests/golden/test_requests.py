"""Each strategy makes of each real session what it made of it before."""

import json
from pathlib import Path

import pytest

from tests.golden.requests import GOLDEN, figures, strategies
from tests.sessions import COMPLETE, SESSIONS

KNOWN = {(name, strategy): known for name, strategy, *known in map(json.loads, GOLDEN.open())}


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name.split(".")[0])
def test_the_requests_are_the_golden_ones(path: Path) -> None:
    assert figures(path) == {name: KNOWN[path.name, name] for name in strategies()}


def test_every_session_stands_there_under_every_strategy() -> None:
    here = {(path.name, name) for path in SESSIONS for name in strategies()}
    assert here <= set(KNOWN)
    assert here == set(KNOWN) or not COMPLETE


@pytest.mark.parametrize("strategy", [name for name in strategies() if name != "no_pruning"])
def test_every_strategy_prunes_several_of_them(strategy: str) -> None:
    assert sum(bool(edits) for (_, name), (_, edits, *_) in KNOWN.items() if name == strategy) >= 5
