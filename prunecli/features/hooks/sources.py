"""The sources of hooks: settings files, each with the definition that an approval covers."""

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from prunecli.features.hooks.settings import Hook, parse
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

MAX_BYTES = 1_000_000
"""Maximum bytes of a settings file, or of a script that a hook runs."""

_SHELLS = ("bash", "dash", "fish", "sh", "source", "zsh")
_PROGRAMS = (*_SHELLS, "bun", "deno", "node", "perl", "php", "python", "ruby")
_SUFFIXES = (".bash", ".cjs", ".js", ".lua", ".mjs", ".php", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh")

VARIABLES = ("CLAUDE_PROJECT_DIR", "PRUNECLI_PROJECT_DIR")
"""The variables that tell a hook its project."""


@frozen
class Source:
    """The hooks from one place. `folder` is the project directory passed to them.

    `definition` is what an approval covers: the hooks as written, and the contents of the project's scripts that they
    run. It is None for the user's own configuration, which needs no approval. `owner` is the directory that an
    approval applies to.
    """

    label: str
    folder: Path
    owner: Path
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...] = ()
    definition: Json = None

    def lines(self) -> list[str]:
        """Return one line for each hook, for the question that approves them."""
        return [
            f"{hook.event}{f' ({hook.matcher})' if hook.matcher else ''}: {hook.command}"
            for hook in self.hooks
        ]

    def changed(self) -> list[str]:
        known = self.definition.get("scripts") if isinstance(self.definition, Mapping) else None
        if not isinstance(known, Mapping):
            return []
        now = scripts_of(self.hooks, self.folder)
        return [path for path in sorted({*known, *now}) if known.get(path) != now.get(path)]


def read_source(path: Path, label: str, folder: Path, owner: Path) -> Source | None:
    """Return the hooks of a JSON settings file; None if it has none. A problem names file and key."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Source(label, folder, owner, (), (f"{label}: cannot be read: {error.strerror}",))
    if len(data) > MAX_BYTES:
        return Source(
            label, folder, owner, (), (f"{label}: larger than {MAX_BYTES:,} bytes, so it is not read",)
        )
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Source(label, folder, owner, (), (f"{label}: not valid JSON: {error}",))
    if not isinstance(value, dict):
        return Source(label, folder, owner, (), (f"{label}: expected an object",))
    if "hooks" not in value or value.get("disableAllHooks") is True:
        return None
    hooks, problems = parse(value["hooks"])
    definition: Json = {"hooks": value["hooks"], "scripts": dict(scripts_of(hooks, folder))}
    return Source(
        label, folder, owner, hooks, tuple(f"{label}: {problem}" for problem in problems), definition
    )


def scripts_of(hooks: Sequence[Hook], folder: Path) -> dict[str, Json]:
    """Return the digests of the project's scripts that the commands run, by path."""
    found: dict[str, Json] = {}
    for hook in hooks:
        for path in _named(hook.command, folder):
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
