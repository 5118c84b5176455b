"""The layer of one round of commands: what they change goes here, and the folders below stay as they are.

A layer is a private folder in prunecli's own. For each folder that commands may write to, it has `N/upper` with the
changes in the form of the kernel's overlays, and a new `N/work.M` for each command.
"""

import asyncio
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from prunecli.safety.sandbox.layout import overlaid
from prunecli.safety.sandbox.sandbox import Network, Overlays, Sandbox
from prunecli.tools.processes.sandboxing import Blocked, Overlay, SandboxedCommand, Sandboxing
from prunecli.util.errors import ToolError
from prunecli.util.private_file import make_private

OWNER, RUNNING = "owner", "running"
"""Files that are locked: while the program that made the layer lives, and while a command runs on it."""
_PATIENCE, _STEP = 3.0, 0.01
_MB = 1 << 20
MOST_BYTES = 2048 * _MB
_LITTLE = 20
"""A pause is at least so many times as long as the look before it."""
_CROSSES = re.compile(r"invalid cross-device link|\bEXDEV\b", re.IGNORECASE)
_FOREIGN = re.compile(r"value too large for defined data type|\bEOVERFLOW\b", re.IGNORECASE)
_BEYOND = (
    (_CROSSES, "a folder can't be renamed", "renames a folder"),
    (_FOREIGN, "files of other users or groups can't be changed", "changes files of other users or groups"),
)
"""What an overlay in a namespace of users can't do, by the error."""


class Layer:
    """What the commands of a round change in `roots`. Made by `begin`, ended by `drop`.

    `begun` is the time before the first command, in nanoseconds: what has changed since is not what commands saw.
    """

    def __init__(
        self, folder: str, roots: tuple[str, ...], owner: int, walls: Sandbox, most: int, pause: float
    ) -> None:
        self.folder = folder
        self.walls = walls
        self.roots = roots
        self.begun = time.time_ns()
        self._owner = owner
        self._most, self._pause = most, pause
        self._commands = 0

    @staticmethod
    def begin(layers: Path, walls: Sandbox, *, most: int = MOST_BYTES, pause: float = 1.0) -> "Layer":
        """Make a layer in the folder `layers`. A command whose changes take more than `most` bytes is ended; that is
        looked at after `pause` seconds, and again. Raises ToolError."""
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
        return Layer(folder, roots, owner, walls, most, pause)

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
                    enough = asyncio.get_running_loop().create_future()
                    watching = asyncio.ensure_future(self._watch(enough))
                    try:
                        told = [partial(self._explained, enough, one) for one in (box.explain, box.hints)]
                        yield replace(box, explain=told[0], hints=told[1], enough=enough)
                    finally:
                        watching.cancel()
            finally:
                os.close(lock)

        return confined

    async def _watch(self, enough: "asyncio.Future[None]") -> None:
        """End the command when the layer is full: looked at with little work, however many files it has."""
        pause = self._pause
        while True:
            await asyncio.sleep(pause)
            begun = time.monotonic()
            if await asyncio.to_thread(_size, self.folder) > self._most:
                enough.set_result(None)
                return
            pause = max(self._pause, _LITTLE * (time.monotonic() - begun))

    def _explained(
        self, enough: "asyncio.Future[None]", explain: Callable[[str], Blocked], output: str
    ) -> Blocked:
        """Return what stopped a command, also what an overlay can't do."""
        if enough.done():
            what = f"writes more than {self._most // _MB} MB"
            return Blocked(f"ended, because it {what} before the user was asked", what)
        for pattern, why, harm in _BEYOND:
            if pattern.search(output):
                return Blocked(f"blocked: {why} before the user was asked", harm)
        return explain(output)

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


def _size(folder: str) -> int:
    """Return the bytes that the files of a folder take on the disk; what can't be read counts nothing."""
    found = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found += os.lstat(os.path.join(path, name)).st_blocks * 512
    return found


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
