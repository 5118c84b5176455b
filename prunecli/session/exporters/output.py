"""Writing an export to a file: for its owner's eyes only, never over another file, never through a link."""

import os
from pathlib import Path

from prunecli.errors import UsageError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Writes a new file of mode 0600; `force` replaces a file that is there, but never a link.

    Raises UsageError that says why it can't be written; nothing is left half-written under that name.
    """
    try:
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link", "name the file itself")
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "name a file in it")
        target = path.with_name(f".{path.name}.{os.getpid()}.part") if force else path
        fd = os.open(target, _NEW, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists", "choose another name, or replace it with --force") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        with open(fd, "w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
        if force:
            target.replace(path)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise UsageError(f"{path}: {error.strerror}", "free some space or choose another place") from error
