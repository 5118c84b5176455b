"""A bash tool in a sandbox that works here, in a workspace below a home folder of its own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.safety.permissions.places import is_kept_inside
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.layout import Ground
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from tests.tools.calling import Caller

_HERE: list[Chosen] = []


def chosen_here() -> Chosen:
    """What works on this machine; tried once."""
    if not _HERE:
        _HERE.append(choose("/nonexistent", dict(os.environ)))
    return _HERE[0]


def needs_bubblewrap() -> Chosen:
    """Skips the test where bubblewrap does not work."""
    chosen = chosen_here()
    if chosen.kind != "bubblewrap":
        pytest.skip(f"needs bubblewrap: {chosen.why or chosen.kind}")
    return chosen


class Box(Caller):
    """Calls tools whose commands run in a sandbox. `granted`: a rule allows the commands."""

    def __init__(self, walls: Sandbox, **changes: Any) -> None:
        super().__init__(Path(walls.ground.workspace))
        self.walls = walls
        env = {**self.context.env, "HOME": walls.ground.home}
        self.context = replace(self.context, env=env, confine=walls.confine(granted=False), **changes)

    @property
    def home(self) -> Path:
        """The home folder."""
        return Path(self.walls.ground.home)

    def granted(self) -> Caller:
        """The same, with commands that a rule allows."""
        return self.with_(confine=self.walls.confine(granted=True))

    async def run(self, command: str) -> tuple[str, int]:
        """The output of a command and its exit code."""
        output = await self.output("bash", command=command)
        return str(getattr(output.content[0], "text", "")), int(str(output.details["exit_code"]))


@contextmanager
def boxed(folder: Path, chosen: Chosen, **options: Any) -> Iterator[Box]:
    """A workspace `ws` in the home `home`, both below the folder, in this sandbox."""
    home = folder / "home"
    workspace = home / "ws"
    workspace.mkdir(parents=True, exist_ok=True)
    root, more = str(workspace.resolve()), options.pop("ground", {})
    ground = Ground(
        root,
        str(home.resolve()),
        (str(home / "own"),),
        (),
        SecretScan(root, looks_secret, is_obeyed=lambda path: is_kept_inside(path[len(root) :].lstrip("/"))),
        {"PATH": os.environ["PATH"]},
    )
    walls = Sandbox(replace(ground, **more), lambda: chosen, **options)
    try:
        yield Box(walls)
    finally:
        walls.close()
