"""Applying equals doing, over 500 drawn commands: as this user and, where this is root, as an ordinary one."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from prunecli.safety.proposals.apply import Applied, apply
from prunecli.safety.sandbox.sandbox import Chosen
from tests.proposals.equality import seen
from tests.proposals.laying import tree, trial

ROOT = Path(__file__).parents[2]
SEEDS = 25
"""So many workspaces for each user, with ten commands each."""


BUILDS = {
    "make": """
        printf '#include <stdio.h>\\nint main(void) { return puts("hi") < 0; }\\n' > main.c
        printf 'all: main\\nmain: main.o\\n\\tcc -o $@ $<\\nclean:\\n\\trm -f main main.o\\n' > Makefile
        make -s && ./main && make -s clean && make -s
    """,
    "npm": """
        export npm_config_cache=$(mktemp -d) npm_config_update_notifier=false
        mkdir -p made/bin && echo '{"name": "made", "version": "1.0.0", "bin": "bin/x.js"}' > made/package.json
        echo '#!/usr/bin/env node' > made/bin/x.js
        (cd made && npm pack -s) && echo '{"name": "it", "version": "1.0.0"}' > package.json
        npm install -s --offline --no-audit ./made/made-1.0.0.tgz
    """,
    "python": "mkdir p && echo x=1 > p/m.py && python3 -m zipfile -c p.zip p/m.py && python3 -m zipfile -e p.zip out",
    "git": """
        git init -q a && cd a && git commit -q --allow-empty -m 1 && cd ..
        git clone -q a b && rm -rf b/.git/logs && git -C b remote set-url origin elsewhere
    """,
}


@pytest.mark.parametrize("name", BUILDS)
async def test_applying_equals_doing_for_builds(tmp_path: Path, chosen: Chosen, name: str) -> None:
    tool = {"make": "cc", "python": "python3"}.get(name, name)
    if shutil.which(tool, path="/usr/bin:/bin") is None:
        pytest.skip(f"needs {tool}")
    with trial(tmp_path / "tried", chosen) as one, trial(tmp_path / "done", chosen) as other:
        text, code = await one.run(BUILDS[name])
        assert code == 0, text
        assert tree(one.workspace) == {}
        proposal = one.freeze()
        assert proposal.refused == ()
        assert isinstance(apply(proposal), Applied)
        other.direct(BUILDS[name])
        got, wanted = (
            {at: what for at, what in seen(each.workspace).items() if not _has_times(at)}
            for each in (one, other)
        )
        assert got == wanted


def _has_times(path: str) -> bool:
    """Whether a file holds the time when it was made."""
    return path.endswith((".zip", ".git/index"))


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
