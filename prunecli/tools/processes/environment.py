"""The environment of child processes, and how to hide our own from them.

A child of the same user can read /proc/PID/environ of its ancestors, so taking a key out of the child's
environment is only half of it.
"""

import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

_PREFIXES = ("ANTHROPIC_", "PRUNECLI_")
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_KEY_SHAPE = "sk-ant-"
_SHORTEST = 8
"""Characters below which a value is too common to be taken for a copy of a credential."""

_PR_SET_DUMPABLE = 4


def secret_names(environ: Mapping[str, str], keys: Collection[str] = ()) -> frozenset[str]:
    """The variables that are a credential of ours, or hold a copy of one, and everything named ANTHROPIC_*.

    `keys` are the variables of the provider in use.

    The other credentials of a person (GITHUB_TOKEN, AWS_*) are what commands are run with, and stay.
    """
    ours = {name for name in environ if name in keys or _is_ours(name)}
    values = {environ[name] for name in ours if _names_secret(name) and len(environ[name]) >= _SHORTEST}
    copies = {name for name, value in environ.items() if _KEY_SHAPE in value or value in values}
    return frozenset(ours | copies)


def child_environment(environ: Mapping[str, str], keys: Collection[str] = ()) -> dict[str, str]:
    """The environment for children: everything except `secret_names`."""
    secret = secret_names(environ, keys)
    return {name: value for name, value in environ.items() if name not in secret}


def program_in(env: Mapping[str, str], name: str) -> str | None:
    """The absolute path of a program on the PATH; relative PATH entries are skipped."""
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _is_ours(name: str) -> bool:
    name = name.upper()
    return name.startswith("ANTHROPIC_") or (name.startswith(_PREFIXES) and _names_secret(name))


def _names_secret(name: str) -> bool:
    return any(word in name.upper() for word in _SECRET_WORDS)


def hide_environment() -> None:
    """Hide our environment from other processes of the same user. Call it once, at the start.

    On Linux the process becomes non-dumpable: /proc/PID/environ, fd, mem and ptrace are closed to all but root
    (and core files are not written). For root, and on other systems, the values of `secret_names` are
    overwritten where the kernel shows them: the block that the process was started with. `os.environ` is a copy
    and stays as it is.
    """
    import ctypes  # 5 ms that only the program itself has to spend

    library = ctypes.CDLL(None)
    for address, name, value in _entries(ctypes, library):
        ctypes.memset(address + len(name) + 1, 0, len(value))
    if sys.platform == "linux":
        library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _entries(ctypes: Any, library: Any) -> list[tuple[int, bytes, bytes]]:
    """The address, name and value of each secret variable in the block that the C library knows."""
    try:
        block = ctypes.POINTER(ctypes.c_void_p).in_dll(library, "environ")
    except ValueError:
        return []  # a C library without the symbol
    entries, index = [], 0
    while block and (address := block[index]):
        name, mark, value = ctypes.string_at(address).partition(b"=")
        if mark:
            entries.append((address, name, value))
        index += 1
    text = {name: (os.fsdecode(name), os.fsdecode(value)) for _, name, value in entries}
    secret = secret_names(dict(text.values()))
    return [entry for entry in entries if text[entry[1]][0] in secret]
