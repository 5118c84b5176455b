"""Two values: the parts of a runtime, and the status it shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from prunecli.agent.permissions.judge import Mode, Rules
from prunecli.agent.trust import TrustStore
from prunecli.config import Config
from prunecli.context.bill import Bill
from prunecli.context.ledger import Ledger
from prunecli.paths import Places
from prunecli.session.clock import Clock, system_clock

if TYPE_CHECKING:
    from prunecli.sandbox.walls import Walls

MakeWalls: TypeAlias = Callable[[Config, Callable[[], Rules]], "Walls"]
"""(configuration, the rules in force) -> the sandbox that it asks for."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a runtime is made of.

    `child_env` is the whole environment of commands that nobody was asked about, `approved_env` of those that the
    user saw (git's hooks run in it); neither holds a key. `load_config` reads the configuration again, for a
    trusted directory or not. `zone` is that of the times shown, None the machine's. `environ` is the environment
    of the start, keys and all: it goes to no child. `walls` makes the sandbox; without it there is none.
    """

    places: Places
    cwd: Path
    config: Config
    child_env: Mapping[str, str]
    approved_env: Mapping[str, str]
    trusted: bool
    platform: str
    load_config: Callable[[bool], Config]
    trust_store: TrustStore
    clock: Clock = system_clock
    keep_log: bool = True
    zone: tzinfo | None = None
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    walls: MakeWalls | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What the status bar shows, all from one ledger and one bill.

    `held` is why the gate holds a prune back, or ""; `estimated` that no request has been measured so far;
    `waiting` what the user said that the agent has not heard yet; `sandbox` the word for it, "" while it is tried.
    """

    ledger: Ledger
    held: str
    bill: Bill
    model: str
    mode: Mode
    pruning: bool
    running: bool
    estimated: bool
    trusted: bool
    waiting: tuple[str, ...] = ()
    session_name: str = ""
    sandbox: str = ""
