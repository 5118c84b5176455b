"""What commands leave behind for programs outside: each attack as this user and, where this is root, as another."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox.attacks import ATTACKS

ROOT = Path(__file__).parents[2]
RUNS = int(os.environ.get("PRUNECLI_TEST_ATTACKS", "50"))


def breaches(name: str, user: str, runs: int) -> str:
    """What an attack achieved. Skips where bubblewrap, or another user, can't be had."""
    wrapper, program = list[str](), sys.executable
    # Not in pytest's folder, which other users can't enter.
    with tempfile.TemporaryDirectory() as folder:
        if user != "me":
            if os.geteuid() != 0 or shutil.which("setpriv") is None or not os.path.exists("/usr/bin/python3"):
                pytest.skip("becomes another user, which only root can, with setpriv and the system's Python")
            if not all(part.stat().st_mode & 1 for part in (ROOT, *ROOT.parents)):
                pytest.skip("the package is not readable by other users here")
            wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            program = "/usr/bin/python3"
            os.chown(folder, 65534, 65534)
        env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        words = [*wrapper, program, "-m", "tests.sandbox.attacks", folder, name, str(runs)]
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("skip"):
        pytest.skip(done.stdout)
    return done.stdout


@pytest.mark.parametrize("runs", [1, pytest.param(RUNS, marks=pytest.mark.long, id="all")])
@pytest.mark.parametrize("user", ["me", "nobody"])
@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_nothing_that_a_command_leaves_behind_acts_outside(name: str, user: str, runs: int) -> None:
    if name not in ("odd", "swapped_names") and shutil.which("git") is None:
        pytest.skip("needs git")
    assert breaches(name, user, runs) == ""
