"""Other agents whose sessions can be opened by name, such as @claude. Features and plugins bring them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prunecli.plugins.app import Installed
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed, Store

if TYPE_CHECKING:
    from prunecli.session.importers.handoff import HandedOver


class Importer(Protocol):
    """Reads the sessions of another agent. It never changes them."""

    def listed(self, environ: Mapping[str, str], cwd: Path | None, problems: list[str]) -> Iterator[Listed]:
        """Yield the sessions of a directory, or all, newest first. `problems` gets a line for each file that cannot
        be read."""

    def search(self, sessions: Sequence[Listed], query: str) -> Iterable[Hit | int]:
        """Yield the hits in these sessions, and the number of bytes searched so far."""

    def check_some(self, environ: Mapping[str, str], cwd: Path) -> None:
        """Raise SessionNotFound if there is no session of this directory."""

    def hand_over(self, wanted: str, environ: Mapping[str, str], cwd: Path, store: Store) -> "HandedOver":
        """Import the session that `@AGENT:ID` names, or find its earlier import. Raises PrunecliError."""


def titles(installed: Installed) -> dict[str, str]:
    """Return the display names of the agents by what people type: {"@claude": "Claude Code"}."""
    return {f"@{name}": one.facts["title"] for name, one in installed.of("sessions").items()}


def is_agent(wanted: str, installed: Installed) -> bool:
    """Return whether this names an agent, with or without a session: `@claude`, `@codex:last`."""
    return wanted.partition(":")[0] in titles(installed)


def importer_of(wanted: str, installed: Installed) -> Importer:
    """Return the importer of an agent that is named with or without a session."""
    found: Importer = installed.of("sessions")[wanted.partition(":")[0].removeprefix("@")].load()
    return found
