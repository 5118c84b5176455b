"""Resolves paths, and opens files in the workspace so that no link leads outside.

A path is judged by the opened folder, never by its text, because the folder's descriptor stays the same even if
folders are renamed or linked meanwhile.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unicodedata import normalize

from prunecli.model.codec import well_formed
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.near import near

MAX_LINKS = 40
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


@frozen
class Place:
    """A name in an open folder of the workspace; the name is not a link. `path` is its real path, for texts."""

    folder: int
    name: str
    path: str

    def stat(self) -> os.stat_result | None:
        """Return the file's state, or None if it does not exist. Raises ToolError if it can't be read."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refusal(error, self.path) from error


def absolute(given: str, cwd: Path) -> str:
    """Return the absolute path for a path from the model: `~` is the home folder, other paths start at `cwd`.

    A missing path becomes the one that `on_disk` finds. Nothing else is expanded or normalized: the system resolves
    `..`. Raises ToolError for a path that no file can have.
    """
    if not given:
        raise ToolError("path is empty.")
    if "\0" in given:
        raise ToolError("path contains a NUL character.")
    if given == "~" or given.startswith("~/"):
        given = os.path.expanduser(given)
    if not os.path.isabs(given) and not os.path.isdir(cwd):
        raise ToolError(f"The working directory {well_formed(str(cwd))} no longer exists.")
    return on_disk(os.path.join(cwd, well_formed(given)))


def on_disk(path: str) -> str:
    """Return an absolute path with the names as the disk has them, if they differ by Unicode normalization alone, as
    decomposed names of macOS from typed ones. A name that fits two files or only a link is left as it is: permissions
    are judged by the path's text."""
    if path.isascii() or os.path.lexists(path):
        return path

    current = "/"
    for part in path.split("/"):
        if not part.isascii() and not os.path.lexists(os.path.join(current, part)):
            try:
                alike = [
                    name for name in os.listdir(current) if normalize("NFC", name) == normalize("NFC", part)
                ]
            except OSError:
                alike = []
            if len(alike) == 1 and not os.path.islink(os.path.join(current, alike[0])):
                part = alike[0]
        current = os.path.join(current, part)
    return current


def seen_from(path: str, cwd: Path | str) -> str:
    """Return the displayed path: relative if it is the working directory or below it."""
    base = str(cwd).rstrip("/")
    inside = path == base or path.startswith(f"{base}/")
    return os.path.normpath(path[len(base) + 1 :] or ".") if inside else path


def seen_in(text: str, cwd: Path | str) -> str:
    """Return the text with absolute paths below the working directory shortened, as by `seen_from`."""
    for base in dict.fromkeys((str(cwd).rstrip("/"), os.path.realpath(cwd).rstrip("/"))):
        text = re.sub(rf"(?<![\w./~-]){re.escape(base)}/(?=[^\s/])", "", text) if base else text
    return text


def real_path(given: str, cwd: Path) -> Path:
    """Return the path without links; its last parts need not exist. For judging a path, not for opening a file.

    Raises ToolError if it cannot be resolved; the caller must not fall back to the given path.
    """
    path, missing = absolute(given, cwd), list[str]()
    for _ in range(path.count("/") + 1):
        try:
            return Path(os.path.realpath(path, strict=True), *reversed(missing))
        except (FileNotFoundError, NotADirectoryError) as error:
            if os.path.islink(path):
                path = os.path.join(os.path.dirname(path), os.readlink(path))
                continue
            path, last = os.path.split(path.rstrip("/"))
            if last == ".." or not last:
                raise refusal(error, given) from error
            missing.append(last)
        except OSError as error:
            raise refusal(error, given) from error
    raise ToolError(f"{well_formed(given)}: too many broken links.")


def is_inside(path: Path, workspace: Path) -> bool:
    """Return whether a real path is the workspace or below it. Raises ToolError if the workspace is gone."""
    try:
        return path.is_relative_to(os.path.realpath(workspace, strict=True))
    except OSError as error:
        raise refusal(error, str(workspace)) from error


