"""The stored result of a login to an MCP server: tokens, and the client that they were issued to.

Each server has one file with mode 0600, in a folder beside the key file. The file name is derived from the server's
name and address, so a server of the same name at another address never gets the tokens.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.util.errors import ConfigError
from prunecli.util.private_file import make_private, read_private, write_private

MAX_BYTES = 200_000


class Login:
    """The file of one server. It is read and written as a whole; nothing is kept in memory."""

    def __init__(self, folder: Path, name: str, url: str) -> None:
        digest = hashlib.sha256(json.dumps([name, url]).encode()).hexdigest()[:32]
        self._path = folder / f"{digest}.json"
        self._name = name

    def load(self) -> dict[str, Any]:
        """Return the stored data; {} if there is none or it is damaged, which a new login repairs.

        Raises ConfigError for a file that others can read, and for one that cannot be read.
        """
        try:
            data = read_private(self._path, MAX_BYTES + 1, is_secret=True)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror}", self._anew) from error
        try:
            kept = json.loads(data)
        except (ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) and kept.get("version") == 1 else {}

    def save(self, kept: Mapping[str, Any]) -> None:
        """Write the file completely or not at all. Raises ConfigError."""
        data = json.dumps({"version": 1, "server": self._name, **kept}).encode()
        try:
            make_private(self._path.parent)
            write_private(self._path, data, sync=True)
        except OSError as error:
            raise ConfigError(
                f"cannot write {self._path}: {error.strerror}", "nothing was changed"
            ) from error

    def forget(self) -> bool:
        """Remove the file; return whether there was one. Raises ConfigError."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f"cannot remove {self._path}: {error.strerror}") from error
        return True

    @property
    def _anew(self) -> str:
        return f"remove it, then /mcp login {self._name}"
