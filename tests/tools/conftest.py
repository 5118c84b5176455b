"""Fixtures of the tools' tests."""

from pathlib import Path

import pytest

from tests.tools.calling import Caller


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace."""
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def tools(workspace: Path) -> Caller:
    """Tools to be called in the workspace."""
    return Caller(workspace)
