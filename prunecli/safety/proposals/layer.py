"""The layer of one round of commands: what they change goes here, and the folders below stay as they are.

A layer is a private folder in prunecli's own. For each folder that commands may write to, it has `N/upper` with the
changes in the form of the kernel's overlays, and a new `N/work.M` for each command.
"""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from prunecli.safety.sandbox.layout import overlaid
from prunecli.safety.sandbox.sandbox import Network, Overlays, Sandbox
from prunecli.tools.processes.sandboxing import Overlay, SandboxedCommand, Sandboxing
from prunecli.util.errors import ToolError
from prunecli.util.private_file import make_private

OWNER, RUNNING = "owner", "running"
"""Files that are locked: while the program that made the layer lives, and while a command runs on it."""
_PATIENCE, _STEP = 3.0, 0.01


class Layer:
    """What the commands of a round change in `roots`. Made by `begin`, ended by `drop`.

    `begun` is the time before the first command, in nanoseconds: what has changed since is not what commands saw.
    """

    def __init__(self, folder: str, roots: tuple[str, ...], owner: int, walls: Sandbox) -> None:
        self.folder = folder
        self.walls = walls
        self.roots = roots
        self.begun = time.time_ns()
        self._owner = owner
        self._commands = 0

    @staticmethod
    def begin(layers: Path, walls: Sandbox) -> "Layer":
        """Make a layer in the folder `layers`. Raises ToolError."""
        try:
            make_private(layers)
            folder = str(layers / os.urandom(6).hex())
            os.mkdir(folder, 0o700)
            owner = os.open(os.path.join(folder, OWNER), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            roots = overlaid(walls.ground)
            for number, root in enumerate(roots):
                os.makedirs(upper := os.path.join(folder, str(number), "upper"))
                os.chmod(upper, stat.S_IMODE(os.stat(root).st_mode))
        except OSError as error:
            raise ToolError(f"A trial can't be set up: {error.filename}: {error.strerror}.") from error
        return Layer(folder, roots, owner, walls)

    def upper(self, root: str) -> str:
        """Return the folder with the changes of a root."""
        return os.path.join(self.folder, str(self.roots.index(root)), "upper")

    def confine(self, *, network: Network = False) -> Sandboxing:
        """Return the function that puts a command into the sandbox, on this layer; one at a time."""

        @asynccontextmanager
        async def confined(
            argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
        ) -> AsyncIterator[SandboxedCommand]:
            lock = os.open(os.path.join(self.folder, RUNNING), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_SH)
                confine = self.walls.trial(Overlays(self._overlays(), lock), network=network)
                async with confine(argv, cwd=cwd, env=env, command=command) as box:
                    yield box
            finally:
                os.close(lock)

        return confined

    def _overlays(self) -> tuple[Overlay, ...]:
        self._commands += 1
        found = list[Overlay]()
        for number, root in enumerate(self.roots):
            here = os.path.join(self.folder, str(number))
            work = os.path.join(here, f"work.{self._commands}")
            os.mkdir(work, 0o700)
            found.append(Overlay(root, os.path.join(here, "upper"), work))
        return tuple(found)

    def wait(self, patience: float = _PATIENCE) -> None:
        """Wait some seconds until every process on the layer has ended. Raises ToolError if one has not."""
        lock = os.open(os.path.join(self.folder, RUNNING), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise ToolError(
                            "A process of the command can't be ended, so nothing that it changed counts."
                        ) from None
                    time.sleep(_STEP)
        finally:
            os.close(lock)

    def drop(self) -> None:
        """Remove the layer with all changes."""
        remove(self.folder)
        os.close(self._owner)


def remove(folder: str) -> None:
    """Remove a private folder, whatever the modes in it are. What can't be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    for path, names, _ in os.walk(folder):
        for inner in (os.path.join(path, name) for name in names):
            if not os.path.islink(inner):
                os.chmod(inner, stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
