"""A register: a small JSON file of names and texts in the user's own folder, which no project can change.

Trust and approvals each have one.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prunecli.util.errors import ConfigError
from prunecli.util.file_systems import lock
from prunecli.util.private_file import make_private, read_private, write_private

_MAX_BYTES = 4_000_000


class Register:
    """The names and texts of one file, which need not exist. `key` is their key in the file's object, `what` names
    the file in messages, and `way_out` tells the user what to do if it can't be written.

    A file that is unreadable or writable by others is treated as empty; `read` returns the reason.
    """

    def __init__(self, path: Path, key: str, what: str, way_out: str) -> None:
        self.path = path
        self._key, self._what, self._way_out = key, what, way_out

    def read(self) -> tuple[dict[str, str], str]:
        """Return the texts by name, and the problem with the file ("" if none)."""
        try:
            data = read_private(self.path, _MAX_BYTES + 1, is_secret=False)
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            return {}, f"{self.path}: {error.strerror}"
        try:
            return self._parsed(data), ""
        except (ValueError, RecursionError):
            return {}, f"{self.path}: not {self._what}"

    @contextmanager
    def changing(self) -> Iterator[dict[str, str]]:
        """Lock the file and yield its texts; changes are written when the block ends. Raises ConfigError."""
        try:
            make_private(self.path.parent)
            descriptor = os.open(
                self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                lock(descriptor)
                texts, problem = self.read()
                if problem:
                    raise ConfigError(problem, f"remove {self.path}, then try again")
                yield texts
                self._write(texts)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ConfigError(f"{self.path}: {error.strerror}", self._way_out) from error

    def _write(self, texts: dict[str, str]) -> None:
        content = json.dumps({"version": 1, self._key: texts}, indent=1, sort_keys=True) + "\n"
        write_private(self.path, content.encode(), sync=True)

    def _parsed(self, data: bytes) -> dict[str, str]:
        """Parse the file's content. Raises ValueError, RecursionError."""
        if len(data) > _MAX_BYTES:
            raise ValueError
        store = json.loads(data.decode("ascii"))
        texts = store.get(self._key) if isinstance(store, dict) and store.get("version") == 1 else None
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise ValueError
        if not all(name.startswith("/") for name in texts):
            raise ValueError
        return texts
