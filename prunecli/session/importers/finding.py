"""Finds and searches the sessions of other agents on this machine, in the folders of these agents.

Writes nothing and follows no link out of those folders. Respects environment variables that move an agent's folder.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TypeVar

from prunecli.session.digest import Digest
from prunecli.session.importers.codex_home import content_with_beginning, current, is_of_subagent, names
from prunecli.session.importers.gemini_cli import folder_of
from prunecli.session.importers.heads import head_of, head_of_whole
from prunecli.session.importers.known_agents import ENDS, KNOWN, agent_of, root_of, roots_of
from prunecli.session.importers.opencode_store import digests_in_store, in_store, sessions_in_store
from prunecli.session.importers.same_folder import is_one_of, same_folders
from prunecli.session.importers.source import read_source
from prunecli.session.session_search import MOST_IN_ONE, Hit, Query
from prunecli.session.store import Listed
from prunecli.util.errors import SessionCorrupt

Found = TypeVar("Found")
MOST_FILES = 20_000
"""The search of a folder stops after this many files."""
DEEPEST = 8


def sessions_of(agent: str, environ: Mapping[str, str], problems: list[str] | None = None) -> list[Path]:
    """Return the sessions of an agent such as `@claude`, newest first, of all directories.

    Those of subagents are left out. `read_source` can read each of the others. `problems` gets a line for each folder
    and database that cannot be read. Raises UsageError for an unknown agent.
    """
    name, known = agent_of(agent)
    problems = [] if problems is None else problems
    if name == "opencode":
        found = _each_database(environ, sessions_in_store, problems)
        return [path for _, path in sorted(found, reverse=True)]
    files = (path for root in roots_of(known, environ) for path in files_below(root, problems=problems))
    sessions = current(filter(known.is_session, files))
    if name == "codex":
        sessions = [path for path in sessions if not is_of_subagent(path)]
    return sorted(sessions, key=_changed, reverse=True)


def listed(
    agent: str, environ: Mapping[str, str], cwd: Path | None, problems: list[str], named: str = ""
) -> Iterator[Listed]:
    """Yield an agent's sessions with the facts for a list, newest first: those of a directory, or all.

    Sessions without a prompt and those of subagents are left out. `problems` gets a line for each file or folder that
    cannot be read. `named` is a part of the file's name. Raises UsageError for an unknown agent.
    """
    name, known = agent_of(agent)
    folders = same_folders(cwd, environ.get("PWD", "")) if cwd else ()

    def is_here(folder: str) -> bool:
        return cwd is None or is_one_of(folder, folders)

    if name == "opencode":
        found_there = _in_databases(environ, is_here, problems)
        yield from (one for one in found_there if named in one.id)
        return
    hashes = {sha256(os.fsencode(folder)).hexdigest() for folder in folders}
    given = names(root_of(known, environ).parent) if name == "codex" else {}
    for path in sessions_of(agent, environ, problems):
        found: Digest | str | None
        if named not in path.name:
            continue
        if name != "gemini":
            found = head_of(path, name, is_here)
        elif (folder := folder_of(path)) and (not cwd or folder in hashes or is_here(folder)):
            found = head_of_whole(path)
        else:
            continue
        if isinstance(found, str):
            problems.append(f"{path}: {found}")
        elif found is not None and not found.task:
            if name == "gemini":
                found.cwd = found.cwd or (folder if folder.startswith("/") else str(cwd or ""))
            found.name = given.get(found.id) or found.name
            yield _listed(path, found)


def search(sessions: Sequence[Listed], query: str) -> Iterator[Hit | int]:
    """Yield the hits in these sessions, in order, interleaved with the number of bytes searched so far.

    The numbers of the hits are those of the entries after an import. Unreadable sessions are skipped.
    """
    wanted = Query.of(query)
    done = 0
    for one in sessions if wanted.words else ():
        try:
            if in_store(one.path) or wanted.may_be_in(content_with_beginning(one.path)):
                hits = (wanted.hit(one.path, record) for record in read_source(one.path).records)
                yield from islice(filter(None, hits), MOST_IN_ONE)
        except (OSError, SessionCorrupt):
            pass
        done += one.size
        yield done


def _listed(path: Path, found: Digest) -> Listed:
    try:
        status = path.stat()
    except OSError:
        return Listed(found.id, path, found.started, 0, found)
    return Listed(found.id, path, status.st_mtime_ns // 1_000_000, status.st_size, found)


def _in_databases(
    environ: Mapping[str, str], is_here: Callable[[str], bool], problems: list[str]
) -> Iterator[Listed]:
    found = _each_database(environ, lambda path: digests_in_store(path, is_here), problems)
    yield from sorted(found, key=lambda one: one.changed, reverse=True)


def _each_database(
    environ: Mapping[str, str], read: Callable[[Path], list[Found]], problems: list[str]
) -> list[Found]:
    """Return what `read` finds in all of OpenCode's databases."""
    found: list[Found] = []
    for path in _databases(environ):
        try:
            found += read(path)
        except OSError as error:
            problems.append(f"{path}: {error}")
    return found


def files_below(folder: Path, most: int = MOST_FILES, problems: list[str] | None = None) -> Iterator[Path]:
    """Yield at most `most` files below a folder, sorted by path. Links to folders are not followed.

    `problems` gets the name of each folder that cannot be read, with the reason, and one if there are more files.
    """
    found, problems = 0, [] if problems is None else problems

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            problems.append(f"{error.filename}: {error.strerror}")

    for where, folders, files in os.walk(folder, onerror=failed):
        folders.sort()
        if len(Path(where).relative_to(folder).parts) >= DEEPEST:
            folders.clear()
        for name in sorted(files):
            if found == most:
                problems.append(f"all of {folder}: more than {most:,} files")
                return
            found += 1
            yield Path(where) / name


def session_files(folder: Path, problems: list[str] | None = None) -> list[Path]:
    """Return the files below a folder whose names look like those of sessions; see `files_below`."""
    files = files_below(folder, problems=problems)
    return current(path for path in files if path.name.endswith(ENDS))


def _databases(environ: Mapping[str, str]) -> list[Path]:
    """Return OpenCode's databases: one for each release channel, or the one that an environment variable names."""
    root = root_of(KNOWN["opencode"], environ)
    if named := environ.get("OPENCODE_DB"):
        return [root / named] if os.path.isfile(root / named) else []
    return sorted(root.glob("opencode*.db"))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
