"""The context of a judgment, and the reads of a harmless command in it."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from prunecli.model.shell import Doubt
from prunecli.safety.permissions.places import (
    Place,
    TooMany,
    holds_credentials,
    is_inside,
    is_protected,
    is_secret,
    is_system,
    lies_in,
    lies_in_kept,
    real_path,
    resolve,
)
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret
from prunecli.tools.searching.secrets import MAX_ENTRIES, PACKAGES
from prunecli.util.frozen import frozen

_HOME_SECRETS = (
    *(
        ".ssh",
        ".aws",
        ".gnupg",
        ".kube",
        ".azure",
        ".docker",
        ".config/gh",
        ".config/gcloud",
        ".netrc",
        ".npmrc",
    ),
    *(".pypirc", ".pgpass", ".git-credentials", ".bash_history", ".zsh_history", ".env"),
)
"""Secrets of a home folder whose other hard links are known."""


class Harm(Doubt):
    """A doubt whose reason is a predicate of the command, such as "deletes files"."""


@frozen
class CommandScope:
    """The context of a judgment: absolute folders, and prunecli's own files and folders with secrets.

    `path` is the PATH for finding programs; "" leaves programs unchecked. `feed`: the command before it in its
    pipeline, which writes its input. `walled`: a sandbox hides secrets and the network, so commands may read outside
    the workspace. `readable_folders` are real folders outside the workspace that may be read, such as
    those of skills. `added` are other folders that belong to the workspace.
    """

    workspace: Path
    cwd: Path
    home: Path
    secrets: tuple[Path, ...] = ()
    path: str = ""
    feed: str = ""
    walled: bool = False
    readable_folders: tuple[str, ...] = ()
    added: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.workspace, *self.added)

    def folder_of(self, place: Place) -> Path | None:
        """Return the folder that contains a place with all its links; None if the place lies outside."""
        return next((folder for folder in self.folders if is_inside(place, folder)), None)

    def holds(self, place: Place) -> bool:
        return self.folder_of(place) is not None

    def protects(self, place: Place) -> bool:
        return any(is_protected(place, folder) for folder in self.folders)

    def keeps_unchanged(self, place: Place) -> bool:
        """Return whether a place controls other programs, leaving out folders and files that builds write to."""
        return any(
            lies_in(spelling, root) and lies_in_kept(spelling[len(root) :].lstrip("/"))
            for folder in self.folders
            for root in (str(folder), real_path(folder))
            for spelling in place.spellings
        )

    def keeps_secrets(self, place: Place) -> bool:
        """Return whether a place is a usual location of credentials, a hard link to a file in one, or a configuration
        file of git with credentials."""
        return (
            is_secret(place, self.secrets)
            or any(map(holds_credentials, place.ends))
            or any(map(self._is_linked_secret, place.ends))
        )

    def _is_linked_secret(self, path: str) -> bool:
        """Return whether the file has several names and one of them is a secret's, or too many files to check."""
        found = linked_file(path)
        try:
            return found is not None and found in linked_secrets(self.folders, self.home)
        except TooMany:
            return True

    def reading_harm(self, place: Place, *, names_only: bool = False) -> str:
        """Return why reading a place needs approval, such as "reads your SSH private key", or "".

        `names_only`: only the name, size or date is shown.
        """
        if not names_only and self.keeps_secrets(place):
            return f"reads {self.secret_name(place)}"
        if self.holds(place) or is_system(place):
            return ""
        known = all(any(lies_in(end, folder) for folder in self.readable_folders) for end in place.ends)
        verb = "looks at" if names_only else "reads"
        return "" if known else f"{verb} {self.shown(place.real)}, outside the workspace"

    def secret_name(self, place: Place) -> str:
        """Return the name of a secret for the user: "your SSH private key", or its path."""
        path = next(filter(looks_secret, place.spellings), place.real)
        folder, name = os.path.split(path)
        at_home = folder in (f"{self.home}/.ssh", f"{real_path(self.home)}/.ssh")
        if at_home and name.startswith("id_") and not name.endswith(".pub"):
            return "your SSH private key"
        return f"{self.shown(path)}, which may contain secrets"

    def shown(self, path: str) -> str:
        """Return an absolute path as the user knows it: from the workspace or the home folder."""
        for folder, start in ((self.workspace, ""), (self.home, "~/")):
            for root in dict.fromkeys((str(folder), real_path(folder))):
                if path.startswith(f"{root}/"):
                    return start + path[len(root) + 1 :]
        return path

    def readable(self, text: str, cwd: Path | None = None, *, names_only: bool = False) -> Place:
        """Return the place of a path that a harmless command may read. Raises Doubt, Unresolvable."""
        place = resolve(text, cwd or self.cwd, self.home)
        if self.walled and (names_only or not self.keeps_secrets(place)):
            return place
        if harm := self.reading_harm(place, names_only=names_only):
            raise Harm(harm)
        return place

    def check(self, shown: Iterable[str]) -> None:
        """Raise Doubt if one of the files, all of which a command may show, may contain secrets."""
        try:
            linked = linked_secrets(self.folders, self.home)
        except TooMany:
            raise Doubt("it searches too many files to check for secrets") from None
        for path in shown:
            secret = (may_look_secret(path) and looks_secret(path)) or holds_credentials(path)
            if secret or (linked and linked_file(path) in linked):
                raise Harm(f"would show {self.shown(path)}, which may contain secrets")


@frozen
class Reading:
    """The reads of a harmless command: the places it names, and the files that it may show without naming them."""

    places: tuple[Place, ...] = ()
    shown: tuple[str, ...] = ()


# Other names of a secret ------------------------------------------------------------------------------------


def linked_file(path: str) -> tuple[int, int] | None:
    """Return the (device, inode) of a file that has several hard links, else None."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) else None


def linked_secrets(folders: tuple[Path, ...], home: Path) -> set[tuple[int, int] | None]:
    """Return the secret files of the folders and the home folder that have several hard links. Raises TooMany."""
    names = [os.path.join(home, name) for name in _HOME_SECRETS]
    at_home = [os.path.join(name, one) for name in names if os.path.isdir(name) for one in os.listdir(name)]
    inside = (path for folder in folders for path in files_below(str(folder)))
    secret = (path for path in inside if may_look_secret(path) and looks_secret(path))
    return {linked_file(path) for path in (*names, *at_home, *secret)} - {None}


def files_below(folder: str) -> Iterator[str]:
    """Yield the absolute paths of the files below a folder, or of the one file. Raises TooMany."""
    left = MAX_ENTRIES
    if os.path.lexists(folder) and not os.path.isdir(folder):
        yield folder
    for inside, folders, names in os.walk(folder):
        if ".git" in folders:
            names.append(".git/config")  # it may hold credentials
        folders[:] = [name for name in folders if name not in PACKAGES]
        left -= len(folders) + len(names)
        if left < 0:
            raise TooMany
        yield from (os.path.join(inside, name) for name in names)
