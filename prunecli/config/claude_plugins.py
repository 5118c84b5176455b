"""Installed plugins of Claude Code: folders with commands, agents, skills, hooks and MCP servers.

`prunecli plugins add` copies a plugin into a folder of our own and records the digest of its content, which the user
approved. A copy whose content differs from that digest is not used. The layout is Claude Code's: the manifest
`.claude-plugin/plugin.json`, `commands`, `agents`, `skills`, `hooks/hooks.json` and `.mcp.json`, or the paths that
the manifest names.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from prunecli.config.save import locked
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places
from prunecli.util.private_file import read_private, write_private

MANIFEST = ".claude-plugin/plugin.json"
ROOT_VARIABLE = "CLAUDE_PLUGIN_ROOT"
MOST_FILES, MOST_BYTES = 3_000, 30_000_000
_FIELDS = ("source", "digest", "commit", "version", "entry")
_JSON_BYTES = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
Kind: TypeAlias = Literal["agents", "commands", "output-styles", "skills"]


@frozen
class ClaudePlugin:
    """An installed plugin. `digest` is that of the approved content, `commit` that of its checkout, "" for a folder
    without one. `entry` is its name in the marketplace that `source` is, "" for any other source."""

    name: str
    root: Path
    source: str
    digest: str
    commit: str = ""
    version: str = ""
    entry: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether the content is what the user approved. Read once in this process."""
        return bool(self.digest) and _digest_once(self.root) == self.digest

    def folders(self, kind: Kind) -> list[Path]:
        """Return the folders of definitions: the usual one and those of the manifest."""
        return [self.root / kind, *_named(self.root, manifest(self.root).get(kind))]

    def hook_files(self) -> list[Path]:
        """Return the settings files with hooks; the manifest itself if it holds them."""
        given = manifest(self.root).get("hooks")
        inline = [self.root / MANIFEST] if isinstance(given, Mapping) else []
        return [self.root / "hooks" / "hooks.json", *inline, *_named(self.root, given)]

    def server_table(self) -> dict[str, Any]:
        """Return its MCP servers, unchecked, by name. Raises ConfigError for a file that is not JSON."""
        given = manifest(self.root).get("mcpServers")
        found: dict[str, Any] = {}
        for path in (self.root / ".mcp.json", *_named(self.root, given)):
            table = read_object(path) if path.is_file() else {}
            inner = table.get("mcpServers", table)
            found |= inner if isinstance(inner, dict) else {}
        if isinstance(given, Mapping):
            found |= given
        return found

    def servers(self) -> bytes:
        """Return its MCP servers in the form of a `.mcp.json`. Raises ConfigError."""
        return json.dumps({"mcpServers": self.server_table()}).encode()


def usable(places: Places, disabled: Collection[str] = ()) -> tuple[ClaudePlugin, ...]:
    """Return the installed plugins that are on and whose content is the approved one."""
    found = (one for one in installed(places) if one.name not in disabled)
    return tuple(one for one in found if one.is_unchanged)


def installed(places: Places) -> tuple[ClaudePlugin, ...]:
    """Return all installed plugins by name; none if the register cannot be read."""
    found = []
    for name, entry in sorted((_register(places) or {}).items()):
        if isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values()):
            folder = entry.get("folder", "")
            if _NAME.fullmatch(name) and re.fullmatch(r"[a-z0-9-]+", folder):
                more = (entry.get(key, "") for key in _FIELDS)
                found.append(ClaudePlugin(name, places.claude_plugins / folder, *more))
    return tuple(found)


def register(places: Places, plugin: ClaudePlugin) -> None:
    """Record a plugin as installed, in place of one of its name. Raises ConfigError, OSError."""
    with _changing(places) as entries:
        entries[plugin.name] = {"folder": plugin.root.name, **{key: getattr(plugin, key) for key in _FIELDS}}


