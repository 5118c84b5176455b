"""When the files of the workspace are saved: before the agent's first change after each word of the user's, and
when its work is over."""

import asyncio
import shutil
from collections.abc import Callable

from prunecli.agent.signals import Notice
from prunecli.config import Config
from prunecli.errors import SnapshotFailed
from prunecli.model.events import FilesSaved, SavedMoment, SavedReason
from prunecli.model.messages import ToolUse
from prunecli.runtime.setup import Setup
from prunecli.session.copies import Copies
from prunecli.session.restoring import Kept
from prunecli.session.session import Session
from prunecli.session.snapshots import Saved, Snapshots
from prunecli.session.timeline import is_open, is_saved, trees_after


class FileSaver:
    """Saves the files of one runtime and records it. What goes wrong is said once and holds nothing up."""

    def __init__(self, setup: Setup, config: Callable[[], Config], session: Callable[[], Session]) -> None:
        folder, environ = setup.places.snapshots, setup.child_env
        self.snapshots: Kept = (
            Snapshots(folder, setup.cwd, environ, setup.places.home)
            if shutil.which("git", path=environ.get("PATH", ""))
            else Copies(folder, setup.cwd)
        )
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

    async def before(self, call: ToolUse) -> None:
        """This call is about to change something."""
        if self.off:
            return
        new = isinstance(self.snapshots, Copies) and self._watched(self.snapshots, call)
        if new or not is_saved(self._session().records, str(self.snapshots.workspace)):
            await self._try("before")

    def _watched(self, copies: Copies, call: ToolUse) -> bool:
        """Without git: the file that the call names is saved from now on. Whether that is new."""
        copies.know(trees_after(self._session().records, -1, str(copies.workspace)))
        path = call.input.get("path")
        if isinstance(path, str) and "\0" not in path:
            return copies.watch(path)
        self._say("without git /rewind brings back what is edited, not what commands change")
        return False

    async def after(self) -> None:
        """The agent is idle again."""
        if not self.off and is_open(self._session().records, str(self.snapshots.workspace)):
            await self._try("after")

    async def _try(self, moment: SavedMoment) -> None:
        try:
            self.record(await asyncio.to_thread(self.save), moment)
        except SnapshotFailed as error:
            self._say(f"/rewind can't bring back files that are changed now: {error.message}")

    def _say(self, text: str) -> None:
        """Says it once."""
        if text not in self._said:
            self._said.add(text)
            self._session().tell(Notice(text, "warning"))

    def save(self) -> Saved:
        """Saves the files as they are now; may block. Raises SnapshotFailed."""
        if isinstance(self.snapshots, Copies):
            root = str(self.snapshots.workspace)
            self.snapshots.know(trees_after(tuple(self._session().records), -1, root))
        return self.snapshots.save()

    def record(self, saved: Saved, moment: SavedMoment, reason: SavedReason = "tools") -> None:
        """Writes into the log that the files were saved. Raises StorageFailed."""
        root = str(self.snapshots.workspace)
        self._session().emit(FilesSaved(saved.tree, root, moment, reason, saved.skipped, saved.duration_ms))
