"""Copies what a proposal brings to a private place on the disk of its folder, so that applying is only renaming.

What is copied is compared with the frozen digests: a layer that changed since then is not applied.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from prunecli.safety.proposals.changes import Change
from prunecli.safety.proposals.states import FOLDER, State, content_of, digest_of, readable
from prunecli.safety.sandbox.real_folders import opened
from prunecli.util.errors import ToolError
from prunecli.util.file_systems import sync_file

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OVERLAY = ("user.overlay.", "trusted.overlay.")
_MOST_SYNCED = 64
"""Above so many files, the whole disk is synced once instead."""


class Staging:
    """The folder of what comes and what goes, open as `folder`: `new.N` and `old.N`. `upper` is the open folder with
    the changes."""

    def __init__(self, folder: int, upper: int, root: str) -> None:
        self.folder = folder
        self._upper = upper
        self._root = root
        self._files = 0
        self._names = dict[tuple[int, int], str]()
        """A name here for each file that gets several."""

    @contextmanager
    def source(self, path: str) -> Iterator[int]:
        """Yield the folder of the layer that holds a path."""
        with ExitStack() as stack:
            folder = self._upper
            for part in path.split("/")[:-1]:
                folder = stack.enter_context(readable(part, folder, os.lstat(part, dir_fd=folder)))
            yield folder

    def bring(self, name: str, upper: int, change: Change, below: Mapping[str, list[Change]]) -> None:
        """Copy what is new at a path to `name`; `below` are the new things in each new folder.

        Raises OSError, and ToolError if it is not what was frozen.
        """
        self._bring(name, self.folder, upper, change, below)

    def finish(self) -> None:
        """Make the copies durable."""
        if self._files > _MOST_SYNCED:
            os.sync()

    def _bring(
        self, name: str, into: int, upper: int, change: Change, below: Mapping[str, list[Change]]
    ) -> None:
        after = change.after
        assert after  # noqa: S101  # only what is new is brought
        here = change.path.rpartition("/")[2]
        match after.what:
            case "folder":
                os.mkdir(name, 0o700, dir_fd=into)
                target = os.open(name, FOLDER, dir_fd=into)
                try:
                    status = os.lstat(here, dir_fd=upper)
                    with readable(here, upper, status) as inner:
                        for one in below.get(change.path, ()):
                            self._bring(one.path.rpartition("/")[2], target, inner, one, below)
                        _carry(inner, target)
                    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
                    os.fchmod(target, after.mode)
                finally:
                    os.close(target)
            case "link":
                os.symlink(os.fsdecode(after.digest), name, dir_fd=into)
            case "pipe" | "socket":
                kind = stat.S_IFIFO if after.what == "pipe" else stat.S_IFSOCK
                os.mknod(name, kind | 0o600, dir_fd=into)
                os.chmod(name, after.mode, dir_fd=into)
            case "file" if change.twin:
                self._link_twin(name, into, change)
            case "file" if known := self._names.get(after.identity[:2]):
                os.link(known, name, src_dir_fd=self.folder, dst_dir_fd=into)
            case "file":
                self._file(name, into, here, upper, after, change)
                if after.names > 1:
                    self._names[after.identity[:2]] = other = f"name.{len(self._names)}"
                    os.link(name, other, src_dir_fd=into, dst_dir_fd=self.folder)

    def _link_twin(self, name: str, into: int, change: Change) -> None:
        folder, _, twin = change.twin.rpartition("/")
        with opened(os.path.join(self._root, folder), below=self._root) as above:
            os.link(twin, name, src_dir_fd=above, dst_dir_fd=into, follow_symlinks=False)

    def keep(self, name: str, change: Change) -> None:
        """Copy what is there now to `name`, since it will be written in place."""
        folder, _, here = change.path.rpartition("/")
        with opened(os.path.join(self._root, folder), below=self._root) as above:
            status = os.lstat(here, dir_fd=above)
            with readable(here, above, status) as source:
                target = os.open(name, _NEW, 0o600, dir_fd=self.folder)
                try:
                    write_over(source, target)
                    sync_file(target)
                finally:
                    os.close(target)

    def _file(self, name: str, into: int, here: str, upper: int, after: State, change: Change) -> None:
        status = os.lstat(here, dir_fd=upper)
        with readable(here, upper, status) as source:
            target = os.open(name, _NEW, 0o600, dir_fd=into)
            try:
                write_over(source, target)
                if digest_of(target) != after.digest:
                    raise ToolError(f"{change.path} was changed after it was shown, so nothing was applied.")
                _carry(source, target)
                os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fchmod(target, after.mode)
                self._files += 1
                if self._files <= _MOST_SYNCED:
                    sync_file(target)
            finally:
                os.close(target)


def write_over(source: int, target: int) -> None:
    """Give an open file the content of another. Raises OSError."""
    os.ftruncate(target, 0)
    os.ftruncate(target, os.fstat(source).st_size)
    for at, data in content_of(source):
        _write(target, data, at)


def _write(target: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(target, view, at)
        view, at = view[done:], at + done


def _carry(source: int, target: int) -> None:
    """Copy a file's attributes (access lists too), without those of the overlay."""
    try:
        names = os.listxattr(source)
    except OSError:
        return
    for name in names:
        if not name.startswith(_OVERLAY):
            try:
                os.setxattr(target, name, os.getxattr(source, name))
            except OSError:
                pass  # a label of the system, which the new file has already
