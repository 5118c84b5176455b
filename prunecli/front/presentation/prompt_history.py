"""Prompt history: a JSONL file, and a walk through it with Up and Down.

Each line is `{"text": ..., "cwd": ..., "at": unix ms}`. Several programs append to one file; each line is a single
write.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from prunecli.util.private_file import make_private

MOST_ENTRIES = 1_000
MOST_BYTES = 4_000_000
"""Maximum bytes read from the end of the file."""
LONGEST = 200_000
"""Maximum characters of a prompt in the history. A longer one is only in the session."""


def load(path: Path) -> list[str]:
    """Return the last prompts, oldest first, without repetitions. Damaged lines are skipped."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            data = file.read()
    except OSError:
        return []

    def text_of(line: bytes) -> str:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return ""
        text = entry.get("text") if isinstance(entry, dict) else None
        return text if isinstance(text, str) else ""

    lines = data.split(b"\n")[1 if size > MOST_BYTES else 0 :]
    texts = [text for line in lines if (text := text_of(line))]
    return list(dict.fromkeys(reversed(texts)))[:MOST_ENTRIES][::-1]


def append(path: Path, text: str, cwd: str, at: int) -> None:
    """Append a prompt to the file, which only its owner can read. Raises OSError."""
    if len(text) > LONGEST:
        return
    line = json.dumps({"text": text, "cwd": cwd, "at": at}) + "\n"
    make_private(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class History:
    """A walk through the history. The text that was unsent before the walk is its last entry."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self._at: int | None = None
        self._typed = ""

    def add(self, text: str) -> None:
        if text.strip():
            self.entries = [entry for entry in self.entries if entry != text]
            self.entries.append(text)
        self.leave()

    def preload(self, entries: Iterable[str]) -> None:
        newer = self.entries
        self.entries = [entry for entry in entries if entry not in newer] + newer

    def leave(self) -> None:
        self._at = None

    def older(self, typed: str) -> str | None:
        """Return the previous entry; None at the oldest. `typed` is the prompt's current text."""
        at = len(self.entries) if self._at is None else self._at
        if self._at is None:
            self._typed = typed
        while at > 0:
            at -= 1
            if self.entries[at] != typed:
                self._at = at
                return self.entries[at]
        return None

    def newer(self) -> str | None:
        """Return the next entry, and after the newest the unsent text; None outside a walk."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self.entries):
            self._at = None
            return self._typed
        return self.entries[self._at]
