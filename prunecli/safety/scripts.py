"""The scripts of a project that its commands run: an approval of a command covers their contents too."""

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from prunecli.model.messages import Json
from prunecli.util.regular import open_regular

MAX_BYTES = 1_000_000
"""Maximum bytes of a script to compare."""

_SHELLS = ("bash", "dash", "fish", "sh", "source", "zsh")
_PROGRAMS = (*_SHELLS, "bun", "deno", "node", "perl", "php", "python", "ruby")
_SUFFIXES = (".bash", ".cjs", ".js", ".lua", ".mjs", ".php", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh")

VARIABLES = ("CLAUDE_PROJECT_DIR", "PRUNECLI_PROJECT_DIR")
"""The variables that tell a hook its project."""


def scripts_of(commands: Iterable[str], folder: Path) -> dict[str, Json]:
    """Return the digests of the project's scripts that the commands run, by path."""
    found: dict[str, Json] = {}
    for command in commands:
        for path in _named(command, folder):
            try:
                with open_regular(path) as file:
                    data = file.read(MAX_BYTES + 1)
            except OSError:
                continue
            found[os.path.relpath(path, folder)] = hashlib.sha256(data).hexdigest()
    return found


def _named(command: str, folder: Path) -> Iterator[str]:
    for name in VARIABLES:
        command = command.replace(f"${{{name}}}", str(folder)).replace(f"${name}", str(folder))
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    inside = os.path.join(os.path.realpath(folder), "")
    for before, word in pairwise(["", *words]):
        path = os.path.realpath(os.path.join(folder, word.strip(";|&()"))) if "\0" not in word else ""
        if path.startswith(inside) and _is_code(path, before):
            yield path


def _is_code(path: str, before: str) -> bool:
    """Return whether a file is run rather than read or written, such as a log, which may change."""
    program = before.rpartition("/")[2].rstrip("0123456789.")
    return (
        program in _PROGRAMS
        or path.endswith(_SUFFIXES)
        or (os.path.isfile(path) and os.access(path, os.X_OK))
    )