def check_inside(given: str, cwd: Path, folders: tuple[Path, ...]) -> None:
    """Raise ToolError for a path outside the folders. The error is the same whatever is there."""
    absolute(given, cwd)
    try:
        path = real_path(given, cwd)
        inside = any(is_inside(path, folder) for folder in folders if folder.is_dir())
    except ToolError:
        inside = False
    if not inside:
        raise _outside(given, folders)


@contextmanager
def opened_place(
    given: str, cwd: Path, workspace: Path, added: tuple[Path, ...] = (), *, create: bool = False
) -> Iterator[Place]:
    """Yield the place of a path, with its folder held open. Links are followed only inside the workspace, which
    includes the `added` folders.

    With `create`, missing folders are made. Raises ToolError for a place that is outside or cannot be reached.
    """
    path = absolute(given, cwd)
    for _ in range(MAX_LINKS):
        parent, name = os.path.split(path)
        if name in ("", ".", ".."):
            raise ToolError(f"{well_formed(given)} is a folder.")
        folder = _open_folder(parent, (workspace, *added), given, create=create)
        try:
            place = Place(folder, name, os.path.join(os.path.realpath(parent), name))
            state = place.stat()
            if state is None or not stat.S_ISLNK(state.st_mode):
                yield place
                return
            path = os.path.join(os.path.dirname(place.path), _target(place))
        finally:
            os.close(folder)
    raise ToolError(f"{well_formed(given)} leads through more than {MAX_LINKS} links.")


def _target(place: Place) -> str:
    try:
        return os.readlink(place.name, dir_fd=place.folder)
    except OSError as error:
        raise refusal(error, place.path) from error


def _open_folder(parent: str, folders: tuple[Path, ...], given: str, *, create: bool) -> int:
    """Open a folder inside the workspace; the caller closes the descriptor."""
    missing = list[str]()
    while True:
        try:
            folder = os.open(parent, _FOLDER)
            break
        except FileNotFoundError as error:
            parent, last = os.path.split(parent)
            if not create or last in ("", ".", ".."):
                raise refusal(error, given) from error
            missing.append(last)
        except OSError as error:
            raise refusal(error, given) from error
    try:
        if not _holds(folders, folder):
            raise _outside(given, folders)
        while missing:
            folder = _made(folder, missing.pop())
    except OSError as error:
        os.close(folder)
        raise refusal(error, given) from error
    except ToolError:
        os.close(folder)
        raise
    return folder


def _outside(given: str, folders: tuple[Path, ...]) -> ToolError:
    names = ", ".join(well_formed(str(folder)) for folder in folders)
    return ToolError(
        f"{well_formed(given)} is outside the workspace {names}: files can only be changed inside it."
    )


def _made(folder: int, name: str) -> int:
    """Make a subfolder and open it instead of its parent. Does not follow a link of that name."""
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        pass  # made by another call, or a link, which the next line rejects
    inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    os.close(folder)
    return inner


def _holds(folders: tuple[Path, ...], folder: int) -> bool:
    """Return whether an open folder is one of these folders or below one, determined by walking up. Raises
    OSError."""
    roots = {_identity(folders[0]), *(_identity(one) for one in folders[1:] if os.path.isdir(one))}
    current, last = os.dup(folder), None
    try:
        while True:
            state = os.fstat(current)
            here = (state.st_dev, state.st_ino)
            if here in roots or here == last:
                return here in roots
            above = os.open("..", _FOLDER, dir_fd=current)
            os.close(current)
            current, last = above, here
    finally:
        os.close(current)


def _identity(folder: Path) -> tuple[int, int]:
    state = os.stat(folder)
    return state.st_dev, state.st_ino


def refusal(error: OSError, path: str) -> ToolError:
    """Return the error for the model: the path and the system's error; for a missing file, the nearest name."""
    text = f"{well_formed(path)}: {error.strerror or error}."
    if isinstance(error, FileNotFoundError):
        text = f"{well_formed(path)} does not exist."
        if near := _nearest(path):
            text += f" Did you mean {near}?"
    return ToolError(text)


def _nearest(path: str) -> str | None:
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(1000), strict=False)]
    except (OSError, ValueError):
        return None
    found = near(name, names, 0.75)
    return well_formed(os.path.join(folder, found)) if found else None
