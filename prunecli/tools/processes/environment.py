"""The environment of child processes, and hiding prunecli's own environment from them.

A child of the same user can read /proc/PID/environ of its ancestors, so removing a key from the child's environment
is not enough.
"""

import os
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

from prunecli.util.programs import find_program

_PREFIXES = ("ANTHROPIC_", "PRUNECLI_")
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_KEY_SHAPE = "sk-ant-"
_SHORTEST = 8
"""Characters below which a value is too common to count as a copy of a credential."""

_CREDENTIAL = re.compile(
    r"(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|APIKEY|_PWD|_PAT)$|(?:^|_)(?:SECRETS?|CREDENTIALS?)(?:_|$)"
    r"|(?:API|ACCESS|PRIVATE|SIGNING|ENCRYPTION)_KEY(?:_|$)",
    re.IGNORECASE,
)
_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_PR_SET_DUMPABLE = 4


def secret_names(environ: Mapping[str, str], keys: Collection[str] = ()) -> frozenset[str]:
    """Return the variables that contain one of prunecli's credentials or a copy of one, and all named ANTHROPIC_*.

    `keys` are the variables of all known endpoints' keys. The headers for a telemetry collector hold a token, too.

    The user's other credentials (GITHUB_TOKEN, AWS_*) stay, because commands need them.
    """
    ours = {name for name in environ if name in keys or _is_ours(name)}
    values = {environ[name] for name in ours if _names_secret(name) and len(environ[name]) >= _SHORTEST}
    copies = {name for name, value in environ.items() if _KEY_SHAPE in value or value in values}
    return frozenset(ours | copies)


def credential_names(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables with a credential of the user, found by their names or by a URL with a password."""
    found = (name for name, value in environ.items() if _CREDENTIAL.search(name) or _URL.search(value))
    return frozenset(found)


def child_environment(environ: Mapping[str, str], keys: Collection[str] = ()) -> dict[str, str]:
    """Return the environment for children: everything except `secret_names`."""
    secret = secret_names(environ, keys)
    return {name: value for name, value in environ.items() if name not in secret}


def shell_in(env: Mapping[str, str]) -> str:
    """Return the absolute path of bash; /bin/sh if there is none."""
    if os.access("/bin/bash", os.X_OK):
        return "/bin/bash"
    return find_program(env.get("PATH", os.defpath), "bash") or "/bin/sh"


def _is_ours(name: str) -> bool:
    name = name.upper()
    is_collectors = name.startswith("OTEL_EXPORTER_") and name.endswith("_HEADERS")
    return (
        is_collectors or name.startswith("ANTHROPIC_") or (name.startswith(_PREFIXES) and _names_secret(name))
    )


def _names_secret(name: str) -> bool:
    return any(word in name.upper() for word in _SECRET_WORDS)


def hide_environment(keys: Collection[str] = ()) -> None:
    """Hide this process's environment from other processes of the same user. `keys` as in `secret_names`.

    On Linux the process becomes non-dumpable: only root can read /proc/PID/environ, fd and mem or attach ptrace, and
    no core files are written. For root and on other systems, the values of `secret_names` are overwritten in the
    process's initial environment block, which the kernel shows. `os.environ` is a copy and does not change.
    """
    import ctypes  # takes 5 ms, and only the program itself needs it

    library = ctypes.CDLL(None)
    for address, name, value in _entries(ctypes, library, keys):
        ctypes.memset(address + len(name) + 1, 0, len(value))
    if sys.platform == "linux":
        library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _entries(ctypes: Any, library: Any, keys: Collection[str]) -> list[tuple[int, bytes, bytes]]:
    """Return the address, name and value of each secret variable in the C library's environment block."""
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
    secret = secret_names(dict(text.values()), keys)
    return [entry for entry in entries if text[entry[1]][0] in secret]
