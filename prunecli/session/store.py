"""Where sessions lie and how one is found: by id, by unique prefix, by name, or as the last of a directory."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path

from prunecli.errors import SessionNotFound
from prunecli.paths import slug
from prunecli.regular import open_regular
from prunecli.session.digest import Digest, begins_record, whole_record
from prunecli.session.index import File, Index

INDEX_NAME = "index.sqlite"
UNFINISHED = ".part"
"""The suffix of a session file that is being made of another one; no list shows it."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_MOST_NAMED = 5


def new_id(now_ms: int, random: bytes) -> str:
    """A session's id: sortable by time, readable, unique."""
    when = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{when:%Y%m%d-%H%M%S}-{random.hex()[:6]}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list: its file, its size in bytes, when it was written last (unix ms), and what is in it."""

    id: str
    path: Path
    changed: int
    size: int
    digest: Digest

    @property
    def cwd(self) -> str:
        """The directory that it belongs to."""
        return self.digest.cwd

    @property
    def started(self) -> int:
        """When it was begun, in unix ms."""
        return self.digest.started

    @property
    def name(self) -> str:
        """The name that the user gave it, or ""."""
        return self.digest.name

    @property
    def title(self) -> str:
        """How its first prompt begins, or ""."""
        return self.digest.title

    @property
    def label(self) -> str:
        """What it is called: its name, else its title, else its id."""
        return self.name or self.title or self.id


class Store:
    """All sessions below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def new_path(self, cwd: Path, session_id: str) -> Path:
        """Where a new session of this directory will lie."""
        return self.root / slug(cwd.resolve()) / f"{session_id}.jsonl"

    def list(self, cwd: Path | None = None) -> list[Listed]:
        """Sessions, of one directory or all, the last changed first. Files that are none, and such as can't be read,
        are passed over."""
        return sorted(self.listed(cwd), key=lambda one: (one.changed, one.id), reverse=True)

    def listed(self, cwd: Path | None = None) -> Iterator[Listed]:
        """`list` one by one, the last changed file first: for a screen that shows what it has so far."""
        within = f"{self.root}{os.sep}" + (f"{slug(cwd.resolve())}{os.sep}" if cwd else "")
        files = sorted(self._files(cwd), key=lambda file: file.time, reverse=True)
        if not files:
            return
        for file, digest in Index(self.root / INDEX_NAME).digests(files, within=within):
            if digest.id or digest.entries:
                path = Path(file.path)
                yield Listed(path.stem, path, file.time // 1_000_000, file.size, digest)

    def paths(self) -> Iterator[Path]:
        """The files of all sessions, and perhaps others; none is opened."""
        return (Path(file.path) for file in self._files(None))

    def last(self, cwd: Path) -> Path:
        """The session of this directory that was changed last. Raises SessionNotFound."""
        for file in sorted(self._files(cwd), key=lambda file: (file.time, file.path), reverse=True):
            if _is_session(path := Path(file.path)):
                return path
        raise SessionNotFound(f"no session of {cwd} yet", "start one with prunecli")

    def find(self, wanted: str) -> Path:
        """The session with this id, unique prefix of one, or name. Raises SessionNotFound, also where several have
        the name: which of them is meant is not guessed."""
        prefixed: list[Path] = []
        if _ID.fullmatch(wanted):
            paths = list(self.paths())
            exact = [path for path in paths if path.stem == wanted and _is_session(path)]
            prefixed = exact or [path for path in paths if path.stem.startswith(wanted) and _is_session(path)]
            if len(prefixed) == 1:
                return prefixed[0]
        named = [one for one in self.list() if wanted and one.name == wanted]
        if len(named) == 1:
            return named[0].path
        if named:
            ids = ", ".join(one.id for one in named[:_MOST_NAMED]) + ", …" * (len(named) > _MOST_NAMED)
            raise SessionNotFound(
                f"{len(named)} sessions are called {wanted!r}", f"give an id, the last changed first: {ids}"
            )
        if prefixed:
            raise SessionNotFound(f"{len(prefixed)} sessions begin with {wanted}", "give more of the id")
        if odd := next(self.root.glob(f"*/{wanted}.jsonl"), None) if _ID.fullmatch(wanted) else None:
            raise SessionNotFound(f"{odd} holds no session", "prunecli sessions list shows those there are")
        raise SessionNotFound(f"no session {wanted!r}", "prunecli sessions list shows them")

    def free_name(self, name: str) -> str:
        """What a copy of a session with this name is called: `fix (2)`, or with the first number that is free."""
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
                                continue  # a folder, FIFO, socket or device is no session, whatever its name
                            yield File(entry.path, status.st_ino, status.st_size, status.st_mtime_ns)


def free_path(path: Path) -> Path:
    """The path, or where something is there the first of `ID-2.jsonl`, `ID-3.jsonl` … that is free."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(place for place in chain([path], names) if not os.path.lexists(place))


def _is_session(path: Path) -> bool:
    """Whether there is a good record among the first lines: the very first one may be damaged."""
    try:
        with open_regular(path) as file:
            return any(whole_record(line) for line in islice(file, 20) if begins_record(line))
    except OSError:
        return False


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.path for entry in found if entry.is_dir()]
    except OSError:
        return []


def random_bytes() -> bytes:
    """Three bytes that tell apart sessions of one second."""
    return os.urandom(3)
