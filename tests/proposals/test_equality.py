"""Applying equals doing, over 500 drawn commands: as this user and, where this is root, as an ordinary one."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = 25
"""So many workspaces for each user, with ten commands each."""


@pytest.mark.parametrize("user", ["me", "nobody"])
def test_applying_equals_doing(user: str) -> None:
    """Not in pytest's folder: another run of pytest closes that to other users whenever it starts."""
    wrapper, program = [], sys.executable
    with tempfile.TemporaryDirectory() as folder:
        if user != "me":
            if os.geteuid() != 0 or shutil.which("setpriv") is None or not Path("/usr/bin/python3").exists():
                pytest.skip("becomes another user, which only root can, with setpriv and /usr/bin/python3")
            if not all(part.stat().st_mode & 1 for part in (ROOT, *ROOT.parents)):
                pytest.skip("the package is not readable by other users here")
            wrapper, program = (
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
                "/usr/bin/python3",
            )
            os.chown(folder, 65534, 65534)
        first = 0 if user == "me" else SEEDS
        done = subprocess.run(
            [*wrapper, program, "-m", "tests.proposals.equality", folder, str(first), str(SEEDS)],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 2:
        pytest.skip(done.stdout)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
