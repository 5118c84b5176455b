"""Files that a user asks for: new ones, private, and the beginning of an HTML page."""

import os
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path

from prunecli.util.errors import UsageError
from prunecli.util.sanitize import one_line

STYLE = Path(__file__).parent / "page.css"
"""The style of pages with tables and plots."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PAGE = b"<!doctype html>"


def head(title: str, style: str, script: str = "") -> Iterator[str]:
    """Yield a page's beginning, up to its body. Its content security policy allows only this script."""
    allowed = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" if script else "'none'"
    name = escape(one_line(title.replace("\t", " ")))
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{name}</title>\n<style>{style}</style></head><body>"


def check_writable(path: Path) -> None:
    """Raise UsageError if `write_new` could not write this file, so that no long work is lost."""
    try:
        _refuse(path)
        if not os.path.isdir(path.parent):
            raise UsageError(f"cannot write {path}: No such file or directory")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: Permission denied")


def check_page(path: Path) -> None:
    """Raise UsageError if a page could not be written to this file, or would replace a file of another kind."""
    if path == Path("-"):
        raise UsageError("--html -: a page can't go to standard output", "name a file, such as page.html")
    check_writable(path)
    try:
        with path.open("rb") as file:
            is_page = file.read(len(_PAGE)).lower() in (b"", _PAGE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "choose another name") from error
    if not is_page:
        raise UsageError(f"{path} already exists, and is not an HTML page", "choose another name")


def _refuse(path: Path) -> None:
    if os.path.islink(path):
        raise UsageError(f"{path} is a symbolic link", "give the path of the file itself")
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory", "give the path of a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"{path} is not a regular file", "give the path of a file")


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a new file of mode 0600. `force` replaces an existing file, but never a link.

    Raises UsageError if that fails; no partial file is left.
    """
    try:
        _refuse(path)
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
