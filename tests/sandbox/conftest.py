"""Fixtures of the sandbox's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.confining import Box, boxed, needs_bubblewrap


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A bash tool in bubblewrap."""
    with boxed(tmp_path, needs_bubblewrap()) as found:
        yield found
