"""Approvals: the programs that the user has allowed to run for a directory, each bound to its exact definition.

Trust lets a directory's settings take effect. A program that the settings would start, such as an MCP server, a
hook or a plugin, needs an approval of its own, and a new one when its definition changes.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.model.messages import Json
from prunecli.safety.register import Register

Kind: TypeAlias = Literal["hook", "mcp", "plugin"]


class Approvals:
    """The approvals of one user. `path` is the approvals file, outside any project; it need not exist.

    A file that is unreadable or writable by others approves nothing; `problem` gives the reason.
    """

    def __init__(self, path: Path) -> None:
        self._register = Register(path, "approvals", "a list of approvals", "it applies to this run only")

    @property
    def problem(self) -> str:
        return self._register.read()[1]

    def has(self, directory: Path, kind: Kind, name: str, definition: Json) -> bool:
        """Return whether the user approved exactly this definition for the directory."""
        return self._register.read()[0].get(_key(directory, kind, name)) == _digest(definition)

    def approve(self, directory: Path, kind: Kind, name: str, definition: Json) -> None:
        """Store an approval, replacing an earlier one of this name. Raises ConfigError."""
        with self._register.changing() as known:
            known[_key(directory, kind, name)] = _digest(definition)

    def revoke(self, directory: Path, kind: Kind, name: str) -> bool:
        """Remove an approval; return whether there was one. Raises ConfigError."""
        with self._register.changing() as known:
            return known.pop(_key(directory, kind, name), None) is not None


def _key(directory: Path, kind: Kind, name: str) -> str:
    return f"{os.path.realpath(directory)}\n{kind}\n{name}"


def _digest(definition: Json) -> str:
    text = json.dumps(definition, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
