"""What a sandbox must prevent, tried for real: as this user and, where this is root, as an ordinary one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.inside_probe import MUST_FAIL, MUST_WORK

ROOT = Path(__file__).parents[2]

OPEN: dict[str, set[str]] = {"bubblewrap": set(), "landlock": {"list ~/.ssh"}}
"""What a sandbox does not prevent: under Landlock the names of files are visible."""
BROKEN: dict[str, set[str]] = {
    "bubblewrap": set(),
    "landlock": {"write in /tmp", "run a program of ours", "shared memory", "loopback"},
}
"""Ordinary things that a sandbox does not allow; see landlock.py for the reasons."""


def probes(folder: Path, kind: str, user: str) -> dict[str, Any]:
    """What happened. Skips where the sandbox, or another user, can't be had."""
    wrapper: list[str] = []
    program = sys.executable
    if user != "me":
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            pytest.skip("becomes another user, which only root can, with setpriv")
        if not all(part.stat().st_mode & 1 for part in (ROOT, *ROOT.parents)):
            pytest.skip("the package is not readable by other users here")
        wrapper, program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], "/usr/bin/python3"
        os.chown(folder, 65534, 65534)
        for part in folder.parents:
            if part != Path("/") and not part.stat().st_mode & 1:
                part.chmod(part.stat().st_mode | 0o11)
    if not Path("/usr/bin/python3").exists():
        pytest.skip("needs /usr/bin/python3")
    done = subprocess.run(
        [*wrapper, program, "-m", "tests.sandbox.probe", str(folder), kind],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    if "skip" in found:
        pytest.skip(found["skip"])
    return found


@pytest.mark.parametrize("user", ["me", "nobody"])
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_everything_forbidden_fails_and_everything_ordinary_works(kind: str, user: str) -> None:
    """Not in pytest's folder: another run of pytest closes that to other users whenever it starts."""
    with tempfile.TemporaryDirectory() as folder:
        found = probes(Path(folder), kind, user)
    inside, after = found["inside"], found["after"]
    assert {name for name in MUST_FAIL if not inside[name]} == OPEN[kind]
    assert {name: inside[name] for name in MUST_WORK if inside[name]}.keys() == BROKEN[kind]
    assert after == {
        "outside": "hush\n",
        "time": 1_600_000_000,
        "mode": after["mode"] & 0o666,
        "config": "[core]\n",
        "hooks": [],
        "victim": None,
        "made": [".env", ".git", "innocent", "probe.py", "sub"],
        "home": [".ssh", "agent.sock", "outside.txt", "ws"],
    }
