"""Project configuration: what .prunecli/config.toml may set, and where to look for it.

A project file may come from someone else. It is read only in a trusted directory, and even then it cannot redirect
the API key, name code to run, or loosen the user's settings. Trying is an error, so that nobody relies on a setting
without effect.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prunecli.config.declared import Key
from prunecli.config.options import Hooks

PROJECT_FILE = Path(".prunecli", "config.toml")

_HOOKS = "they run commands; .prunecli/hooks.json may hold them, and they run once you approve them"

USER_ONLY: Mapping[Key, str] = {
    ("model", "base_url"): "it decides who gets the key",
    ("model", "endpoint"): "it decides who gets the key",
    ("model", "allow_http"): "it lets the key travel unencrypted",
    ("permissions", "allow"): "it allows calls",
    ("tools", "web", "private"): "it opens this machine's network to the model",
    ("sandbox", "writable"): "it opens folders to commands",
    ("sandbox", "readable"): "it opens folders to commands",
    **{("sandbox", f"max_{what}"): "it lifts a limit" for what in ("processes", "file_mb", "memory_mb")},
    ("mcp",): "it names programs to run; a project's servers are in .mcp.json",
    ("ui", "keys"): "it could rebind the key that allows a call",
    ("pruning", "importance", "function"): "it names code to run",
    ("pruning", "semantic", "embedder"): "it names code to run",
    **{("hooks", event): _HOOKS for event in Hooks.__dataclass_fields__},
}
"""Keys, including all below them, that project files may not set, with the reason."""

STRICTEST_FIRST: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("plan", "ask", "edits", "auto"),
    ("sandbox", "mode"): ("require", "auto", "off"),
    ("sandbox", "network"): (False, True),
}
"""Keys that a project can only make stricter."""

LOOSER_THAN_DEFAULT: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("edits", "auto"),
    ("sandbox", "mode"): ("off",),
    ("sandbox", "network"): (True,),
}
"""Values of those keys that could never take effect: an error in a project file."""

ADDED_UP: frozenset[Key] = frozenset({("permissions", name) for name in ("allow", "ask", "deny")})
"""Lists to which each file adds: no file can remove another's deny rule."""


def refusal(key: Key, value: Any) -> str:
    """Return the reason why a project file may not set this, or ""."""
    if len(key) == 4 and key[0] == "models" and key[2] == "prices":
        return "not allowed in a project file: it hides the cost of a run"
    if len(key) > 2 and key[0] == "model":
        return "not allowed in a project file: it belongs to the provider, which gets the key"
    for end in range(1, len(key) + 1):
        if key[:end] in USER_ONLY:
            return f"not allowed in a project file: {USER_ONLY[key[:end]]}"
    if value in LOOSER_THAN_DEFAULT.get(key, ()):
        return f"not allowed in a project file: {str(value).lower()} is less strict than the default"
    return ""


def is_stricter(key: Key, value: Any, current: Any) -> bool:
    """Return whether a project's value may replace the current one."""
    order = STRICTEST_FIRST.get(key)
    if key == ("sandbox", "network") and isinstance(value, tuple):
        return current is True or (isinstance(current, tuple) and set(value) < set(current))
    if order is None or isinstance(current, tuple):
        return order is None or value is False
    return order.index(value) < order.index(current)


def project_files(cwd: Path) -> tuple[Path, ...]:
    """Return the possible project files for `cwd`, from the repository's root down to `cwd`.

    The root is the nearest folder with a `.git`; outside a repository, only `cwd` is used. Links are resolved first,
    so a link into a repository counts as that repository. Trust in a directory covers the content of these files.
    """
    here = cwd.resolve()
    folders = [here]
    for folder in (here, *here.parents):
        if folder not in folders:
            folders.append(folder)
        if (folder / ".git").exists():
            return tuple(_without_links_out([one / PROJECT_FILE for one in reversed(folders)], folder))
    return tuple(_without_links_out([here / PROJECT_FILE], here))


def _without_links_out(paths: Sequence[Path], root: Path) -> list[Path]:
    """Return the paths without those that lead outside the project through a link, which are refused."""
    return [path for path in paths if path.resolve().is_relative_to(root)]
