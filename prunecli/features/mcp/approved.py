"""The MCP servers of a directory: the user's from config.toml, the project's from `.mcp.json`.

A project's file is read once its directory is trusted. Each of its servers needs another approval, which is bound to
its exact definition. The user's server takes precedence over a project's server of the same name, so rules that name
it apply to it alone.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from prunecli.config.claude_plugins import usable
from prunecli.config.effective import Config
from prunecli.features.mcp.definition import Definition, OAuth
from prunecli.features.mcp.mcp_json import FILE, MAX_BYTES, Found, read_servers
from prunecli.features.mcp.options import McpServer
from prunecli.safety.approvals import Approvals
from prunecli.safety.project_settings import down_to, is_empty_folder, leads_outside
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from prunecli.util.regular import open_regular


class Servers(NamedTuple):
    """The servers by their approval state, sorted by name. `problems` are one line each.

    `usable` servers may run unless they are disabled. `waiting` are a project's servers whose current definition the
    user has not approved.
    """

    usable: tuple[Definition, ...] = ()
    waiting: tuple[Definition, ...] = ()
    problems: tuple[str, ...] = ()


class McpDefinitions:
    """The servers of one directory. They are read again at each call, since a file may change at any time."""

    def __init__(self, places: Places, cwd: Path) -> None:
        self._places = places
        self._cwd = cwd
        self._root = down_to(cwd)[0]
        self._approvals = Approvals(places.approvals_file)

    def current(self, config: Config, *, trusted: bool) -> Servers:
        """Return the servers currently defined in the files. Raises nothing."""
        problems, own = list[str](), dict[str, Definition]()
        for name, options in config.section("mcp").items():
            try:
                own[name] = self._own(name, options, config, trusted=trusted)
            except ConfigError as error:
                problems.append(_line(error))
        project = dict[str, Definition]()
        for found in self._project_files() if trusted else ():
            problems += found.problems
            project |= {definition.name: definition for definition in found.definitions}
        for name in sorted(own.keys() & project.keys()):
            problems.append(
                f"{project.pop(name).origin}: {name}: ignored, config.toml has a server of this name"
            )
        for found in self._plugins(config):
            problems += found.problems
            own = {one.name: one for one in found.definitions if one.name not in project} | own
        approved = {name for name, one in project.items() if self._approved(one)}
        if trusted and project and (problem := self._approvals.problem):
            problems.append(problem)
        usable = own | {name: project[name] for name in approved}
        waiting = {name: one for name, one in project.items() if name not in approved}
        return Servers(_sorted(usable), _sorted(waiting), tuple(problems))

    def approve(self, definition: Definition) -> None:
        """Let a project's server run with this definition. Raises ConfigError."""
        self._approvals.approve(self._root, "mcp", definition.name, definition.to_json())

    def revoke(self, name: str) -> bool:
        """Revoke an approval; return whether there was one. Raises ConfigError."""
        return self._approvals.revoke(self._root, "mcp", name)

    def _approved(self, definition: Definition) -> bool:
        return self._approvals.has(self._root, "mcp", definition.name, definition.to_json())

    def _own(self, name: str, options: McpServer, config: Config, *, trusted: bool) -> Definition:
        """Return the definition of a server in config.toml. Raises ConfigError."""
        key = "command" if options.command else "url"
        login = options.oauth
        made = Definition(
            name,
            "stdio" if options.command else options.transport,
            command=options.command,
            args=options.args,
            env=options.env,
            cwd=options.cwd,
            url=options.url,
            headers=options.headers,
            oauth=OAuth(login.client_id, login.callback_port, login.scopes) if login.enabled else False,
            enabled=options.enabled,
            timeout=options.timeout,
            origin=config.origin(f'mcp."{name}".{key}'),
        )
        made.check()
        if options.command and not options.cwd and not trusted:
            # npx, python -m and others find programs in the directory that they start in.
            return replace(made, cwd=str(self._places.home))
        return made

    def _plugins(self, config: Config) -> Iterator[Found]:
        """Yield the servers of Claude Code's plugins, which the user approved with them."""
        for plugin in usable(self._places, config.plugins.disabled):
            try:
                data = plugin.servers()
            except ConfigError as error:
                yield Found(problems=(_line(error),))
                continue
            yield read_servers(data, self._cwd, f"plugin {plugin.name}", str(plugin.root))

    def _project_files(self) -> Iterator[Found]:
        for folder in down_to(self._cwd):
            path = folder / FILE
            if os.path.lexists(path) and not leads_outside(path, self._cwd):
                shown = os.path.relpath(path, self._cwd)
                try:
                    with open_regular(path) as file:
                        yield read_servers(file.read(MAX_BYTES + 1), folder, shown)
                except OSError as error:
                    if not is_empty_folder(path):
                        yield Found(problems=(f"{shown}: {error.strerror or error}",))


def _sorted(servers: Mapping[str, Definition]) -> tuple[Definition, ...]:
    return tuple(servers[name] for name in sorted(servers))


def _line(error: ConfigError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
