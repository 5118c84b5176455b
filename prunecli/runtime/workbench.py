"""Where commands run before the user is asked: layers over the workspace, or the workspace read-only where overlays
can't be had."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.tools.processes.sandboxing import Blocked, SandboxedCommand, Sandboxing
from prunecli.util.errors import ToolError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.safety.proposals import apply as applying
    from prunecli.safety.proposals import changes, git_words, layer
    from prunecli.safety.proposals.changes import Proposal
    from prunecli.safety.sandbox import denials
    from prunecli.safety.sandbox.sandbox import Sandbox
else:
    applying = lazy("prunecli.safety.proposals.apply")
    changes = lazy("prunecli.safety.proposals.changes")
    denials = lazy("prunecli.safety.sandbox.denials")
    git_words = lazy("prunecli.safety.proposals.git_words")
    layer = lazy("prunecli.safety.proposals.layer")


class SandboxLayer:
    """A layer over all that commands may write to."""

    keeps_changes = True

    def __init__(self, layers: Path, walls: "Sandbox") -> None:
        self._layer = layer.Layer.begin(layers, walls)

    @property
    def confine(self) -> Sandboxing:
        return self._layer.confine()

    def freeze(self) -> "Proposal":
        return git_words.with_git_words(changes.freeze(self._layer))

    def apply(self, proposal: "Proposal") -> tuple[str, ...]:
        applied = applying.apply(proposal)
        return applied.paths if isinstance(applied, applying.Stale) else ()

    def close(self) -> None:
        self._layer.drop()


class ReadOnly:
    """The workspace itself, read-only for commands."""

    keeps_changes = False

    def __init__(self, walls: "Sandbox") -> None:
        self._walls = walls

    @asynccontextmanager
    async def confine(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], command: str
    ) -> AsyncIterator[SandboxedCommand]:
        inside = self._walls.confine(granted=False, reads=True)
        async with inside(argv, cwd=cwd, env=env, command=command) as box:
            landlock = box.program != "" and self._walls.chosen().kind == "landlock"
            yield replace(box, hints=partial(denials.wrote, landlock=landlock))

    def freeze(self) -> "Proposal":
        raise ToolError("Nothing can be changed here.")

    def apply(self, _: "Proposal") -> tuple[str, ...]:
        raise ToolError("Nothing can be changed here.")

    def close(self) -> None:
        pass


class SandboxWorkbench:
    """The workbench of a session and its tasks. `walls` returns the sandbox that is in force, which was tried."""

    def __init__(self, layers: Path, walls: "Callable[[], Sandbox | None]") -> None:
        self.in_use = asyncio.Lock()
        self._layers = layers
        self._walls = walls

    def layer(self) -> SandboxLayer | ReadOnly:
        walls = self._known()
        return SandboxLayer(self._layers, walls) if walls.chosen().overlays else ReadOnly(walls)

    def again(self, blocked: Blocked) -> Sandboxing:
        return self._known().confine(granted=True, more=blocked)

    def _known(self) -> "Sandbox":
        walls = self._walls()
        if walls is None:
            raise ToolError("The sandbox is off.")
        return walls
