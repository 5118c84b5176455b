"""When the files of the workspace are saved: before the agent's first change after each word of the user's, and
when its work is over."""

import asyncio
from collections.abc import Callable

from prunecli.agent.signals import Notice
from prunecli.config import Config
from prunecli.errors import SnapshotFailed
from prunecli.model.events import FilesSaved, SavedMoment, SavedReason
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.session.snapshots import Saved, Snapshots
from prunecli.session.timeline import is_open, is_saved


class FileSaver:
    """Saves the files of one runtime and records it. What goes wrong is said once and holds nothing up."""

    def __init__(self, setup: Setup, config: Callable[[], Config], session: Callable[[], Session]) -> None:
        self.snapshots = Snapshots(setup.places.snapshots, setup.cwd, setup.child_env, setup.places.home)
        self._config = config
        self._session = session
        self._said: set[str] = set()
        self._keeps = setup.keep_log

    @property
    def off(self) -> str:
        """Why files are not saved, or ""."""
        if not self._config().tools.snapshots:
            return "tools.snapshots is false"
        return self.snapshots.refusal() if self._keeps else "no session is kept"

    async def before(self) -> None:
        """Something is about to be changed."""
        if not self.off and not is_saved(self._session().records, str(self.snapshots.workspace)):
            await self._try("before")

    async def after(self) -> None:
        """The agent is idle again."""
        if not self.off and is_open(self._session().records, str(self.snapshots.workspace)):
            await self._try("after")

    async def _try(self, moment: SavedMoment) -> None:
        try:
            self.record(await asyncio.to_thread(self.snapshots.save), moment)
        except SnapshotFailed as error:
            if error.message not in self._said:
                self._said.add(error.message)
                text = f"/rewind can't bring back files that are changed now: {error.message}"
                self._session().tell(Notice(text, "warning"))

    def record(self, saved: Saved, moment: SavedMoment, reason: SavedReason = "tools") -> None:
        """Writes into the log that the files were saved. Raises StorageFailed."""
        root = str(self.snapshots.workspace)
        self._session().emit(FilesSaved(saved.tree, root, moment, reason, saved.skipped, saved.duration_ms))
