"""Under which environment a command may run that nobody looked at: one in which an approved line keeps its meaning.

The judgement of a line (`harmless`, `shell`) is about a bash that starts with nothing of its own and programs that
take no further options from variables (SEC-14).
"""

import os
from collections.abc import Mapping

from prunecli.agent.judging.git_config import neutral_git_environment

_CHANGE_MEANING = frozenset(
    {
        *("BASH_ENV", "BASHOPTS", "BASH_COMPAT", "CDPATH", "ENV", "GLOBIGNORE", "GREP_OPTIONS", "IFS"),
        *("POSIXLY_CORRECT", "PROMPT_COMMAND", "PS4", "RIPGREP_CONFIG_PATH", "SHELLOPTS", "LESSOPEN"),
    }
)
_PREFIXES = ("BASH_FUNC_", "GIT_")
_GIT_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH")
"""Who commits, and how the user reaches servers: no reading command uses them to start anything."""


def unattended_environment(environ: Mapping[str, str], *, hooks: bool = False) -> dict[str, str]:
    """The environment without what changes the meaning of an approved line, and with git's programs switched off.

    PATH loses its empty and relative entries: they would find programs in the directory the command runs in.
    `hooks` as in `neutral_git_environment`.
    """
    kept = {name: value for name, value in environ.items() if not _changes_meaning(name)}
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(
            entry for entry in kept["PATH"].split(os.pathsep) if os.path.isabs(entry)
        )
    return {**kept, **neutral_git_environment(hooks=hooks)}


def _changes_meaning(name: str) -> bool:
    return name in _CHANGE_MEANING or (name.startswith(_PREFIXES) and not name.startswith(_GIT_KEPT))
