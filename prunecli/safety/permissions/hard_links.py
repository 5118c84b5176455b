"""Finds out whether a file is a hard link to a secret, which its path does not show."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from prunecli.safety.permissions.globs import TooMany
from prunecli.safety.permissions.sweeps import files_below
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret

_HOME_FOLDERS = (".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", ".config/gh", ".config/gcloud")
_HOME_FILES = (
    *(".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".bash_history", ".zsh_history", ".env"),
)


def may_be_secret(path: str, workspace: Path, home: Path) -> bool:
    """Return whether the file has several names and one of them, in the workspace or the home folder, is a secret's.

    Returns True as well if there are too many files to check.
    """
    try:
        status = os.stat(path)
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return False
        return (status.st_dev, status.st_ino) in linked_secrets(workspace, home)
    except OSError:
        return False
    except TooMany:
        return True


def linked_secrets(workspace: Path, home: Path) -> frozenset[tuple[int, int]]:
    """Return the (device, inode) of secret files that have several names. Raises TooMany."""
    found = set()
    for path in (*_of_home(home), *_of_workspace(workspace)):
        try:
            status = os.stat(path)
        except OSError:
            continue
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def is_one_of(path: str, files: frozenset[tuple[int, int]]) -> bool:
    """Return whether the path is one of these files, which are (device, inode) pairs."""
    if not files:
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) in files


def _of_workspace(workspace: Path) -> Iterator[str]:
    return (path for path in files_below(str(workspace)) if may_look_secret(path) and looks_secret(path))


def _of_home(home: Path) -> Iterator[str]:
    yield from (str(home / name) for name in _HOME_FILES)
    for folder in _HOME_FOLDERS:
        try:
            yield from (entry.path for entry in os.scandir(home / folder))
        except OSError:
            continue
