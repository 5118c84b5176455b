"""Saves the files of the workspace before the agent's first change after each prompt, and when the agent is idle
again.

The first save of a large directory may take minutes. A change waits a few seconds for it; the save then continues in
the background for a while, and the next attempt builds on it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prunecli.config.effective import Config
from prunecli.features.rewind.copies import Copies
from prunecli.features.rewind.own_git import OutOfTime
from prunecli.features.rewind.restoring import Kept
from prunecli.features.rewind.snapshots import Saved, Snapshots
from prunecli.model.events import FilesSaved, SavedMoment, SavedReason
from prunecli.model.messages import ToolUse
from prunecli.model.signals import Notice
from prunecli.runtime.setup import Setup
from prunecli.session.session import Session
from prunecli.session.timeline import is_open, is_saved, trees_after
from prunecli.util.errors import SnapshotFailed
from prunecli.util.programs import find_outside
from prunecli.util.sanitize import one_line

PATIENCE = 5.0
"""Seconds that a change waits for the files to be saved."""
FIRST_SECONDS = 60.0
"""Seconds that the first save may continue in the background."""


class FileSaver:
    """Saves the files of one runtime, and records this in the log.

    A failure is reported once and turns saving off for that session. `root` is the folder to save. By default it is
    the working directory, and the added folders are saved as well.
    """

    def __init__(
        self,
        setup: Setup,
        config: Callable[[], Config],
        session: Callable[[], Session],
        *,
        patience: float = PATIENCE,
        first_seconds: float = FIRST_SECONDS,
        root: Path | None = None,
    ) -> None:
        self.cwd = setup.cwd
        folder, environ, root = setup.places.snapshots, setup.child_env, root or setup.cwd
        self.snapshots: Kept = (
            Snapshots(folder, root, environ, setup.places.home)
            if find_outside(environ.get("PATH", ""), "git", str(root))
            else Copies(folder, root)
        )
        self._added: Callable[[], tuple[Path, ...]] = lambda: setup.added.paths if root == setup.cwd else ()
        self._beside: dict[Path, FileSaver] = {}
        self._make = partial(
            FileSaver, setup, config, session, patience=patience, first_seconds=first_seconds
        )
        self._config = config
        self._session = session
        self._said: set[str] = set()
        self._keeps = setup.keep_log
        self._patience, self._first_seconds = patience, first_seconds
        self._work: asyncio.Task[Saved] | None = None
        self._given_up: dict[str, str] = {}
        self._one_at_a_time = asyncio.Lock()

    @property
    def all(self) -> tuple["FileSaver", ...]:
        for path in self._added():
            self._beside.setdefault(path, self._make(root=path))
        return (self, *(self._beside[path] for path in self._added()))

    @property
    def off(self) -> str:
        if not self._config().section("tools").snapshots:
            return "tools.snapshots is false"
        if not self._keeps:
            return "sessions are not saved"
        if why := self.snapshots.refusal():
            return why
        if any(isinstance(record.event, FilesSaved) for record in self._session().records):
            return ""  # files saved before a failure can still be restored
        return "files are still being saved" if self._work else self._failure

    @property
    def _failure(self) -> str:
        return self._given_up.get(self._session().id, "")

    async def before(self, call: ToolUse) -> None:
        async with self._one_at_a_time:  # agents that work side by side wait for the same save
            for one in self.all:
                await one._before_call(call)

    async def _before_call(self, call: ToolUse) -> None:
        if self.off or self._failure or self._work:
            return
        new = isinstance(self.snapshots, Copies) and self._watched(self.snapshots, call)
        if new or not is_saved(self._session().records, str(self.snapshots.workspace)):
            await self._before()

    async def _before(self) -> None:
        """Save the files; after `patience` seconds, let the save continue in the background."""
        self._work = work = asyncio.ensure_future(asyncio.to_thread(self.save, self._first_seconds))
        work.add_done_callback(self._ended)
        await asyncio.wait({work}, timeout=self._patience)
        if not work.done():
            self._say("Still saving this directory's files. /rewind can restore files once it is done.")
        elif work.exception() is None:  # `_ended` has told of a failure
            self.record(work.result(), "before")

    def _ended(self, work: "asyncio.Task[Saved]") -> None:
        self._work = None
        if not work.cancelled() and (error := work.exception()):
            if not isinstance(error, SnapshotFailed):
                error = SnapshotFailed(one_line(f"{type(error).__name__}: {error}"))
            self._give_up(error)

    def _give_up(self, error: SnapshotFailed) -> None:
        why = error.message
        if isinstance(error, OutOfTime):
            why = f"saving the files takes longer than {self._first_seconds:g}s; the next session continues"
        self._given_up[self._session().id] = why
        self._say(f"File rewind is off for this session: {why}")

    def _watched(self, copies: Copies, call: ToolUse) -> bool:
        """Without git, save the file named by the call from now on; return whether the file is new."""
        copies.know(trees_after(self._session().records, -1, str(copies.workspace)))
        path = call.input.get("path")
        if isinstance(path, str) and "\0" not in path:
            return copies.watch(path)
        self._say("Without git, /rewind restores edited files but not changes by commands")
        return False

    async def after(self) -> None:
        for one in self.all:
            await one._after()

    async def _after(self) -> None:
        if self.off or self._failure or self._work:
            return
        if is_open(self._session().records, str(self.snapshots.workspace)):
            try:
                self.record(await asyncio.to_thread(self.save), "after")
            except SnapshotFailed as error:
                self._give_up(error)

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._session().tell(Notice(text, "warning"))

    def save(self, seconds: float | None = None) -> Saved:
        """Save the files in their current state. May block. Raises SnapshotFailed."""
        if isinstance(self.snapshots, Copies):
            root = str(self.snapshots.workspace)
            self.snapshots.know(trees_after(tuple(self._session().records), -1, root))
            return self.snapshots.save()
        return self.snapshots.save(seconds)

    async def close(self) -> None:
        """Stop the background save; its work so far is kept."""
        for one in self._beside.values():
            await one.close()
        if self._work is not None:
            self._work.remove_done_callback(self._ended)
            if isinstance(self.snapshots, Snapshots):
                self.snapshots.stop()
            await asyncio.gather(self._work, return_exceptions=True)

    def record(self, saved: Saved, moment: SavedMoment, reason: SavedReason = "tools") -> None:
        """Record in the log that the files were saved. Raises StorageFailed."""
        root = str(self.snapshots.workspace)
        self._session().emit(FilesSaved(saved.tree, root, moment, reason, saved.skipped, saved.duration_ms))