def forget(places: Places, name: str) -> None:
    """Record a plugin as not installed. Raises ConfigError, OSError."""
    with _changing(places) as entries:
        entries.pop(name, None)


@contextmanager
def _changing(places: Places) -> Iterator[dict[str, Any]]:
    """Lock the register and yield its entries, which are written when the block ends. A damaged one is not replaced,
    because that would lose the other plugins: raises ConfigError."""
    with locked(places.claude_plugins):
        if problem := damage(places):
            raise ConfigError(problem, "remove it, and add your plugins again")
        yield (entries := _register(places) or {})
        write_private(_file(places), json.dumps(entries, indent=1).encode())


def damage(places: Places) -> str:
    """Return why the register cannot be used, "" if it can or there is none yet."""
    return (
        ""
        if _register(places) is not None
        else f"{_file(places)}: damaged, so no plugin of Claude Code is used"
    )


def _file(places: Places) -> Path:
    return places.claude_plugins / "installed.json"


def _register(places: Places) -> dict[str, Any] | None:
    """Return the entries of the register, {} if there is none yet, None if it cannot be used."""
    try:
        found = json.loads(read_private(_file(places), _JSON_BYTES, is_secret=False))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# What a folder holds -----------------------------------------------------------------------------------------


def manifest(root: Path) -> Mapping[str, Any]:
    """Return the manifest of a plugin's folder; empty if there is none. Raises ConfigError if it is not an object."""
    return read_object(root / MANIFEST) if (root / MANIFEST).is_file() else {}


def name_of(root: Path) -> str:
    """Return the name of the plugin in a folder: the manifest's, else the folder's. Raises ConfigError."""
    name = manifest(root).get("name") or root.name.lower()
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"{root / MANIFEST}: name: expected lowercase letters, digits and -, got {name!r:.80}"
        )
    return name


def digest_of(root: Path) -> str:
    """Return the digest of all files of a folder: their paths, contents and whether they run. Raises ConfigError for
    a link, for what is no file, and for too much."""
    total, lines = 0, []
    for path in files_of(root):
        total += path.stat().st_size
        if total > MOST_BYTES:
            raise ConfigError(f"{root}: larger than {MOST_BYTES // 1_000_000} MB")
        runs = "x" if os.access(path, os.X_OK) else "-"
        lines.append(f"{runs} {hashlib.sha256(path.read_bytes()).hexdigest()} {path.relative_to(root)}")
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def files_of(root: Path) -> list[Path]:
    """Return the regular files of a folder, without its `.git`, sorted. Raises ConfigError, as `digest_of` does."""
    found = []
    for here, folders, names in os.walk(root):
        folders[:] = sorted(folder for folder in folders if folder != ".git")
        for name in (*folders, *names):
            path = Path(here, name)
            if path.is_symlink():
                raise ConfigError(f"{path}: a link; a plugin may hold only files and folders")
            if name in names and name != ".git":
                if not path.is_file():
                    raise ConfigError(f"{path}: not a regular file")
                found.append(path)
        if len(found) > MOST_FILES:
            raise ConfigError(f"{root}: more than {MOST_FILES:,} files")
    return sorted(found)


@cache
def _digest_once(root: Path) -> str:
    try:
        return digest_of(root)
    except (OSError, ConfigError):
        return ""


def _named(root: Path, given: object) -> Iterator[Path]:
    """Yield the paths that a manifest names, if they are there and inside the plugin."""
    wanted = [given] if isinstance(given, str) else given if isinstance(given, Sequence) else []
    for name in wanted:
        path = Path(os.path.normpath(root / name)) if isinstance(name, str) else root
        if path != root and path.is_relative_to(root) and os.path.exists(path):
            yield path


def read_object(path: Path) -> dict[str, Any]:
    """Return the object of a file. Raises ConfigError."""
    try:
        if path.stat().st_size > _JSON_BYTES:
            raise ConfigError(f"{path}: larger than {_JSON_BYTES:,} bytes")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: not JSON") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected an object")
    return found
