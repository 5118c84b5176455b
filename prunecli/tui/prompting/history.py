"""The prompts that were typed, in a JSONL file, and walking through them with Up and Down.

Each line is `{"text": ..., "cwd": ..., "at": unix ms}`. Several programs append to one file; a line is one write.
"""

import os
from collections.abc import Iterable
from pathlib import Path

MOST_ENTRIES = 1_000
MOST_BYTES = 4_000_000
"""So much of the file's end is read."""
LONGEST = 200_000
"""Characters of a prompt above which it is not kept in the history: the session has it."""


def load(path: Path) -> list[str]:
    """The last prompts, oldest first, each only where it was typed last. Lines that are damaged are passed over."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            data = file.read()
    except OSError:
        return []
    import json

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
    """Adds a prompt to the file, which only its owner can read. Raises OSError."""
    if len(text) > LONGEST:
        return
    import json

    line = json.dumps({"text": text, "cwd": cwd, "at": at}) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class History:
    """A walk through the entries. What was being typed when it began waits at its end."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self._at: int | None = None
        self._typed = ""

    def add(self, text: str) -> None:
        """Something was sent, or cleared away: it is the newest entry, and the walk is over."""
        if text.strip():
            self.entries = [entry for entry in self.entries if entry != text]
            self.entries.append(text)
        self.leave()

    def preload(self, entries: Iterable[str]) -> None:
        """What was read from the file goes before what was typed meanwhile."""
        newer = self.entries
        self.entries = [entry for entry in entries if entry not in newer] + newer

    def leave(self) -> None:
        """What is typed now is no entry of the history any more."""
        self._at = None

    def older(self, typed: str) -> str | None:
        """The entry before; None at the oldest. `typed` is what stands in the prompt."""
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
        """The entry after, and after the newest what had been typed; None when not walking."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self.entries):
            self._at = None
            return self._typed
        return self.entries[self._at]
