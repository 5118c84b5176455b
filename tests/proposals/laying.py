"""Commands on a layer, and trees as values. Without pytest, so that other users can run it too."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prunecli.safety.permissions.git import config_doubt
from prunecli.safety.permissions.places import is_kept_inside
from prunecli.safety.proposals.changes import Proposal, freeze
from prunecli.safety.proposals.layer import Layer
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.layout import Ground
from prunecli.safety.sandbox.sandbox import Chosen, Sandbox
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.tools.processes.command import run
from prunecli.tools.processes.sandboxing import Sandboxing

Tree = dict[str, tuple[object, ...]]
SHELL = "/bin/bash"
_HERE: list[Chosen] = []


def chosen_here(folder: Path) -> Chosen:
    """The sandbox with overlays that works on this machine; tried once, in this folder."""
    if not _HERE:
        work = folder / "tried"
        work.mkdir(parents=True)
        _HERE.append(choose(str(work.resolve()), dict(os.environ), layers=folder / "tried-layers"))
    return _HERE[0]


def tree(folder: Path | str) -> Tree:
    """Everything below a folder: kind, mode, content, and which names are one file."""
    found: Tree = {}
    first: dict[tuple[int, int], str] = {}
    top = os.fsencode(folder)
    for full in sorted(_below(top)):
        here = os.fsdecode(os.path.relpath(full, top))
        status = os.lstat(full)
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(kind):
            found[here] = ("link", os.readlink(full))
        elif stat.S_ISREG(kind):
            twin = first.setdefault((status.st_dev, status.st_ino), here)
            with _opened(full, mode):
                content = Path(os.fsdecode(full)).read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
            found[here] = ("file", oct(mode), status.st_size, digest, twin)
        else:
            found[here] = (kind, oct(mode))
    return found


def _below(folder: bytes) -> Iterator[bytes]:
    with _opened(folder, stat.S_IMODE(os.lstat(folder).st_mode)):
        for name in os.listdir(folder):
            full = os.path.join(folder, name)
            yield full
            if stat.S_ISDIR(os.lstat(full).st_mode):
                yield from list(_below(full))


@contextmanager
def _opened(path: bytes, mode: int) -> Iterator[None]:
    """Make something readable for a moment. Only where needed, since that is a change, too."""
    if mode & 0o500 == 0o500 or (mode & 0o400 and not os.path.isdir(path)) or os.geteuid() == 0:
        yield
        return
    os.chmod(path, mode | 0o700)
    try:
        yield
    finally:
        os.chmod(path, mode)


class Trial:
    """A workspace with one layer at a time, begun by its first command."""

    def __init__(self, walls: Sandbox, layers: Path, env: dict[str, str]) -> None:
        self.walls = walls
        self.workspace = Path(walls.ground.workspace)
        self.env = env
        self._layers = layers
        self._layer: Layer | None = None
        self.blocked = ""
        """What the sandbox says about the last command."""
        self.limits: dict[str, Any] = {}

    @property
    def layer(self) -> Layer:
        if self._layer is None:
            self._layer = Layer.begin(self._layers, self.walls, **self.limits)
        return self._layer

    async def run(self, command: str) -> tuple[str, int]:
        """The output of a command on the layer, and its exit code."""
        return await inside(self, self.layer.confine(), command)

    def direct(self, command: str) -> tuple[str, int]:
        """The same, without a sandbox and without a layer. Root has no more rights than others, as in a sandbox."""
        words = [SHELL, "-c", command]
        if os.geteuid() == 0:
            words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *words]
        done = subprocess.run(
            words,
            cwd=self.workspace,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace"), done.returncode

    def freeze(self) -> Proposal:
        return freeze(self.layer)

    def abandon(self) -> None:
        """Leave the layer as a killed program does."""
        os.close(self.layer._owner)
        self._layer = None

    def drop(self) -> None:
        """End the layer, if one was begun."""
        if self._layer is not None:
            self._layer.drop()
            self._layer = None


async def inside(one: Trial, confine: Sandboxing, command: str) -> tuple[str, int]:
    """The output of a command in a sandbox, and its exit code."""
    output = bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return True

    words = [SHELL, "-c", command]
    async with confine(words, cwd=str(one.workspace), env=one.env, command=command) as box:
        ended = await run(
            box.argv,
            cwd=one.workspace,
            env=box.env,
            take=take,
            time_limit=60,
            descriptors=box.descriptors,
            overlays=box.overlays,
            enough=box.enough,
        )
        one.blocked = box.explain(output.decode("utf-8", "replace")).line
    return output.decode("utf-8", "replace"), ended.exit_code or 0


@contextmanager
def trial(folder: Path, chosen: Chosen, *, layers: Path | None = None, **more: Any) -> Iterator[Trial]:
    """A workspace `ws` in the home `home`, both below the folder; its layers are in `layers`."""
    home = folder / "home"
    work = home / "ws"
    work.mkdir(parents=True, exist_ok=True)
    root = str(work.resolve())
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    for person in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{person}_NAME": "a", f"GIT_{person}_EMAIL": "a@b.c"}
        env[f"GIT_{person}_DATE"] = "2026-01-01T00:00:00Z"
    scan = SecretScan(
        root, looks_secret, is_obeyed=lambda path: is_kept_inside(path[len(root) :].lstrip("/"))
    )
    ground = Ground(root, str(home.resolve()), (), (), scan, env, doubt=config_doubt, **more)
    walls = Sandbox(ground, lambda: chosen)
    one = Trial(walls, layers or folder / "layers", env)
    try:
        yield one
    finally:
        one.drop()
        walls.close()
