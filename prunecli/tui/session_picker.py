"""The session picker: reads and changes sessions for the list, in threads, so that no key waits for the disk."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime
from prunecli.runtime.importers import importer_of, titles
from prunecli.session import session_files as changing
from prunecli.session.session_search import Hit, search
from prunecli.session.store import Listed
from prunecli.tui.port import Port
from prunecli.tui.slices import ended
from prunecli.util.errors import PrunecliError
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime import sessions
    from prunecli.tui.screens import sessions as screens_sessions
    from prunecli.tui.screens.sessions import Chosen
else:
    screens_sessions = lazy("prunecli.tui.screens.sessions")
    sessions = lazy("prunecli.runtime.sessions")

READ_ONLY = "sessions of another agent are read-only"
TRASH = "trash"
SHOW_SECONDS = 0.1
"""Seconds between updates of the list while a search runs."""


def picker_of(agent: str, runtime: Runtime, port: Port) -> "SessionPicker":
    if not agent:
        return SessionPicker(runtime, port)
    return HandoffPicker(agent, runtime, port)


class SessionPicker:
    """The picker: opens the list of sessions, and then the chosen session.

    `whose` precedes "in this directory" in the title; `ours`: sessions can be copied, renamed and removed.
    """

    whose = "Sessions"
    ours = True

    def __init__(self, runtime: Runtime, port: Port) -> None:
        self._runtime = runtime
        self._port = port

    def begin(self) -> None:
        setup = self._runtime.setup
        costs = sessions.Costs.of(setup.places) if self.ours else None
        screen = screens_sessions.SessionsScreen(self, setup.cwd, costs, setup.clock)
        self._port.push_screen(screen, self._chosen)

    def _chosen(self, chosen: "Chosen | None") -> None:
        if chosen is not None and (chosen.fork or chosen.path != self.current):
            how = " --fork" if chosen.fork else ""
            self._port.command(f"/resume {chosen.path.stem}{how}")  # it offers a copy of a locked session

    # Called by the screen ------------------------------------------------------------------------------------

    @property
    def current(self) -> Path | None:
        return self._runtime.session.path

    async def list(self, cwd: Path | None, show: Callable[[Sequence[Listed]], None]) -> None:
        """Pass the sessions of a directory, or all sessions, to `show`: first those found so far, and at the end all
        of them, newest first. Tasks are left out."""
        rows: list[Listed] = []

        def read() -> None:
            for session in self.sessions(cwd):
                if state["stop"]:
                    return
                rows.append(session)

        state = {"stop": 0}
        try:
            await self._while(asyncio.to_thread(read), lambda: show(list(rows)))
        finally:
            state["stop"] = 1  # the list was closed, or switched to other directories
        show(sorted(rows, key=lambda one: (one.changed, one.id), reverse=True))

    def sessions(self, cwd: Path | None) -> Iterable[Listed]:
        """Return the sessions of a directory, or all, newest first; called in a thread."""
        return (one for one in self._runtime.store.listed(cwd) if not one.is_task)

    def hits(self, among: Sequence[Listed], query: str) -> Iterable[Hit | int]:
        """Return the hits in these sessions, and the number of bytes searched so far; called in a thread."""
        return search([one.path for one in among], query)

    def note(self) -> str:
        """Return a note on sessions that the list could not read, or ""."""
        return ""

    async def search(
        self, among: Sequence[Listed], query: str, show: Callable[[Sequence[Hit], float], None]
    ) -> None:
        """Pass the hits in these sessions to `show`, with the share searched so far, from 0 to 1.

        Canceling stops the search.
        """
        found: list[Hit] = []
        total = max(1, sum(one.size for one in among))
        state = {"done": 0, "stop": 0}

        def scan() -> None:
            for step in self.hits(among, query):
                if state["stop"]:
                    return
                if isinstance(step, Hit):
                    found.append(step)
                else:
                    state["done"] = step

        try:
            await self._while(
                asyncio.to_thread(scan), lambda: show(list(found), min(0.99, state["done"] / total))
            )
        finally:
            state["stop"] = 1
        show(list(found), 1.0)

    async def _while(self, work: Coroutine[None, None, None], show: Callable[[], None]) -> None:
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait([task], timeout=SHOW_SECONDS))[0]:
                show()
        finally:
            if not task.done():
                task.add_done_callback(ended)
        task.result()

    def rename(self, path: Path, name: str) -> str:
        """Rename a session; return the error, or ""."""
        try:
            if path == self.current and self._runtime.session.records:
                self._runtime.emit(SettingChanged("session.name", name))
                self._port.show_status()
            else:
                changing.rename(path, name, self._runtime.setup.clock)
        except PrunecliError as error:
            return error.message
        return ""

    def remove(self, path: Path) -> str:
        """Move a session to the trash; return the error, or ""."""
        if path == self.current:
            return "this session is open"
        try:
            changing.to_trash(path, self._runtime.setup.places.data / TRASH, self._runtime.setup.clock)
        except PrunecliError as error:
            return error.message
        return ""

    @property
    def trash(self) -> str:
        places = self._runtime.setup.places
        return places.shown(places.data / TRASH)


class HandoffPicker(SessionPicker):
    """The picker for another agent's sessions, such as those of @claude. Never changes them."""

    ours = False

    def __init__(self, agent: str, runtime: Runtime, port: Port) -> None:
        super().__init__(runtime, port)
        self._agent = agent
        self._problems: list[str] = []
        self.whose = f"{titles(runtime.config.installed)[agent]} sessions"

    def sessions(self, cwd: Path | None) -> Iterable[Listed]:
        self._problems = []
        return importer_of(self._agent, self._runtime.config.installed).listed(
            self._runtime.setup.environ, cwd, self._problems
        )

    def hits(self, among: Sequence[Listed], query: str) -> Iterable[Hit | int]:
        return importer_of(self._agent, self._runtime.config.installed).search(among, query)

    def note(self) -> str:
        problems = self._problems
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        path, _, why = problems[0].partition(": ") if problems else ("", "", "")
        return one_line(f"cannot read {Path(path).name}{more}: {why}") if problems else ""

    def _chosen(self, chosen: "Chosen | None") -> None:
        if chosen is not None:
            self._port.command(f"/resume {self._agent}:{chosen.id}")

    def rename(self, path: Path, name: str) -> str:  # noqa: ARG002  # the base class's signature
        return READ_ONLY

    def remove(self, path: Path) -> str:  # noqa: ARG002  # the base class's signature
        return READ_ONLY
