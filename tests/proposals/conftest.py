"""Fixtures of the proposals' tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prunecli.safety.sandbox.sandbox import Chosen
from tests.proposals.laying import Trial, chosen_here, trial


@pytest.fixture
def chosen(tmp_path: Path) -> Chosen:
    """A sandbox with overlays."""
    found = chosen_here(tmp_path)
    if not found.overlays:
        pytest.skip(f"needs overlays below bubblewrap: {found.why or found.kind}")
    return found


@pytest.fixture
def one(tmp_path: Path, chosen: Chosen) -> Iterator[Trial]:
    """A workspace with a layer."""
    with trial(tmp_path, chosen) as made:
        yield made
