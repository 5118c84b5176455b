"""Prompt history and draft on disk. Written in threads, so that no key waits for the disk."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prunecli.front.presentation import prompt_history as history
from prunecli.tui.prompting import draft as drafts
from prunecli.tui.slices import ended

DRAFT_SECONDS = 0.5
"""Minimum seconds between two writes of the draft."""


class PromptStore:
    """The prompt files of one directory. `later` calls back after a delay; `complain` reports the first failure."""

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
        self._order = asyncio.Lock()  # keeps the history in the order prompts were sent
        self._failed = False

    async def load(self) -> tuple[list[str], drafts.Draft]:
        """Return the history, oldest first, and the draft of an earlier run unless something was typed."""
        entries = await asyncio.to_thread(history.load, self._history_file)
        if self._draft() == drafts.Draft():
            async with self._order:
                self._saved = await asyncio.to_thread(self._adopt)
        return entries, self._saved

    def _adopt(self) -> drafts.Draft:
        try:
            return self._draft_file.adopt()
        except OSError:
            return drafts.Draft()  # the first write will report the problem

    def typed(self) -> None:
        if not self._due:
            self._due = True
            self._later(DRAFT_SECONDS, self.flush)

    def flush(self) -> None:
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
        """Record a sent prompt with its time in unix ms."""
        self._begin(lambda: history.append(self._history_file, text, self._cwd, at))

    def _begin(self, write: Callable[[], None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._write(write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(ended)
        return task

    async def _write(self, write: Callable[[], None]) -> None:
        try:
            async with self._order:
                await asyncio.to_thread(write)
        except OSError as error:
            if not self._failed:
                self._failed = True
                where = (
                    error.filename or self._history_file.parent
                )  # the error of a full disk has no file name
                self._complain(f"Cannot write the prompt history: {where}: {error.strerror}")

    async def close(self) -> None:
        self.flush()
        while tasks := tuple(self._tasks):
            await asyncio.gather(*tasks)
            self._tasks.difference_update(tasks)
        await asyncio.to_thread(self._draft_file.close)
