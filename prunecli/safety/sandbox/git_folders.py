"""The git folders of a workspace: which commands may write to, and what in them makes git start programs."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator

from prunecli.safety.sandbox.real_folders import end_of

STARTS_PROGRAMS = ("hooks", "config")
REDIRECTS = ("commondir", "config.worktree")
"""Files of a git folder that make git read more configuration, or another folder's."""
DATA = frozenset(
    {
        *("objects", "refs", "logs", "HEAD", "index", "packed-refs", "shallow", "ORIG_HEAD", "FETCH_HEAD"),
        *(
            "COMMIT_EDITMSG",
            "MERGE_HEAD",
            "MERGE_MSG",
            "MERGE_MODE",
            "MERGE_RR",
            "MERGE_AUTOSTASH",
            "SQUASH_MSG",
        ),
        *("CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE", "gc.log", "gc.pid"),
    }
)
"""What a git folder holds of a repository itself, apart from settings: nothing of it starts a program or leads
elsewhere. A started rebase is not here, because its list of steps may name programs."""
_WORK_TREE = re.compile(r"^\s*worktree\s*=\s*([\w./-]+)\s*$", re.MULTILINE)
_MOST_BYTES = 100_000


def is_git_folder(path: str) -> bool:
    """Return whether git may take this for a repository. The path itself must not be a link."""
    there = {
        name: os.path.lexists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs", "commondir")
    }
    complete = (there["objects"] and there["refs"]) or there["commondir"]
    return there["HEAD"] and complete and not os.path.islink(path)


def parts(folder: str) -> Iterator[str]:
    """Yield the paths in a git folder, its work trees and its submodules that make git start programs or read
    elsewhere; they may be missing."""
    for path in (folder, *inner(folder)):
        if path == folder or any(os.path.lexists(os.path.join(path, name)) for name in ("HEAD", "config")):
            yield from (os.path.join(path, name) for name in (*STARTS_PROGRAMS, *REDIRECTS, "gitdir"))


def inner(folder: str) -> Iterator[str]:
    """Yield the folders of work trees and submodules in a git folder, each after the one that it is in."""
    for path in (os.path.join(folder, name) for name in ("worktrees", "modules")):
        if os.path.isdir(path) and not os.path.islink(path):
            yield path
            yield from _below(path)


def _below(path: str) -> Iterator[str]:
    for found in _folders(path):
        yield found
        if os.path.lexists(os.path.join(found, "HEAD")):
            yield from inner(found)
        else:  # the name of a submodule may contain slashes
            yield from _below(found)


def is_data(path: str) -> bool:
    """Return whether a path in a git folder is data of the repository, which starts no program and leads nowhere."""
    first = path.partition("/")[0]
    return path == "info/refs" or (first in DATA and not path.startswith("objects/info/alternates"))


def settings_in(folder: str) -> Iterator[str]:
    """Yield what is in a git folder, its work trees and submodules apart from its data."""
    within = tuple(inner(folder))
    for path in (folder, *within):
        if os.path.lexists(os.path.join(path, "HEAD")):
            names = [*_names(path), *(f"info/{name}" for name in _names(os.path.join(path, "info")))]
            found = (os.path.join(path, name) for name in names if name != "info" and not is_data(name))
            yield from (one for one in found if one not in within)
            if os.path.lexists(alternates := os.path.join(path, "objects/info/alternates")):
                yield alternates


def may_be_written(folder: str) -> bool:
    """Return whether the git folder can be opened for git: it is real, and so are its parts, since nothing can be
    mounted on a link."""
    return (
        is_git_folder(folder) and os.access(folder, os.W_OK) and not any(map(os.path.islink, parts(folder)))
    )


def shared_with(root: str) -> str:
    """Return the git folder of the repository whose linked work tree is at `root`, or "".

    The repository must know it: its `worktrees/NAME/gitdir` names the `.git` file here.
    """
    here = os.path.join(root, ".git")
    own = end_of(os.path.join(root, _content(here).removeprefix("gitdir:").strip()))
    trees, shared = os.path.dirname(own), os.path.dirname(os.path.dirname(own))
    knows = _content(os.path.join(own, "gitdir"))
    if os.path.basename(trees) != "worktrees" or not knows or not is_git_folder(shared):
        return ""
    is_known = end_of(os.path.join(own, knows)) == here
    is_shared = end_of(os.path.join(own, _content(os.path.join(own, "commondir")))) == shared
    return shared if is_known and is_shared and may_be_written(shared) else ""


def is_plain(path: str, root: str, known: Iterable[str], doubt: Callable[[str], str]) -> bool:
    """Return whether a new git folder below `root` names no program and nothing outside, or a new `.git` file only a
    work tree or submodule of the git folders `known`.

    `doubt` returns why the text of a configuration may name a program, or "".
    """
    if os.path.isfile(path) and not os.path.islink(path):
        end = end_of(os.path.join(os.path.dirname(path), _content(path).removeprefix("gitdir:").strip()))
        below = any(end.startswith(f"{one}/{name}/") for one in known for name in ("worktrees", "modules"))
        return below and is_git_folder(end) and _leads_up(end)
    return is_git_folder(path) and all(_is_plain_part(part, root, doubt) for part in parts(path))


def _is_plain_part(path: str, root: str, doubt: Callable[[str], str]) -> bool:
    folder, name = os.path.split(path)
    if not os.path.lexists(path):
        return True
    if name == "hooks":
        return not os.path.islink(path) and all(hook.endswith(".sample") for hook in _names(path))
    if name in ("commondir", "gitdir"):
        return os.path.basename(os.path.dirname(folder)) == "worktrees" and _leads_up(folder)
    text, status = _content(path), os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size >= _MOST_BYTES:
        return False
    for tree in _WORK_TREE.findall(text):
        if not end_of(os.path.join(folder, tree)).startswith(f"{root}/"):
            return False
    return not doubt(_WORK_TREE.sub("", text))


def _leads_up(tree: str) -> bool:
    """Return whether the folder of a work tree, if it is one, shares the git folder that it is in."""
    common = _content(os.path.join(tree, "commondir"))
    return not common or end_of(os.path.join(tree, common)) == os.path.dirname(os.path.dirname(tree))


def _content(path: str) -> str:
    """Return the text of a small regular file, "" for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        text = os.read(descriptor, _MOST_BYTES).decode("utf-8", "surrogateescape") if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return "" if "\0" in text else text.strip()


def _folders(path: str) -> list[str]:
    found = (os.path.join(path, name) for name in _names(path))
    return [one for one in found if os.path.isdir(one) and not os.path.islink(one)]


def _names(path: str) -> list[str]:
    try:
        return [] if os.path.islink(path) else os.listdir(path)
    except OSError:
        return []
