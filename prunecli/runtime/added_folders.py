"""Additional directories for the agent to work in: `--add-dir` and `/add-dir`.

Once the user trusts such a directory, the same rules, sandbox and snapshots apply there. Its AGENTS.md and
`.prunecli/` are not loaded. The system prompt of a new session lists the directories and the session records them; a
notice tells the model of later changes. A resumed session restores those that are still trusted.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.model.events import UserMessage
from prunecli.model.notes import newest_notice, notice
from prunecli.model.requests import PREAMBLE, system_texts
from prunecli.runtime.setup import ADDED, Setup
from prunecli.session.session import Session
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.util.errors import UsageError
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime.host import Host

TITLE = "directories"
_FACT = "Additional directories: "
_LINE = re.compile(rf"^{_FACT}(.*)$", re.MULTILINE)
_NONE = "none"


def folder_of(text: str, setup: Setup) -> Path:
    """Return the real path of a folder to add. Raises UsageError if it cannot be added."""
    return real_folder(text, setup.cwd, setup.places.home)


def real_folder(text: str, cwd: Path, home: Path) -> Path:
    """Return the real path of a folder to add, given the working directory and the home folder. Raises UsageError."""
    given = str(home) + text[1:] if text == "~" or text.startswith("~/") else text
    try:
        real = Path(os.path.realpath(os.path.join(cwd, given), strict=True))
    except (OSError, ValueError) as error:
        why = "no such directory" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", "")
        raise UsageError(f"{one_line(text)}: {why or 'not a path'}", "name an existing directory") from None
    here, ours = Path(os.path.realpath(cwd)), Path(os.path.realpath(home))
    if not os.path.isdir(real):
        raise UsageError(f"{one_line(text)}: not a directory", "name the directory that contains it")
    if real.is_relative_to(here):
        raise UsageError(f"{one_line(text)}: already part of the working directory", "leave it out")
    if ours.is_relative_to(real):
        raise UsageError(f"{one_line(text)}: too large to work in", "name a project in it")
    if looks_secret(str(real)):
        raise UsageError(f"{one_line(text)}: may hold credentials", "name another directory")
    return real


def in_words(setup: Setup) -> str:
    return ", ".join(one_line(str(path)) for path in setup.added.paths)


def fact(setup: Setup) -> tuple[str, ...]:
    return (_FACT + in_words(setup),) if setup.added.paths else ()


def recorded(session: Session, setup: Setup) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return the recorded folders of a session that are still trusted, and a message for each omitted one."""
    found, problems = list[Path](), list[str]()
    kept = session.context.settings.get(ADDED)
    for text in kept if isinstance(kept, list) else ():
        try:
            path = folder_of(str(text), setup)
        except UsageError as error:
            problems.append(f"No longer added: {error.message}.")
            continue
        if path in setup.added.paths or setup.trust_store.may_act(path):
            found.append(path)
        else:
            problems.append(f"No longer added: {one_line(str(path))} is not trusted. /add-dir asks for it.")
    return tuple(found), tuple(problems)


class AddedFolders:
    """The added folders of a host. Folders from the command line apply to every session, others to one session."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self._always = host.setup.added.paths
        host.mailbox.news.append(self._due)
        host.on_session.append(self._resumed)

    def add(self, path: Path) -> None:
        added = self._host.setup.added
        added.paths = tuple(dict.fromkeys((*added.paths, path)))

    def _resumed(self, session: Session) -> None:
        """Use the folders of an opened session; a new session keeps the current ones."""
        if not session.records:
            return
        setup = self._host.setup
        found, problems = recorded(session, setup)
        setup.added.paths = tuple(dict.fromkeys((*self._always, *found)))
        session.notices += [*problems, *([f"Also works in {in_words(setup)}."] if found else ())]

    def _due(self) -> Sequence[UserMessage]:
        """Return the notice of a change that the model has not seen."""
        setup, context = self._host.setup, self._host.session.context
        if not setup.added.paths and ADDED not in context.settings:
            return ()
        now = in_words(setup) or _NONE
        text = newest_notice((item.event for item in reversed(context.items)), TITLE)
        if text is None:
            text = next(iter(system_texts(context.settings.get(PREAMBLE))), "")
        known = match[1] if (match := _LINE.search(text)) else _NONE
        return () if known == now else (notice(TITLE, _FACT + now, kept=True),)
