"""Finds the sessions that other agents keep on this machine, in the folders where they keep them.

Nothing is written, and no link is followed out of those folders. A variable that moves an agent's folder is honored.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from prunecli.errors import UsageError
from prunecli.paths import Places, absolute
from prunecli.session.importers.opencode_store import sessions_in_store

MOST_FILES = 20_000
"""A folder is searched until so many files are found."""
_DEEPEST = 8
_HEAD_BYTES = 65_536
_ENDS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


class _Agent(NamedTuple):
    """Where an agent keeps its sessions: `folder` below the home folder, or `inner` below that of a variable."""

    variable: str
    folder: str
    inner: str
    is_session: Callable[[Path], bool]


def _any(path: Path) -> bool:
    return path.name.endswith(_ENDS)


_AGENTS: Mapping[str, _Agent] = {
    "claude": _Agent(
        "CLAUDE_CONFIG_DIR",
        ".claude/projects",
        "projects",
        lambda path: path.suffix == ".jsonl" and path.parent.name != "subagents",
    ),
    "codex": _Agent("CODEX_HOME", ".codex/sessions", "sessions", lambda path: path.suffix == ".jsonl"),
    "pi": _Agent(
        "PI_CODING_AGENT_DIR", ".pi/agent/sessions", "sessions", lambda path: path.suffix == ".jsonl"
    ),
    "gemini": _Agent("", ".gemini/tmp", "", lambda path: path.parent.name == "chats" and _any(path)),
    "opencode": _Agent("XDG_DATA_HOME", ".local/share/opencode", "opencode", lambda _: False),
}
AGENTS = tuple(f"@{name}" for name in _AGENTS)
"""The agents that can be named, such as @claude."""


def sessions_of(agent: str, environ: Mapping[str, str], cwd: Path | None = None) -> list[Path]:
    """The sessions of an agent such as `@claude`, newest first; only those of a directory if one is given.

    Each can be read by `read_source`. Raises UsageError for an agent that is not known.
    """
    name = agent.removeprefix("@")
    if name not in _AGENTS:
        raise UsageError(f"no agent named {agent!r}", f"use {', '.join(AGENTS)}")
    root = _root(_AGENTS[name], environ)
    if name == "opencode":
        found = [one for path in sorted(root.glob("opencode*.db")) for one in sessions_in_store(path, cwd)]
        return [path for _, path in sorted(found, reverse=True)]
    files = [path for path in files_below(root) if _AGENTS[name].is_session(path)]
    if cwd is not None:
        files = [path for path in files if _is_of(path, cwd)]
    return sorted(files, key=_changed, reverse=True)


def files_below(folder: Path, most: int = MOST_FILES) -> Iterator[Path]:
    """The files below a folder, in order of their paths, a bounded number; links to folders are not followed."""
    found = 0
    for where, folders, files in os.walk(folder):
        folders.sort()
        if len(Path(where).relative_to(folder).parts) >= _DEEPEST:
            folders.clear()
        for name in sorted(files):
            if found == most:
                return
            found += 1
            yield Path(where) / name


def session_files(folder: Path) -> list[Path]:
    """The files below a folder that look like sessions by their names."""
    return [path for path in files_below(folder) if _any(path)]


def _root(agent: _Agent, environ: Mapping[str, str]) -> Path:
    moved = absolute(environ.get(agent.variable)) if agent.variable else None
    return moved / agent.inner if moved else Places.of(environ).home / agent.folder


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_of(path: Path, cwd: Path) -> bool:
    """Whether a session was held in this directory, by what its first lines say."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        root = path.parent.parent / ".project_root"
        if root.is_file() and root.read_text("utf-8", "replace").strip() == str(cwd):
            return True
    except OSError:
        return False
    named = json.dumps(str(cwd)), json.dumps(str(cwd), ensure_ascii=False)
    told = {f'"cwd":{gap}{one}'.encode("utf-8", "replace") for gap in ("", " ") for one in named}
    digest = sha256(str(cwd).encode("utf-8", "surrogateescape")).hexdigest().encode()
    return any(one in head for one in told) or digest in head
