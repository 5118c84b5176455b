"""Adds servers to the user's settings.toml or to the project's `.mcp.json`, and removes them.

Both take an entry in the form of `.mcp.json`, checked by the code that reads that file. config.toml is never changed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from prunecli.config.effective import Config
from prunecli.config.files import read_bytes
from prunecli.config.save import locked, put, write
from prunecli.features.mcp.definition import DEFAULT_TIMEOUT, Definition, OAuth
from prunecli.features.mcp.mcp_json import FILE, MAX_BYTES, SERVERS, definition_of, parse
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.safety.trust import TrustStore
from prunecli.util.errors import ConfigError, UsageError
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line

_SAME_KEYS = ("command", "args", "env", "cwd", "url", "headers")
"""The keys that are the same in both files."""
KNOWN_KEYS = frozenset({*_SAME_KEYS, "type", "timeout", "oauth"})


class Scope(StrEnum):
    """Where a server is kept: for all of the user's directories, or for everybody who works on the project."""

    USER = "user"
    PROJECT = "project"


class Files:
    """The files with the servers of a directory. Each method raises ConfigError that names the file, and then nothing
    was changed."""

    def __init__(self, places: Places, cwd: Path, config: Config) -> None:
        self._places = places
        self._cwd = cwd
        self._config = config

    def add(self, scope: Scope, name: str, entry: Mapping[str, Any]) -> Definition:
        """Return the definition of the entry, whose origin is the file that it is in from now on."""
        if scope is Scope.USER:
            made = definition_of(name, dict(entry), self._cwd, self._places.shown(self._places.settings_file))
            if origin := self._origin(name):
                raise _taken(name, origin)
            put(self._places, self._config.schema, ("mcp", name), _table(entry, made))
            return made
        path = next(self._project_files(), down_to(self._cwd)[0] / FILE)
        made = definition_of(name, dict(entry), path.parent, self._shown(path))
        with self._rewritten(path) as servers:
            if name in servers:
                raise _taken(name, self._shown(path))
            servers[name] = entry
        return made

    def remove(self, scope: Scope | None, name: str) -> str:
        """Remove a server; return the file that it was in. `scope` is only needed if both have it."""
        found = [one for one in ([scope] if scope else Scope) if self._has(one, name)]
        if len(found) > 1:
            raise UsageError(
                f"{name}: both settings.toml and {FILE} have it", "say --scope user or --scope project"
            )
        if not found:
            raise self._missing(scope, name)
        if found == [Scope.USER]:
            put(self._places, self._config.schema, ("mcp", name), None)
            return self._places.shown(self._places.settings_file)
        path = next(path for path in self._project_files() if name in self._parsed(path)[SERVERS])
        with self._rewritten(path) as servers:
            del servers[name]
        return self._shown(path)

    def _missing(self, scope: Scope | None, name: str) -> ConfigError:
        if origin := self._origin(name):
            saved = self._has(Scope.USER, name)
            hint = "say --scope user" if saved else "remove it there: prunecli never changes config.toml"
            return ConfigError(f"{name} is in {origin}", hint)
        return ConfigError(
            f"no MCP server named {name!r} {f'of scope {scope}' if scope else 'here'}", self.known
        )

    @property
    def known(self) -> str:
        """The names of all servers, in words."""
        names = [*self._config.section("mcp")]
        for path in self._project_files():
            names += self._parsed(path)[SERVERS]
        return f"there are: {one_line(', '.join(dict.fromkeys(names)))}" if names else "there are none"

    def _has(self, scope: Scope, name: str) -> bool:
        if scope is Scope.PROJECT:
            return any(name in self._parsed(path)[SERVERS] for path in self._project_files())
        saved = (layer for layer in self._config.layers if layer.kind == "settings")
        return any(key[:2] == ("mcp", name) for layer in saved for key in layer.values)

    def _origin(self, name: str) -> str:
        """Return the place of a server in the user's files, or ""."""
        keys = ((layer, key) for layer in self._config.layers for key in layer.values)
        return next((layer.where(key) for layer, key in keys if key[:2] == ("mcp", name)), "")

    def _project_files(self) -> Iterator[Path]:
        """Yield the project's files; the one that takes precedence is first."""
        return (folder / FILE for folder in reversed(down_to(self._cwd)) if os.path.lexists(folder / FILE))

    def _shown(self, path: Path) -> str:
        return os.path.relpath(path, self._cwd)

    def _parsed(self, path: Path) -> dict[str, Any]:
        return parse(self._data(path) or b"{}", self._shown(path))

    def _data(self, path: Path) -> bytes | None:
        shown = self._shown(path)
        if end := leads_outside(path, self._cwd):
            raise ConfigError(
                f"{shown} is a link to {end}, outside the project", "remove the link, or use --scope user"
            )
        found = read_bytes(path, shown, MAX_BYTES + 1, str(path))
        return found[0] if found else None

    @contextmanager
    def _rewritten(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the servers of a project's file, and write what has become of them. The directory stays trusted,
        because the user made the change."""
        with locked(path.parent):
            before, table = self._data(path), self._parsed(path)
            yield table[SERVERS]
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            try:
                text = json.dumps(table, indent=2, ensure_ascii=False) + "\n"
                data = text.encode(errors="backslashreplace")  # half a character, escaped as in JSON
            except RecursionError:
                raise ConfigError(f"{self._shown(path)}: nested too deeply", "nothing was changed") from None
            write(path, data)
            with suppress(OSError):  # a file system without modes
                path.chmod(mode)
            with suppress(ConfigError):  # the trust question is asked again and shows the change
                TrustStore(self._places.trust_store).follow(path, before, data)


def _taken(name: str, origin: str) -> ConfigError:
    return ConfigError(
        f"{name}: {origin} has a server of this name",
        f"prunecli mcp remove {name} first, or take another name",
    )


def _table(entry: Mapping[str, Any], made: Definition) -> dict[str, Any]:
    """Return an entry as a table `[mcp.NAME]`."""
    table = {key: entry[key] for key in _SAME_KEYS if entry.get(key)}
    if made.transport == "sse":
        table["transport"] = "sse"
    if made.timeout != DEFAULT_TIMEOUT:
        table["timeout"] = made.timeout
    if isinstance(made.oauth, OAuth):
        client = made.oauth
        table["oauth"] = {
            "client_id": client.client_id,
            "callback_port": client.callback_port,
            "scopes": list(client.scopes),
        }
    elif not made.oauth:
        table["oauth"] = {"enabled": False}
    return table
