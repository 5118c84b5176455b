"""A session file at a URL, which fsspec reads: held in memory like a local one, and bounded like one.

What a server says is hostile: a name is shown and asked for again, and never becomes a path on this machine. Nothing
is written here.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from prunecli.session.blobs import Blobs
from prunecli.session.importers.json_rows import MAX_BYTES
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened

_SECRET = re.compile(r"(?<=//)[^/\s]*@|\?(?:(?!::)[^\s'\"])*")
"""The user with the password, and the query, of any URL in a text."""
_LONGEST_REASON = 200


@frozen
class Remote:
    """A session file at a URL. `files` is its file system, which can be sent to other processes; `url` is for people,
    without credentials."""

    files: Any
    path: str
    url: str
    size: int = 0

    def __str__(self) -> str:
        return self.url

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.url).suffix

    @contextmanager
    def open(self) -> Iterator[BytesIO]:
        """Open the file, up to one byte over the limit. Raises OSError, whatever the reason."""
        yield BytesIO(self._content(self.path))

    @property
    def blobs(self) -> Blobs:
        """The blobs beside the file, to be read."""
        folder, slash, _ = self.path.rpartition("/")
        return Blobs(Path(), read=lambda name: self._content(f"{folder}{slash}blobs/{name}"))

    def _content(self, path: str) -> bytes:
        with as_os_errors(), self.files.open(path, "rb") as file:
            content: bytes = file.read(MAX_BYTES + 1)
            return content


SessionFile: TypeAlias = Path | Remote


def plain(text: str) -> str:
    """Return a URL, or a message with URLs, for one line, without users, passwords and queries."""
    return one_line(_SECRET.sub("", text))


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise OSError for any exception but a missing package: each library behind fsspec has its own."""
    try:
        yield
    except ImportError:
        raise
    except Exception as found:  # noqa: BLE001
        error = found.__cause__ or found  # the web's file system calls an unreachable server a missing file
        if isinstance(error, FileNotFoundError):
            raise OSError(errno.ENOENT, "no such file") from None
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise OSError(errno.EIO, shortened(plain(str(why)), _LONGEST_REASON)) from None
