"""The session picker for another agent's sessions. Reads them from that agent's folder and never changes them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.runtime import Runtime
from prunecli.sanitize import one_line
from prunecli.session.importers.known_agents import title_of
from prunecli.session.session_search import Hit
from prunecli.session.store import Listed
from prunecli.tui.port import Port
from prunecli.tui.session_picker import SessionPicker

if TYPE_CHECKING:
    from prunecli.tui.screens.sessions import Chosen

READ_ONLY = "sessions of another agent are read-only"


class HandoffPicker(SessionPicker):
    """A picker that lists the sessions of an agent such as @claude, and continues the chosen one."""

    ours = False

    def __init__(self, agent: str, runtime: Runtime, port: Port) -> None:
        super().__init__(runtime, port)
        self._agent = agent
        self._problems: list[str] = []
        self.whose = f"{title_of(agent)} sessions"

    def sessions(self, cwd: Path | None) -> Iterable[Listed]:
        from prunecli.session.importers.finding import listed  # deferred: the importers take 0.2 s

        self._problems = []
        return listed(self._agent, self._runtime.setup.environ, cwd, self._problems)

    def hits(self, among: Sequence[Listed], query: str) -> Iterable[Hit | int]:
        from prunecli.session.importers.finding import search

        return search(among, query)

    def note(self) -> str:
        problems = self._problems
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        path, _, why = problems[0].partition(": ") if problems else ("", "", "")
        return one_line(f"cannot read {Path(path).name}{more}: {why}") if problems else ""

    def _chosen(self, chosen: "Chosen | None") -> None:
        if chosen is not None:
            self._port.command(f"/resume {self._agent}:{chosen.id}")

    def rename(self, path: Path, name: str) -> str:  # noqa: ARG002  # the base class's signature
        """Return an error: the file belongs to the other agent."""
        return READ_ONLY

    def remove(self, path: Path) -> str:  # noqa: ARG002  # the base class's signature
        """Return an error: the file belongs to the other agent."""
        return READ_ONLY
