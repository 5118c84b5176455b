"""Two values: the parts of a runtime, and the status that it shows."""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.policy import Waiting
from prunecli.config.effective import Config
from prunecli.context.bill import Bill
from prunecli.context.ledger import Ledger
from prunecli.safety.permissions.verdict import Mode, Rules
from prunecli.safety.project_rules import ProjectRules
from prunecli.safety.trust import TrustStore
from prunecli.session.completing import Clock, system_clock
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places

if TYPE_CHECKING:
    from prunecli.safety.sandbox.sandbox import Sandbox

ADDED = "workspace.added"
"""The setting that lists the added folders of a session."""


@dataclass(slots=True)
class Added:
    """The real paths of the added folders, which may change during a session."""

    paths: tuple[Path, ...] = ()


MakeSandbox: TypeAlias = Callable[[Config, Callable[[], Rules]], "Sandbox"]
"""(configuration, the rules in effect) -> the configured sandbox."""


@frozen
class Setup:
    """The parts of a runtime.

    `child_env` is the environment of commands that run without a question. `approved_env` is that of commands the
    user has approved, where git's hooks also run. Neither contains a key. `load_config` reads the configuration
    again; its argument tells whether the directory is trusted. `zone` is the time zone for display, None for the
    machine's. `environ` is the original environment with keys; no child process gets it. `walls` makes the sandbox;
    without it there is none. `append_prompt` is appended to the system prompt of each new session, but not of tasks.
    `naming` holds the name for the session of the next prompt, if any. A screen without a key looks for model servers
    on `local_ports`, to offer one.
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
    walls: MakeSandbox | None = None
    added: Added = field(default_factory=Added)
    append_prompt: str = ""
    naming: list[str] = field(default_factory=list)
    local_ports: tuple[int, ...] = ()


def rules_of(config: Config) -> Rules:
    permissions = config.permissions
    return Rules(permissions.allow, permissions.ask, permissions.deny)


def keeper_of(
    setup: Setup,
    asker: Callable[[Asked], Awaitable[Answer]],
    rules: ProjectRules,
    warn: Callable[[str], None],
) -> SessionGatekeeper:
    """Return the gatekeeper of a runtime with these parts. `rules` are those stored for directories; `warn` shows a
    warning."""

    def keep(rule: str) -> None:
        try:
            rules.keep(setup.cwd, rule)
        except ConfigError as error:  # the rule still applies to this session
            warn(f"{error.message}; {error.hint}")

    return SessionGatekeeper(
        rules_of(setup.config),
        setup.config.permissions.mode,
        setup.trusted,
        setup.cwd,
        setup.places.home,
        setup.places.secrets,
        asker,
        search_path=setup.child_env.get("PATH"),
        kept=lambda: rules.of(setup.cwd),
        keep=keep,
        added=lambda: setup.added.paths,
        own=(os.path.realpath(setup.places.clipped),),
    )


@frozen
class Status:
    """The figures of the status bar, from one ledger and one bill.

    `prunes` are those that wait, if only for the next request. `estimated`: the endpoint has
    not counted exactly this context. `waiting` is the number of queued messages. `sandbox` describes the sandbox in
    a word, "" while it is being tried. `more` are words of features. `saved` is what pruning has
    saved so far in USD, net of its cost, None if a price is unknown. `cached_at` is the time at which
    the endpoint last used the context's prefix, in unix ms.
    """

    ledger: Ledger
    prunes: Waiting | None
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
    more: tuple[str, ...] = ()
    saved: float | None = None
    cached_at: int = 0

    @property
    def held(self) -> str:
        """What the gate holds back and why, or what the next request prunes, or ""."""
        return self.prunes.words if self.prunes else ""
