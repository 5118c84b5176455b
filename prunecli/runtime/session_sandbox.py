"""The sandbox of a runtime: created when a command may run, tried in the background, and described for the user."""

import threading
from typing import TYPE_CHECKING

from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.config.effective import Config
from prunecli.runtime.setup import Setup
from prunecli.runtime.workbench import SandboxWorkbench
from prunecli.safety.permissions.rules import parse_rule
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules
from prunecli.tools.processes.sandboxing import Sandboxing, bare
from prunecli.util.errors import UsageError

if TYPE_CHECKING:
    from prunecli.safety.sandbox.sandbox import Chosen, Sandbox

INSTALL = "install bubblewrap (apt install bubblewrap)"
NO_SANDBOX_HINT = "install bubblewrap, or use --sandbox auto, which asks before commands that may cause harm"
OFF = "off, commands run with your permissions"


class SessionSandbox:
    """The sandbox in effect, if any. `keeper` has the rules and decides whether commands may run at all."""

    def __init__(self, setup: Setup, config: Config, keeper: SessionGatekeeper) -> None:
        self._make = setup.walls
        self._keeper = keeper
        keeper.inside, keeper.wall = self.inside, self.wall
        self._config = config
        self._walls: Sandbox | None = None
        self._lock = threading.Lock()
        self._tried = False
        self.workbench = SandboxWorkbench(setup.places.layers, lambda: self.walls)

    @property
    def wanted(self) -> bool:
        """Whether to run commands in a sandbox, if one works."""
        return self.wants(self._config)

    def wants(self, config: Config) -> bool:
        return self._make is not None and config.sandbox.mode != "off"

    @property
    def walls(self) -> "Sandbox | None":
        with self._lock:
            if self._walls is None and self._make is not None and self.wanted:
                self._walls = self._make(self._config, lambda: self._keeper.in_force)
            return self._walls

    def use(self, config: Config) -> None:
        """Use another configuration. If its sandbox options are the same, the sandbox already tried stays."""
        before, self._config = self._config, config
        if (config.sandbox, config.permissions.deny) != (before.sandbox, before.permissions.deny):
            self.close()

    def begin(self) -> None:
        """Try the sandbox in the background, if commands may run: nothing is before a directory is trusted."""
        if self.wanted and self._keeper.trusted and self.word == "" and not self._tried:
            self._tried = True
            threading.Thread(target=self.line, name="sandbox", daemon=True).start()

    def confine(self, *, granted: bool, reads: bool = False, online: bool = True) -> Sandboxing:
        """Return the function that confines the next command; the parameters are those of `Walls.confine`."""
        walls = self.walls
        return walls.confine(granted=granted, reads=reads, online=online) if walls else bare

    def inside(self) -> SandboxedCommands:
        """Return the properties of the sandbox that permission rules depend on."""
        walls = self.walls
        if walls is None or walls.chosen().kind is None:
            return SandboxedCommands()
        tight = walls.finds_all() and _enforced(self._keeper.in_force)
        proposes = tight and self._config.sandbox.proposals
        return SandboxedCommands(True, tight and walls.network is False, proposes)

    def wall(self) -> str:
        """Return what is around a command, as a question says it."""
        walls = self.walls
        if walls is None or walls.chosen().kind is None:
            return "no sandbox, with your permissions"
        return f"{walls.chosen().kind}, {network_in_words(walls.network)}"

    @property
    def word(self) -> str:
        """The name of the sandbox in the status bar; "" while unknown."""
        if self._make is None:
            return ""
        known = self._walls.known if self._walls else None
        return "sandbox off" if not self.wanted else known.word if known else ""

    def line(self) -> str:
        """Return a line for startup that names the sandbox in effect. Waits until it was tried; "" if no command can
        run yet."""
        if self._make is None or not self._keeper.trusted:
            return ""
        walls = self.walls
        if walls and walls.chosen().kind is None and self._config.sandbox.mode == "require":
            return f"Sandbox: none, so no command runs ({walls.chosen().why})"
        if walls is None or walls.chosen().kind is None:
            return f"Sandbox: {in_words(walls.chosen() if walls else None)}"
        line = f"Sandbox: {in_words(walls.chosen())}, {network_in_words(walls.network)}"
        return f"{line}; {self.left}" if self.left else line

    @property
    def left(self) -> str:
        """A line on what earlier programs left unchecked; "" if there is nothing, or before the sandbox was tried."""
        return self._walls.left if self._walls else ""

    def state(self) -> str:
        """Return one word for programs: the kind, "none" or "off"; "untrusted" if no command can run yet."""
        if not self.wanted:
            return "off"
        if not self._keeper.trusted or self.walls is None:
            return "untrusted"
        return self.walls.chosen().kind or "none"

    def check(self) -> None:
        """Raise UsageError if the configuration requires a sandbox and none works.

        Nothing is tried before a directory is trusted. Without a sandbox, commands are then refused one by one.
        """
        if self._config.sandbox.mode == "require" and self._keeper.trusted and self.walls:
            chosen = self.walls.chosen()
            if chosen.kind is None:
                where = self._config.origin("sandbox.mode")
                raise UsageError(f"{where}: sandbox.mode is 'require', but {chosen.why}", NO_SANDBOX_HINT)

    def close(self, *, keep: bool = False) -> None:
        """Remove the sandbox's files, unless detached commands `keep` them."""
        with self._lock:
            walls, self._walls, self._tried = self._walls, None, False
        if walls and not keep:
            walls.close()


def in_words(chosen: "Chosen | None") -> str:
    """Return the state of the sandbox in words; `chosen` is None if it is off."""
    if chosen is None:
        return OFF
    if chosen.kind is None:
        return f"none, commands run with your permissions ({chosen.why})"
    return chosen.kind


def network_in_words(network: bool | tuple[str, ...]) -> str:
    if isinstance(network, bool):
        return f"network {'on' if network else 'off'}"
    return f"network: {', '.join(network)}" if network else "network off"


def _enforced(rules: Rules) -> bool:
    """Return whether the sandbox enforces every deny rule about files. It enforces rules for reading, not for
    editing."""
    return not any(parse_rule(text).tool in ("edit", "write", "*") for text in rules.deny)
