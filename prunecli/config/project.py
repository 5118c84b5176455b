"""What a project's .prunecli/config.toml may set, and where such files are looked for.

A project's file is somebody else's text. It is read only after the directory was trusted, and even then it can't
redirect the key, name code to run, or loosen what the user decided (FORMATS, CFG-01): that is an error, not a
silence, so that nobody believes in a setting which does not act.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.config.declared import Key

PROJECT_FILE = Path(".prunecli", "config.toml")

USER_ONLY: Mapping[Key, str] = {
    ("model", "base_url"): "it decides who gets the key",
    ("permissions", "allow"): "it lets calls pass",
    ("sandbox", "writable"): "it opens folders to commands",
    ("ui", "keys"): "it could move the key that allows a call",
    ("pruning", "importance", "function"): "it names code to run",
    ("pruning", "semantic", "embedder"): "it names code to run",
}
"""Keys, with all below them, that only the user's own files, environment and flags can set, and why."""

STRICTEST_FIRST: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("plan", "ask", "edits", "auto"),
    ("sandbox", "mode"): ("require", "auto", "off"),
    ("sandbox", "network"): (False, True),
}
"""Keys that a project can only make stricter than they are."""

LOOSER_THAN_DEFAULT: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("edits", "auto"),
    ("sandbox", "mode"): ("off",),
    ("sandbox", "network"): (True,),
}
"""Values of those which would never act: an error where a project asks for them."""

ADDED_UP: frozenset[Key] = frozenset({("permissions", name) for name in ("allow", "ask", "deny")})
"""Lists of which each file adds its own items: no file takes away another's deny rule."""


def refusal(key: Key, value: Any) -> str:
    """Why a project's file can't set this, or "" where it can."""
    if len(key) == 4 and key[0] == "models" and key[2] == "prices":
        return "a project's file can't set this: it hides what a run costs"
    if len(key) > 2 and key[0] == "model":
        return "a project's file can't set this: it belongs to the provider, which gets the key"
    for end in range(1, len(key) + 1):
        if key[:end] in USER_ONLY:
            return f"a project's file can't set this: {USER_ONLY[key[:end]]}"
    if value in LOOSER_THAN_DEFAULT.get(key, ()):
        return f"a project's file can't set this to {str(value).lower()}: it can only be made stricter"
    return ""


def is_stricter(key: Key, value: Any, current: Any) -> bool:
    """Whether a project's value may replace the current one."""
    order = STRICTEST_FIRST.get(key)
    return order is None or order.index(value) < order.index(current)


def project_files(cwd: Path) -> tuple[Path, ...]:
    """Where a project's files for `cwd` would stand, the farthest first: at the repository's root, at `cwd` and
    between. The root is the nearest folder with a `.git`; outside a repository `cwd` alone counts.

    Links are followed before the walk, so that a link into a repository counts as that repository (CFG-05).
    These are the files whose content the trust in a directory covers (CFG-03).
    """
    here = cwd.resolve()
    folders = [here]
    for folder in (here, *here.parents):
        if folder not in folders:
            folders.append(folder)
        if (folder / ".git").exists():
            return tuple(folder / PROJECT_FILE for folder in reversed(folders))
    return (here / PROJECT_FILE,)
