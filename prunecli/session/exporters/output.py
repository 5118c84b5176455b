"""Writes an export to a private file; never overwrites another file or follows a link."""

import os
from pathlib import Path

from prunecli.errors import UsageError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a new file of mode 0600. `force` replaces an existing file, but never a link.

    Raises UsageError if that fails; no half-written file is left.
    """
    try:
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link", "give the path of the file itself")
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "give the path of a file in it")
        target = path.with_name(f".{path.name}.{os.getpid()}.part") if force else path
        fd = os.open(target, _NEW, 0o600)
    except FileExistsError:
        raise UsageError(
            f"{path} already exists", "choose another name, or use --force to overwrite it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        with open(fd, "w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
        if force:
            target.replace(path)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "free some space or use another folder"
        ) from error
