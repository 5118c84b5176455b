"""Finds session files at URLs that fsspec knows (the extra `remote`): `s3://bucket/sessions`, `https://host/a.jsonl`."""

import errno
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.session.importers.codex_home import current
from prunecli.session.importers.finding import DEEPEST, MOST_FILES
from prunecli.session.importers.known_agents import ENDS
from prunecli.session.importers.remote import Remote, as_os_errors, plain
from prunecli.util.errors import SessionNotFound, UsageError
from prunecli.util.lazy import lazy

core: Any = lazy("fsspec.core")

_URL = re.compile(r"(?:\w+::)*[A-Za-z][\w+.-]+://")  # two letters at least: C:// is a drive


def is_url(text: str) -> bool:
    return _URL.match(text) is not None


def one_at(url: str) -> Remote:
    """Return the only session file at a URL. Raises SessionNotFound and UsageError."""
    found = found_at(url, [])
    if len(found) != 1:
        raise SessionNotFound(f"{plain(url)}: {len(found):,} session files", "name one of them")
    return found[0]


def found_at(url: str, problems: list[str]) -> list[Remote]:
    """Return the session files at a URL: of one, of a folder, or those that a pattern (`*`) matches.

    `problems` gets a line if there are too many. Raises SessionNotFound if nothing can be read there, and UsageError
    if this installation cannot read such URLs.
    """
    try:
        with as_os_errors():
            files, path = core.url_to_fs(url)
            listed = _listed(files, path)
    except ImportError as error:
        raise _missing(url, error) from None
    except OSError as error:
        raise SessionNotFound(
            f"{plain(url)}: {error.strerror}", "check the address and the credentials"
        ) from None
    rest = url.partition("::")[2] if "://" in url.partition("::")[0] else ""
    kept = {str(one) for one in current(map(Path, listed))}
    found = [
        _remote(files, name, size, rest) for name, size in sorted(listed.items()) if str(Path(name)) in kept
    ]
    if len(found) > MOST_FILES:
        problems.append(f"all of {plain(url)}: more than {MOST_FILES:,} files")
    return found[:MOST_FILES]


def _listed(files: Any, path: str) -> Mapping[str, int]:
    """Return the files that a path stands for, with their sizes."""
    bare = path.partition("?")[0] if "://" in path else path  # the signature of an address of the web
    if "*" in bare:
        found = files.glob(path, detail=True)
    elif not bare.endswith(ENDS) and files.isdir(path):
        found = files.find(path, maxdepth=DEEPEST, detail=True)
    else:
        one = files.info(path)
        if one.get("type", "file") != "file":
            raise OSError(errno.EINVAL, "not a file")
        return {path: int(one.get("size") or 0)}
    return {
        name: int(one.get("size") or 0)
        for name, one in found.items()
        if one.get("type") == "file" and name.endswith(ENDS)
    }


def _remote(files: Any, path: str, size: int, rest: str) -> Remote:
    url = files.unstrip_protocol(path)
    return Remote(files, path, plain(f"{url}::{rest}" if rest else url), size)


def _missing(url: str, error: ImportError) -> UsageError:
    if error.name == "fsspec":
        return UsageError(f"{plain(url)}: URLs need fsspec", "pip install 'prunecli[remote]'")
    return UsageError(f"{plain(url)}: {plain(str(error))}", "install it where prunecli is installed")
