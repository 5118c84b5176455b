"""The sanitized environments for commands that the user has not reviewed.

`harmless` and `shell` assume a bash without startup files and programs without options from variables. These
environments ensure that.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from prunecli.safety.permissions.git import git_settings, neutral_git_environment
from prunecli.safety.permissions.places import set_of
from prunecli.util.programs import outside_path

_CHANGE_MEANING = set_of(
    "BASH_ENV BASHOPTS BASH_COMPAT CDPATH ENV GLOBIGNORE GREP_OPTIONS IFS POSIXLY_CORRECT PROMPT_COMMAND PS4 "
    "RIPGREP_CONFIG_PATH SHELLOPTS LESSOPEN"
)
_SEARCHED = set_of(
    "LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH PYTHONPATH NODE_PATH PERL5LIB RUBYLIB"
)
"""Lists of folders that programs load code from; a command that only reads finds none in the workspace."""
_LOADS_CODE = set_of(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS PERL5OPT RUBYOPT TAR_OPTIONS JAVA_TOOL_OPTIONS "
    "JDK_JAVA_OPTIONS JDK_JAVAC_OPTIONS _JAVA_OPTIONS PYTHONHOME"
)
"""Variables with options that may load code of the workspace."""
_NO_NETWORK = {"GOTOOLCHAIN": "local", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Variables that keep `go version` and `pip list` from contacting a server."""
_PREFIXES = ("BASH_FUNC_", "GIT_")
_GIT_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH")
"""Prefixes of variables that are kept: the committer, and the connection to servers. No read-only command starts
programs named in them."""


def unattended_environment(environ: Mapping[str, str], *, hooks: bool = False) -> dict[str, str]:
    """Return the environment without variables that change a line's meaning, and with git's programs off.

    PATH loses its empty and relative entries, which would find programs in the directory that the command runs in.
    `hooks` has the same meaning as in `neutral_git_environment`.
    """
    kept = {name: value for name, value in environ.items() if not _changes_meaning(name)}
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(
            entry for entry in kept["PATH"].split(os.pathsep) if os.path.isabs(entry)
        )
    return {**kept, **neutral_git_environment(hooks=hooks)}


class ReadingEnvironment(Mapping[str, str]):
    """The environment of a command that may run because it only reads, built when a tool first uses it.

    Searching PATH takes longer than reading a file, and most tools start no program.

    `env` is an unattended environment. Its PATH finds no program in the workspace's `folders`. git runs neither the
    filters of git-lfs nor a credential helper, so a repository whose configuration names them can still be read.
    """

    def __init__(self, env: Mapping[str, str], *folders: Path) -> None:
        self._env = env
        self._folders = folders

    @cached_property
    def _made(self) -> Mapping[str, str]:
        path = self._env.get("PATH", os.defpath)
        for folder in self._folders:
            path = outside_path(path, str(folder))
        kept = {name: value for name, value in self._env.items() if name not in _LOADS_CODE}
        for name in _SEARCHED.intersection(kept):
            for folder in self._folders:
                kept[name] = outside_path(kept[name], str(folder))
        return {**kept, "PATH": path, **_NO_NETWORK, **git_settings(reading=True)}

    def __getitem__(self, name: str) -> str:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def _changes_meaning(name: str) -> bool:
    return name in _CHANGE_MEANING or (name.startswith(_PREFIXES) and not name.startswith(_GIT_KEPT))
