"""The SOURCEs of a command line: sessions, files of any agent, folders of them, agents, and URLs."""

import os
from collections.abc import Sequence
from pathlib import Path

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import own_sessions
from prunecli.session.importers.finding import session_files, sessions_of
from prunecli.session.importers.handoff import find
from prunecli.session.importers.known_agents import is_agent
from prunecli.session.importers.opencode_store import in_store
from prunecli.session.importers.remote import SessionFile, plain
from prunecli.session.importers.remote_finding import found_at, is_url
from prunecli.util.errors import SessionNotFound


class _Empty(SessionNotFound):
    """An agent or a folder has no sessions, which matters only if all other SOURCEs have none either."""


def files_of(sources: Sequence[str]) -> tuple[list[SessionFile], list[str]]:
    """Return the files of all SOURCEs, each once, and a line for each SOURCE and folder without any.

    Raises SessionNotFound if there are none at all or a SOURCE does not exist, and UsageError.
    """
    found: dict[str, SessionFile] = {}
    problems: list[str] = []
    empty: list[_Empty] = []
    for source in sources:
        try:
            for file in _files(source, problems):
                found.setdefault(os.path.realpath(file) if isinstance(file, Path) else file.path, file)
        except _Empty as error:
            empty.append(error)
    if empty and not found:
        raise SessionNotFound(empty[0].message, f"cannot read {problems[0]}" if problems else empty[0].hint)
    return list(found.values()), [*(f"cannot read {problem}" for problem in problems), *map(str, empty)]


def _files(source: str, problems: list[str]) -> Sequence[SessionFile]:
    path = Path(source)
    if is_url(source):
        return _some(found_at(source, problems), plain(source))
    if ":" in source and is_agent(source) and not os.path.exists(path):
        return [find(source, os.environ, working_directory()).path]
    if source.startswith("@") and not os.path.exists(path):
        found = sessions_of(source, os.environ, problems)
        if not found:
            hint = "name the files or folders of its sessions, if they are elsewhere"
            raise _Empty(f"{source}: no sessions of this agent on this machine", hint)
        return found
    if os.path.isdir(path):
        return _some(session_files(path, problems), source)
    if os.path.isfile(path) or in_store(path):
        return [path]
    if os.path.exists(path):
        raise SessionNotFound(f"{source}: not a regular file", "save the session to a file and name that")
    if "/" in source or path.suffix:
        raise SessionNotFound(
            f"no such file: {source}", "SOURCE is a file, a folder, a session, @AGENT or @AGENT:ID"
        )
    return [own_sessions().find(source)]


def _some(found: Sequence[SessionFile], source: str) -> Sequence[SessionFile]:
    if not found:
        raise _Empty(f"no session files in {source}", "session files end with .jsonl, .json, .gz or .zst")
    return found
