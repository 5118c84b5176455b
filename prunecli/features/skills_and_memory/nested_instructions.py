"""Instruction files below the working directory, which the model gets once a file there is read or changed, and the
rules for certain files.

The context shows which files the model has, so no other state is kept. If files there are used again, an instruction
file is given again if it changed, or if a rewind or a compaction removed it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.agent.instructions import RULES, Instructions, has_instructions
from prunecli.agent.system_prompt import as_text
from prunecli.context.exchange import Entry
from prunecli.model.events import UserMessage
from prunecli.model.notes import notice, notice_parts
from prunecli.model.signals import Notice
from prunecli.runtime.setup import Setup
from prunecli.safety.project_settings import down_to
from prunecli.session.session import Session
from prunecli.util.sanitize import one_line

TITLE = "instructions of "


class NestedInstructions:
    """The folders with instructions and the rules that a session used, and the instructions given to its model."""

    def __init__(self, setup: Setup, session: Callable[[], Session], gatekeeper: SessionGatekeeper) -> None:
        self._setup = setup
        self._session = session
        self._gatekeeper = gatekeeper
        self._of: Session | None = None
        self._answered = 0
        self._seen = -1
        self._used: dict[Path, int] = {}
        self._missed = set[str]()

    def due(self) -> Sequence[UserMessage]:
        session = self._session()
        if session is not self._of:
            self._of, self._seen, self._used, self._answered = session, -1, {}, 0
        if self._answered == len(session.records) or not self._gatekeeper.trusted:
            return ()
        self._note_uses(session)
        found = tuple(self._notices(session)) if self._used else ()
        if not found:
            self._answered = len(session.records)
        return found

    def _note_uses(self, session: Session) -> None:
        """Record the folders of files that were read or changed by calls since the last time."""
        seen, folders = self._seen, _Folders(self._reader())
        for item in reversed(session.context.items):
            results = _results(item)
            if results and results[-1].seq <= seen:
                break
            for result in results:
                self._seen = max(self._seen, result.seq)
                touched = None if result.is_error else result.touches
                for path in {*touched.reads, *touched.changes} if touched else ():
                    for folder in folders.of(path):
                        self._used[folder] = max(result.seq, self._used.get(folder, -1))

    def _notices(self, session: Session) -> Iterator[UserMessage]:
        live, given = set[int](), dict[str, tuple[int, str]]()
        for item in session.context.items:
            live.update(result.seq for result in _results(item))
            parts = notice_parts(item.event) if isinstance(item.event, UserMessage) else None
            if parts and parts[0].startswith(TITLE):
                given[parts[0]] = item.seq, parts[1]
        reader = self._reader()
        root = os.path.realpath(self._setup.cwd)
        for folder in sorted(self._used):
            inside = folder.is_relative_to(root)
            title = TITLE + one_line(str(folder.relative_to(root) if inside else folder))
            at, known = given.get(title, (-1, ""))
            if self._used[folder] not in live or at > self._used[folder]:
                continue
            text = "\n".join(as_text(path, text) for path, text in _texts(reader, folder))
            if text and text != known:
                yield notice(title, text, kept=True)
        for line in dict.fromkeys(reader.missed):
            if line not in self._missed:
                self._missed.add(line)
                session.tell(Notice(one_line(line), "warning"))

    def _reader(self) -> Instructions:
        places = self._setup.places
        return Instructions(self._setup.cwd, places.config, places.home, trusted=True)


def _texts(reader: Instructions, used: Path) -> list[tuple[Path, str]]:
    if used.is_dir():
        return reader.of(used)
    rule = reader.rule(used, is_user=used.is_relative_to(reader.home / RULES))
    return reader.with_imports(rule.path, rule.text) if rule else []


class _Folders:
    """The folders with instructions around files below the root, and the rules for them, at one moment: each is
    looked up once."""

    def __init__(self, reader: Instructions) -> None:
        self._reader = reader
        self._root = os.path.realpath(reader.cwd)
        self._top = Path(os.path.realpath(down_to(reader.cwd)[0]))
        self._rules = cache(lambda folder: [rule for rule in reader.rules(folder) if rule.globs])
        self.of = cache(self._of)
        self._real = cache(os.path.realpath)
        self._down_to = cache(self._found)

    def _of(self, path: str) -> Sequence[Path]:
        """Return the folders with instructions between the root and a file, outermost first, and the rules for it."""
        if "\0" in path:
            return ()
        folder, name = os.path.split(os.path.join(self._root, path))
        real = os.path.join(self._real(folder), name)
        if os.path.islink(real):
            real = os.path.realpath(real)
        if not real.startswith(self._root + os.sep) or os.path.isdir(real):
            return ()
        return *self._down_to(os.path.dirname(real)), *self._ruling(Path(real))

    def _ruling(self, file: Path) -> Iterator[Path]:
        home, top = self._reader.home, self._top
        above = [folder for folder in file.parents if folder.is_relative_to(top)]
        for base, folder in ((top, home), *((folder, folder) for folder in above)):
            relative = file.relative_to(base).as_posix()
            for rule in self._rules(folder):
                if any(glob.matches(relative) for glob in rule.globs):
                    yield rule.path

    def _found(self, folder: str) -> Sequence[Path]:
        if folder == self._root:
            return ()
        here = Path(folder)
        return *self._down_to(os.path.dirname(folder)), *((here,) if has_instructions(here) else ())


def _results(item: Entry) -> Sequence[Entry]:
    return item.exchange.results if item.exchange else [item] if item.is_attached else ()
