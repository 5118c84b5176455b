"""Fixtures of the agent's tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.judged import Scene, scene


@pytest.fixture
def here() -> Iterator[Scene]:
    """A workspace to judge calls in. Not below TMPDIR: a rule with a long path is not offered."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield scene(Path(folder).resolve())
