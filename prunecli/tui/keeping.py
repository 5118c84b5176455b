"""What of the prompt outlives the program: the history and the draft. Written in threads, never on the key's way."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prunecli.tui.prompting import draft as drafts
from prunecli.tui.prompting import history

DRAFT_SECONDS = 0.5
"""The draft is written at most so often."""


class Keeping:
    """The files of one directory's prompt. `later` calls back after some seconds, `complain` tells a failure once."""

    def __init__(
        self,
        history_file: Path,
        cwd: Path,
        draft: Callable[[], drafts.Draft],
        later: Callable[[float, Callable[[], None]], object],
        complain: Callable[[str], object],
    ) -> None:
        self._history_file = history_file
        self._draft_file = drafts.DraftFile(drafts.folder_of(history_file, cwd))
        self._cwd = str(cwd)
        self._draft = draft
        self._later = later
        self._complain = complain
        self._saved = drafts.Draft()
        self._due = False
        self._writing: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._order = asyncio.Lock()  # prompts stand in the history in the order in which they were sent
        self._failed = False

    async def load(self) -> tuple[list[str], drafts.Draft]:
        """The history, oldest first, and what an earlier program left as a draft, unless something is typed."""
        entries = await asyncio.to_thread(history.load, self._history_file)
        if self._draft() == drafts.Draft():
            async with self._order:
                self._saved = await asyncio.to_thread(self._adopt)
        return entries, self._saved

    def _adopt(self) -> drafts.Draft:
        try:
            return self._draft_file.adopt()
        except OSError:
            return drafts.Draft()  # writing will say what is wrong there

    def typed(self) -> None:
        """Something was typed: the draft will be written soon."""
        if not self._due:
            self._due = True
            self._later(DRAFT_SECONDS, self.flush)

    def flush(self) -> None:
        """Writes the draft if it is another one."""
        self._due = False
        draft = self._draft()
        if draft == self._saved:
            return
        if self._writing is not None and not self._writing.done():
            self.typed()
            return
        self._saved = draft
        self._writing = self._begin(lambda: self._draft_file.save(draft))

    def sent(self, text: str, at: int) -> None:
        """A prompt was sent, at a time in unix ms."""
        self._begin(lambda: history.append(self._history_file, text, self._cwd, at))

    def _begin(self, write: Callable[[], None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._write(write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _write(self, write: Callable[[], None]) -> None:
        try:
            async with self._order:
                await asyncio.to_thread(write)
        except OSError as error:
            if not self._failed:
                self._failed = True
                where = error.filename or self._history_file.parent  # a full disk names no file
                self._complain(f"The history of prompts can't be written: {where}: {error.strerror}")

    async def close(self) -> None:
        """Waits until everything is written."""
        self.flush()
        while tasks := tuple(self._tasks):
            await asyncio.gather(*tasks)
            self._tasks.difference_update(tasks)
        await asyncio.to_thread(self._draft_file.close)
