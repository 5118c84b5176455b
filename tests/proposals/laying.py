"""Commands on a layer, and trees as values."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prunecli.safety.proposals.changes import Proposal, freeze
from prunecli.safety.proposals.layer import Layer
from tests.sandbox.confining import Box, boxed, needs_bubblewrap

Tree = dict[str, tuple[object, ...]]


def tree(folder: Path | str) -> Tree:
    """Everything below a folder: kind, mode, content, and which names are one file. Without access times."""
    found: Tree = {}
    first: dict[tuple[int, int], str] = {}
    for path, folders, files in os.walk(os.fsencode(folder)):
        for name in sorted((*folders, *files)):
            full = os.path.join(path, name)
            here = os.fsdecode(os.path.relpath(full, os.fsencode(folder)))
            status = os.lstat(full)
            kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(kind):
                found[here] = ("link", os.readlink(full))
            elif stat.S_ISREG(kind):
                twin = first.setdefault((status.st_dev, status.st_ino), here)
                found[here] = ("file", mode, status.st_size, _digest(full), twin)
            else:
                found[here] = (kind, mode)
    return found


def _digest(path: bytes) -> str:
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & 0o400 or os.geteuid() == 0:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    os.chmod(path, mode | 0o400)
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        os.chmod(path, mode)


class Trial:
    """One layer over the workspace of a box, begun by the first command."""

    def __init__(self, box: Box, layers: Path) -> None:
        self.box = box
        self._layers = layers
        self._layer: Layer | None = None

    @property
    def layer(self) -> Layer:
        if self._layer is None:
            self._layer = Layer.begin(self._layers, self.box.walls)
        return self._layer

    @property
    def workspace(self) -> Path:
        return self.box.context.workspace

    async def run(self, command: str) -> tuple[str, int]:
        """The output of a command on the layer, and its exit code."""
        tool = self.box.with_(confine=self.layer.confine())
        output = await tool.output("bash", command=command)
        return str(getattr(output.content[0], "text", "")), int(str(output.details["exit_code"]))

    def freeze(self) -> Proposal:
        return freeze(self.layer)


@contextmanager
def trial(folder: Path, *, box: Box | None = None, **options: Any) -> Iterator[Trial]:
    """A layer over a workspace below the folder."""
    with boxed(folder, needs_bubblewrap(), **options) as made:
        one = Trial(box or made, folder / "layers")
        try:
            yield one
        finally:
            one.layer.drop()
