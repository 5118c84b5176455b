"""What the tests of subcommands share: an environment of their own, and the program in a process."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user without a key or a configuration, and an empty working directory."""
    (tmp_path / "work").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "PRUNECLI_SANDBOX": "off",
        "PYTHONPATH": str(ROOT),
    }
