"""Finds programs on a PATH, and tells whether one comes from a folder such as the workspace.

A program counts as coming from a folder if any step on the way to it does: an entry of the PATH, a link, or the file
itself. A version manager's shim counts too, since a file in the current folder decides what it starts.
"""

import os
import stat
from collections.abc import Iterator

_MAX_LINKS = 40
_SHIM_FOLDERS = frozenset({"shims", ".shims"})
_SHIM_PROGRAMS = frozenset(
    {
        *("asdf", "aqua", "corepack", "fnm", "goenv", "hermit", "jenv", "mise", "moon", "nodenv", "phpenv"),
        *("plenv", "proto", "proto-shim", "pyenv", "rbenv", "rtx", "rustup", "tfenv", "tofuenv", "vfox"),
        *("volta", "volta-shim"),
    }
)
"""Programs that read `.tool-versions`, `.python-version`, `rust-toolchain` and the like, then start another
program."""
_RUSTUP_STARTS = frozenset(
    {"cargo", "rustc", "rustdoc", "rustfmt", "cargo-fmt", "clippy-driver", "cargo-clippy"}
)
"""Other names of rustup, which may be hard links or copies."""


def can_be_passed(text: str) -> bool:
    """Return whether a program can get this text as an argument or a variable."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def outside_path(path: str, folder: str) -> str:
    """Return the PATH without entries that are relative, lead through the folder, or hold only shims."""
    roots = _roots(folder)
    return os.pathsep.join(
        entry
        for entry in path.split(os.pathsep)
        if os.path.isabs(entry) and not _holds_shims(entry) and not _enters(entry, roots)
    )


def find_program(path: str, name: str) -> str | None:
    """Return the first executable file of this name on the PATH; relative entries are skipped."""
    for entry in path.split(os.pathsep):
        found = os.path.join(entry, name)
        if os.path.isabs(entry) and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return None


def find_outside(path: str, name: str, folder: str) -> str | None:
    """Return the first program of this name that neither comes from the folder nor is a shim."""
    roots = _roots(folder)
    for entry in outside_path(path, folder).split(os.pathsep):
        found = find_program(entry, name) if entry else None
        if found and not _enters(found, roots) and not _is_shim(found):
            return found
    return None


def find_beside(path: str, name: str, folder: str) -> str | None:
    """Return the first program of this name that does not come from the folder. It may be a shim, so it must run in
    the sandbox."""
    roots = _roots(folder)
    for entry in path.split(os.pathsep):
        found = find_program(entry, name) if entry else None
        if found and not _enters(found, roots):
            return found
    return None


def program_doubt(path: str, name: str, folder: str) -> str:
    """Return why the program found on the PATH needs approval before it starts, or "".

    A program that is not on the PATH is harmless.
    """
    found = find_program(path, name)
    if found is None:
        return ""
    if _enters(found, _roots(folder)):
        return f"`{name}` comes from the workspace"
    if _is_shim(found):
        return f"`{name}` is a version manager's shim, which files of the workspace control"
    return ""


def _roots(folder: str) -> tuple[str, ...]:
    """Return the folder and the repository around it, whose programs came with it; not the home folder or the
    root."""
    above = real = os.path.realpath(folder)
    while above != os.path.dirname(above) and not os.path.lexists(os.path.join(above, ".git")):
        above = os.path.dirname(above)
    kept = set() if above in ("/", os.path.realpath(os.path.expanduser("~"))) else {above}
    return tuple(kept | {os.path.normpath(folder), real})


def _enters(path: str, roots: tuple[str, ...]) -> bool:
    """Return whether any step of resolving the path lies in one of the folders."""
    return any(
        step == root or step.startswith(root.rstrip("/") + "/") for step in _steps(path) for root in roots
    )


def _steps(path: str) -> Iterator[str]:
    """Yield every path on the way, following links one at a time."""
    links, pending, done = 0, path.split("/")[::-1], "/"
    yield os.path.normpath(path)
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        done = os.path.dirname(done) if part == ".." else os.path.join(done, part)
        yield done
        try:
            target = os.readlink(done) if stat.S_ISLNK(os.lstat(done).st_mode) else None
        except (OSError, ValueError):
            target = None
        if target is None:
            continue
        links += 1
        if links > _MAX_LINKS:
            return
        done = "/" if target.startswith("/") else os.path.dirname(done)
        pending.extend(target.split("/")[::-1])


def _holds_shims(entry: str) -> bool:
    names = {os.path.basename(entry.rstrip("/")), os.path.basename(os.path.realpath(entry))}
    return not _SHIM_FOLDERS.isdisjoint(names)


def _is_shim(found: str) -> bool:
    """Return whether a program is a shim: it lies in a folder of shims, or links to a version manager."""
    folder, name = os.path.split(found)
    real = os.path.realpath(found)
    return (
        _holds_shims(folder)
        or (os.path.basename(real) in _SHIM_PROGRAMS and os.path.basename(real) != name)
        or "/corepack/" in real
        or (name in _RUSTUP_STARTS and os.path.lexists(os.path.join(folder, "rustup")))
    )
