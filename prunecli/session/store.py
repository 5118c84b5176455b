"""Stores sessions, and finds one by id, unique prefix or name, or as the last of a directory."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path

from prunecli.session.digest import Digest, begins_record, is_task, whole_record
from prunecli.session.index import File, Index
from prunecli.session.lines import record_lines
from prunecli.util.errors import SessionNotFound
from prunecli.util.frozen import frozen
from prunecli.util.paths import slug, worktrees_of
from prunecli.util.regular import open_regular

INDEX_NAME = "index.sqlite"
UNFINISHED = ".part"
"""The suffix of an unfinished session file; lists ignore it."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_MOST_NAMED = 5


def is_id(text: str) -> bool:
    """Return whether a text from a log can be the id of a session or of a task, and so the name of its file."""
    return _FORM.fullmatch(text) is not None


def new_id(now_ms: int, random: bytes) -> str:
    """Return a new session id: sortable by time, readable, unique."""
    when = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{when:%Y%m%d-%H%M%S}-{random.hex()[:6]}"


@frozen
class Listed:
    """A session in a list: its file, size in bytes, time of the last write (unix ms) and digest."""

    id: str
    path: Path
    changed: int
    size: int
    digest: Digest

    @property
    def cwd(self) -> str:
        return self.digest.cwd

    @property
    def started(self) -> int:
        return self.digest.started

    @property
    def name(self) -> str:
        """The name that the user gave the session, or ""."""
        return self.digest.name

    @property
    def title(self) -> str:
        """What it is about: a model's title, or what the first prompt asks for; or ""."""
        return self.digest.title

    @property
    def is_task(self) -> bool:
        return bool(self.digest.task)

    @property
    def label(self) -> str:
        """The name, else the title, else the id."""
        return self.name or self.title or self.id


class Store:
    def __init__(self, root: Path) -> None:
        self.root = root

    def new_path(self, cwd: Path, session_id: str) -> Path:
        return self.root / slug(cwd.resolve()) / f"{session_id}.jsonl"

    def list(self, cwd: Path | None = None) -> list[Listed]:
        """Return the sessions of one directory or all, most recently changed first.

        Skips files that are unreadable or not sessions.
        """
        return sorted(self.listed(cwd), key=lambda one: (one.changed, one.id), reverse=True)

    def listed(self, cwd: Path | None = None) -> Iterator[Listed]:
        """Yield the sessions of `list` one at a time, newest file first. Those of a directory include those in the
        worktrees that `--worktree` made for it."""
        within = f"{self.root}{os.sep}" + (f"{slug(cwd.resolve())}{os.sep}" if cwd else "")
        beside = worktrees_of(cwd.resolve()) if cwd else None
        names = _entries(str(beside)) if beside else ()
        inside = [file for name in names for file in self._files(Path(name))]
        files = sorted([*self._files(cwd), *inside], key=lambda file: file.time, reverse=True)
        if not files:
            return
        for file, digest in Index(self.root / INDEX_NAME).digests(files, within=within):
            if digest.id or digest.entries:
                path = Path(file.path)
                yield Listed(path.stem, path, file.time // 1_000_000, file.size, digest)

    def paths(self) -> Iterator[Path]:
        """Return the paths of all sessions, possibly with other files. Opens no file."""
        return (Path(file.path) for file in self._files(None))

    def last(self, cwd: Path) -> Path:
        """Return the most recently changed session of this directory that is not a task. Raises SessionNotFound."""
        for file in sorted(self._files(cwd), key=lambda file: (file.time, file.path), reverse=True):
            if _is_session(path := Path(file.path), task=False):
                return path
        raise SessionNotFound(f"no sessions in {cwd} yet", "run `prunecli` to start one")

    def find(self, wanted: str) -> Path:
        """Return the session with this id, unique prefix of an id, or name.

        Raises SessionNotFound if none or several match.
        """
        prefixed: list[Path] = []
        if _ID.fullmatch(wanted):
            paths = list(self.paths())
            exact = [path for path in paths if path.stem == wanted and _is_session(path)]
            prefixed = exact or [path for path in paths if path.stem.startswith(wanted) and _is_session(path)]
            prefixed = [path for path in prefixed if _is_session(path, task=False)] or prefixed
            if len(prefixed) == 1:
                return prefixed[0]
        named = [one for one in self.list() if wanted and one.name == wanted]
        if len(named) == 1:
            return named[0].path
        if named:
            ids = ", ".join(one.id for one in named[:_MOST_NAMED]) + ", …" * (len(named) > _MOST_NAMED)
            raise SessionNotFound(
                f"{len(named)} sessions are named {wanted!r}", f"use an id, newest first: {ids}"
            )
        if prefixed:
            raise SessionNotFound(f"{len(prefixed)} sessions start with {wanted}", "type more of the id")
        if odd := next(self.root.glob(f"*/{wanted}.jsonl"), None) if _ID.fullmatch(wanted) else None:
            raise SessionNotFound(f"{odd} is not a session", "run `prunecli sessions list` to see all")
        raise SessionNotFound(f"no session named {wanted!r}", "run `prunecli sessions list` to see all")

    def is_free(self, session_id: str) -> bool:
        """Return whether no session of any directory has this id, in upper or lower case."""
        return all(path.stem.lower() != session_id.lower() for path in self.paths())

    def free_name(self, name: str) -> str:
        """Return a name for a copy, such as `fix (2)`, with the first free number."""
        taken = {one.name for one in self.listed()}
        plain = _NUMBERED.sub("", name)
        return next(free for number in count(2) if (free := f"{plain} ({number})") not in taken)

    def _files(self, cwd: Path | None) -> Iterator[File]:
        folders = [str(self.root / slug(cwd.resolve()))] if cwd else _entries(str(self.root))
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as found:
                for entry in found:
                    if entry.name.endswith(".jsonl"):
                        with suppress(OSError):
                            status = entry.stat()
                            if not stat.S_ISREG(status.st_mode):
                                continue  # a folder, FIFO, socket or device is never a session
                            yield File(entry.path, status.st_ino, status.st_size, status.st_mtime_ns)


def free_path(path: Path) -> Path:
    """Return the path itself, or the first free one of `ID-2.jsonl`, `ID-3.jsonl` and so on."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(place for place in chain([path], names) if not os.path.lexists(place))


def _is_session(path: Path, *, task: bool = True) -> bool:
    """Return whether the first lines contain a good record; the very first line may be damaged. Unless `task` is set,
    tasks of other sessions do not count."""
    try:
        with open_regular(path) as file:
            records = map(whole_record, filter(begins_record, islice(record_lines(file), 20)))
            first = next(filter(None, records), None)
    except OSError:
        return False
    return first is not None and (task or not is_task(first.event))


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.path for entry in found if entry.is_dir()]
    except OSError:
        return []


def random_bytes() -> bytes:
    """Return three bytes that distinguish sessions started in the same second."""
    return os.urandom(3)
