"""The scope of a search: a folder or one file in it, and the form of the shown paths."""

import os
import re
import stat
from pathlib import Path

from prunecli.model.codec import well_formed
from prunecli.tools.files.workspace import absolute, refusal
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen


@frozen
class Scope:
    """The scope of a search. `root` is the real path of a folder, and `only` the name of a file in it, or "".
    `prefix` leads from the working directory to the folder, and is absolute if the folder is elsewhere."""

    root: str
    only: str
    prefix: str


def path_in(folder: str, glob: str) -> str:
    """Return the path of a glob that is relative to a folder; one that starts with `/` or `~` is returned
    unchanged."""
    return glob if glob.startswith("~") else os.path.join(folder, glob)


def folders_of(folder: str, glob: str) -> tuple[str, ...]:
    """Return the folder of a glob, and the folder that a glob with `..`, `/` or `~` leads to."""
    if not glob.startswith(("/", "~")) and ".." not in glob.split("/"):
        return (folder,)
    return folder, path_in(folder, re.split(r"[*?\[{]", glob)[0])


def scope_of(given: str, cwd: Path) -> Scope:
    """Return the scope of a path. Raises ToolError if it can't be searched."""
    path = absolute(given or ".", cwd)
    try:
        real = os.path.realpath(path, strict=True)
        mode = os.stat(real).st_mode
        base = os.path.realpath(cwd)
    except OSError as error:
        raise refusal(error, given) from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise ToolError(f"{well_formed(given)} is neither a folder nor a regular file.")
    root, only = (real, "") if stat.S_ISDIR(mode) else os.path.split(real)
    inside = Path(root).is_relative_to(base)
    prefix = os.path.relpath(root, base) if inside else root
    return Scope(root, only, "" if prefix == "." else prefix)
