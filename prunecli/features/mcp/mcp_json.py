"""A project's servers: `.mcp.json` in the form of Claude Code.

    {"mcpServers": {"NAME": {"type": "stdio", "command": "npx", "args": ["-y", "server"], "env": {"KEY": "${KEY}"}}}}
    {"mcpServers": {"NAME": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}}}}

An invalid entry affects only that server. Unknown keys are ignored, as in Claude Code.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prunecli.config.claude_plugins import ROOT_VARIABLE
from prunecli.features.mcp.definition import DEFAULT_TIMEOUT, Definition, OAuth, Transport, name_problem
from prunecli.util.errors import ConfigError

FILE = ".mcp.json"
SERVERS = "mcpServers"
MAX_BYTES = 1_000_000
MAX_SERVERS = 200
_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
_PROJECT = re.compile(r"\$\{CLAUDE_PROJECT_DIR(?::-[^}]*)?\}")


class Found(NamedTuple):
    """The servers that a file defines, and a line for each entry that cannot be used."""

    definitions: tuple[Definition, ...] = ()
    problems: tuple[str, ...] = ()


def read_servers(data: bytes, folder: Path, shown: str, plugin: str = "") -> Found:
    """Return the servers of a file in `folder`. `shown` is its name for messages; `plugin` is the folder of the
    plugin of Claude Code that brings it, "" for none. Raises nothing."""
    try:
        servers = parse(data, shown)[SERVERS]
    except ConfigError as error:
        return Found(problems=(error.message,))
    definitions, problems = [], []
    for number, (name, entry) in enumerate(servers.items()):
        if number == MAX_SERVERS:
            problems.append(f"{shown}: {SERVERS}: more than {MAX_SERVERS}; the rest is ignored")
            break
        try:
            definitions.append(definition_of(name, entry, folder, shown, plugin))
        except ConfigError as error:
            problems.append(f"{error.message} ({error.hint})" if error.hint else error.message)
    return Found(tuple(definitions), tuple(problems))


def parse(data: bytes, shown: str) -> dict[str, Any]:
    """Return the object of a file, with its servers, unchecked, under "mcpServers". Raises ConfigError."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{shown}: larger than {MAX_BYTES:,} bytes")
    table = parse_json(data, shown)
    servers = table.setdefault(SERVERS, {}) if isinstance(table, dict) else None
    if not isinstance(servers, dict):
        key = f"{SERVERS}: " if isinstance(table, dict) else ""
        raise ConfigError(f"{shown}: {key}expected an object of servers")
    found: dict[str, Any] = table
    return found


def parse_json(data: bytes, shown: str) -> Any:
    """Return the value of JSON that may be hostile. Raises ConfigError."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ConfigError(f"{shown}: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{shown}: line {error.lineno}: not JSON: {error.msg}") from None
    except ValueError:  # not UTF-8, or a number of too many digits
        raise ConfigError(f"{shown}: not JSON") from None


def definition_of(name: str, entry: Any, folder: Path, shown: str, plugin: str = "") -> Definition:
    """Return the definition of one entry of a file in `folder`. Raises ConfigError."""
    return _Entry(name, entry, folder, shown, plugin).definition()


class _Entry:
    """One server of the file. Each method raises a ConfigError that names file, server and key."""

    def __init__(self, name: str, entry: Any, folder: Path, shown: str, plugin: str) -> None:
        if problem := name_problem(name):
            raise ConfigError(f"{shown}: {problem}")
        self._named = Definition(name, origin=shown)
        if not isinstance(entry, dict):
            raise self._named.error("", "expected an object")
        self._entry: dict[str, Any] = entry
        self._folder = folder
        self._plugin = plugin

    def definition(self) -> Definition:
        entry = self._entry
        if "headersHelper" in entry:
            raise self._named.error("headersHelper", "not supported", "write headers with ${VARIABLE}")
        transport = self._transport()
        local = transport == "stdio"
        env = self._texts("env")
        if local:
            env.setdefault("CLAUDE_PROJECT_DIR", str(self._folder))
            if self._plugin:
                env.setdefault(ROOT_VARIABLE, self._plugin)
        made = Definition(
            self._named.name,
            transport,
            command=self._text("command"),
            args=tuple(self._list("args", entry.get("args"))),
            env=env,
            cwd=str(self._folder / Path(self._text("cwd") or ".").expanduser()) if local else "",
            url=self._text("url"),
            headers=self._texts("headers"),
            oauth=self._oauth(),
            timeout=self._timeout(),
            origin=self._named.origin,
        )
        made.check()
        return made

    def _transport(self) -> Transport:
        kind = self._entry.get("type")
        if kind is None:
            return "http" if "url" in self._entry and "command" not in self._entry else "stdio"
        if not isinstance(kind, str) or kind not in _TRANSPORTS:
            raise self._named.error("type", "expected stdio, http or sse")
        return _TRANSPORTS[kind]

    def _text(self, key: str) -> str:
        return self._filled(key, self._entry.get(key, ""))

    def _filled(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self._named.error(key, "expected a string")
        value = value.replace(f"${{{ROOT_VARIABLE}}}", self._plugin) if self._plugin else value
        return _PROJECT.sub(lambda _: str(self._folder), value)

    def _list(self, key: str, value: Any) -> Iterator[str]:
        if value is not None and not isinstance(value, list):
            raise self._named.error(key, "expected a list of strings")
        return (self._filled(key, item) for item in value or ())

    def _texts(self, key: str) -> dict[str, str]:
        value = self._entry.get(key) or {}
        if not isinstance(value, dict):
            raise self._named.error(key, "expected an object of strings")
        return {name: self._filled(f"{key}.{name}"[:60], text) for name, text in value.items()}

    def _timeout(self) -> float:
        """Return the time limit in seconds; the file has milliseconds."""
        value = self._entry.get("timeout")
        if value is None:
            return DEFAULT_TIMEOUT
        if isinstance(value, bool) or not isinstance(value, int | float) or not 100 <= value <= 86_400_000:
            raise self._named.error("timeout", "expected milliseconds from 100 to 86400000")
        return value / 1000

    def _oauth(self) -> OAuth | bool:
        value = self._entry.get("oauth")
        if value is None or isinstance(value, bool):
            return value is not False
        if not isinstance(value, dict):
            raise self._named.error("oauth", "expected an object")
        if "authServerMetadataUrl" in value:
            raise self._named.error("oauth.authServerMetadataUrl", "not supported")
        client, port, scopes = (
            value.get("clientId", ""),
            value.get("callbackPort", 0),
            value.get("scopes", ""),
        )
        if not isinstance(client, str):
            raise self._named.error("oauth.clientId", "expected a string")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise self._named.error("oauth.callbackPort", "expected a port")
        if not isinstance(scopes, str):
            raise self._named.error("oauth.scopes", "expected a string of scopes separated by spaces")
        return OAuth(client, port, tuple(scopes.split()))
