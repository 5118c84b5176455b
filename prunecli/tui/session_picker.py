"""Picking a session: what the list on the screen reads and does, in threads, so that no key waits for a disk."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.errors import PrunecliError
from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime
from prunecli.session import session_files as changing
from prunecli.session.session_search import Hit, search
from prunecli.session.store import Listed
from prunecli.tui.port import Port

if TYPE_CHECKING:
    from prunecli.tui.screens.sessions import Chosen

TRASH = "trash"
SHOW_SECONDS = 0.1
"""What was found is shown so often while more is looked for."""


class Picking:
    """Opens the list of sessions, and the session that is chosen from it."""

    def __init__(self, runtime: Runtime, port: Port) -> None:
        self._runtime = runtime
        self._port = port

    def begin(self) -> None:
        """Opens the list."""
        from prunecli.runtime.sessions import Costs
        from prunecli.tui.screens.sessions import SessionsScreen

        setup = self._runtime.setup
        screen = SessionsScreen(self, setup.cwd, Costs.of(setup.places), setup.clock)
        self._port.push_screen(screen, self._chosen)

    def _chosen(self, chosen: "Chosen | None") -> None:
        if chosen is not None and (chosen.fork or chosen.path != self.current):
            how = " --fork" if chosen.fork else ""
            self._port.command(f"/resume {chosen.path.stem}{how}")  # it knows what to offer for a locked one

    # What the screen asks for --------------------------------------------------------------------------------

    @property
    def current(self) -> Path | None:
        """The file of the session that is open."""
        return self._runtime.session.path

    async def list(self, cwd: Path | None, show: Callable[[Sequence[Listed]], None]) -> None:
        """Tells `show` the sessions of a directory, or all, the last changed first: what is there so far, and at the
        end everything."""
        found: list[Listed] = []

        def read() -> None:
            found.extend(self._runtime.store.listed(cwd))

        await self._while(asyncio.to_thread(read), lambda: show(list(found)))
        show(sorted(found, key=lambda one: (one.changed, one.id), reverse=True))

    async def search(
        self, among: Sequence[Listed], query: str, show: Callable[[Sequence[Hit], float], None]
    ) -> None:
        """Tells `show` what is found in these sessions, and which share of them was looked through, 0 to 1.

        Canceled, it stops.
        """
        found: list[Hit] = []
        total = max(1, sum(one.size for one in among))
        state = {"done": 0, "stop": 0}

        def scan() -> None:
            for step in search([one.path for one in among], query):
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
        while not (await asyncio.wait([task], timeout=SHOW_SECONDS))[0]:
            show()
        task.result()

    def rename(self, path: Path, name: str) -> str:
        """Gives a session another name; what went wrong, or ""."""
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
        """Moves a session into the trash; what went wrong, or ""."""
        if path == self.current:
            return "this session is open"
        try:
            changing.to_trash(path, self._runtime.setup.places.data / TRASH, self._runtime.setup.clock)
        except PrunecliError as error:
            return error.message
        return ""

    @property
    def trash(self) -> str:
        """Where removed sessions go, as people write it."""
        places = self._runtime.setup.places
        return places.shown(places.data / TRASH)
