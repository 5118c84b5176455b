"""The sources of hooks: settings files, each with the definition that an approval covers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from prunecli.features.hooks.settings import Hook, parse
from prunecli.model.messages import Json
from prunecli.safety.scripts import scripts_of
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

MAX_BYTES = 1_000_000
"""Maximum bytes of a settings file."""


@frozen
class Source:
    """The hooks from one place. `folder` is the project directory passed to them.

    `definition` is what an approval covers: the hooks as written, and the contents of the project's scripts that they
    run. It is None for the user's own configuration, which needs no approval. `owner` is the directory that an
    approval applies to. `plugin` is the folder of the plugin of Claude Code that brings the hooks, "" for none.
    """

    label: str
    folder: Path
    owner: Path
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...] = ()
    definition: Json = None
    plugin: str = ""

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
        now = scripts_of(_commands(self.hooks), self.folder)
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
    definition: Json = {"hooks": value["hooks"], "scripts": dict(scripts_of(_commands(hooks), folder))}
    return Source(
        label, folder, owner, hooks, tuple(f"{label}: {problem}" for problem in problems), definition
    )


def _commands(hooks: Sequence[Hook]) -> tuple[str, ...]:
    return tuple(hook.command for hook in hooks)
