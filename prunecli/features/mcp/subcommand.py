"""`prunecli mcp`: add, list and remove servers, with the words of Claude Code."""

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import asked_before, configured, group
from prunecli.features.mcp.adding import KNOWN_KEYS, Files, Scope
from prunecli.features.mcp.approved import McpDefinitions
from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.login import login_of
from prunecli.features.mcp.mcp_json import parse_json
from prunecli.features.mcp.starting import explain, literal_secrets, masked_url
from prunecli.safety.trust import TrustStore
from prunecli.util.errors import ConfigError, UsageError
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line

app = group("Add, list and remove MCP servers.")
NONE = "no MCP servers: prunecli mcp add NAME -- COMMAND, or prunecli mcp add --transport http NAME URL"

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The server's name.")]
_InScope = Annotated[
    Scope,
    typer.Option("--scope", "-s", help="user: in all directories. project: in .mcp.json, for everybody."),
]


@app.callback()
def mcp() -> None:
    """Add, list and remove MCP servers."""


@app.command("add")
def add(
    ctx: typer.Context,
    name: _Name,
    target: Annotated[
        list[str],
        typer.Argument(metavar="URL|COMMAND", help="Its URL; or, after --, a command with arguments."),
    ],
    transport: Annotated[
        str,
        typer.Option(
            "--transport", "-t", help="stdio, http or sse; default: what fits.", metavar="TRANSPORT"
        ),
    ] = "",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="KEY=VALUE", help="Set a variable; can be repeated."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="'NAME: VALUE'", help="Send a header; can be repeated."),
    ] = None,
    scope: _InScope = Scope.USER,
) -> None:
    """Add a server: NAME URL, or NAME -- COMMAND ARGUMENTS."""
    first, *rest = target
    remote = transport not in ("", "stdio") or (not transport and first.startswith(("http://", "https://")))
    if remote and rest:
        raise UsageError(f"expected one URL, got {len(target)} words", "for a command: NAME -- COMMAND")
    if env and remote:
        raise UsageError("--env: a server at a URL has no environment", "use --header")
    if header and not remote:
        raise UsageError("--header: a server that is run gets no headers", "use --env, or a URL")
    entry: dict[str, Any] = (
        {"type": transport or "http", "url": first}
        if remote
        else {"type": "stdio", "command": first, "args": rest}
    )
    if env:
        entry["env"] = dict(_pairs(env, "--env", "=", "KEY=VALUE"))
    if header:
        entry["headers"] = dict(_pairs(header, "--header", ":", "'NAME: VALUE'"))
    _added(ctx, scope, name, entry)


@app.command("add-json")
def add_json(
    ctx: typer.Context,
    name: _Name,
    text: Annotated[str, typer.Argument(metavar="JSON", help="Its entry, as in .mcp.json.")],
    scope: _InScope = Scope.USER,
) -> None:
    """Add a server from JSON, as its documentation gives it."""
    entry = parse_json(text.encode(errors="surrogateescape"), "JSON")
    if not isinstance(entry, dict):
        raise UsageError(
            "JSON: expected an object", """for example '{"command": "npx", "args": ["-y", "server"]}'"""
        )
    _added(ctx, scope, name, entry)


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List the servers of this directory."""
    here = _Here(ctx)
    rows = [(one.name, here.state(one), _target(one), one.origin) for one in here.servers]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(2)]
    for name, state, target, origin in rows:
        line = f"{name.ljust(widths[0])}  {state.ljust(widths[1])}  {target}  ({origin})"
        typer.echo(one_line(line))
    if not (rows or here.found.problems):
        typer.echo(NONE)
    here.tell_problems()


@app.command("get")
def get(ctx: typer.Context, name: _Name) -> None:
    """Show one server."""
    _Here(ctx).show(name)


@app.command("remove")
def remove(
    ctx: typer.Context,
    name: _Name,
    scope: Annotated[
        Scope | None, typer.Option("--scope", "-s", help="Where it is, if both scopes have it.")
    ] = None,
) -> None:
    """Remove a server, its login and its approval."""
    here = _Here(ctx)
    place = here.files.remove(scope, name)
    typer.echo(f"removed {one_line(name)} from {one_line(place)}")
    here.definitions.revoke(name)
    for one in here.servers:
        if one.name == name and one.url:
            try:
                address = Definition(name, one.transport, url=one.url).expanded(os.environ)
                login_of(here.places, address).forget()
            except ConfigError as error:
                typer.echo(f"If you logged in to it, that login is kept: {one_line(error.message)}")


class _Here:
    """The servers of the working directory, as they are now. They are only shown, so trust is a word in the list."""

    def __init__(self, ctx: typer.Context) -> None:
        self.places, self.cwd = Places.of(os.environ), working_directory()
        self.config = configured(ctx)
        self._trusted = asked_before(ctx).trust or TrustStore(self.places.trust_store).may_act(self.cwd)
        self.files = Files(self.places, self.cwd, self.config)
        self.definitions = McpDefinitions(self.places, self.cwd)
        self.found = self.definitions.current(self.config, trusted=True)
        self.servers = (*self.found.usable, *self.found.waiting)

    def state(self, one: Definition) -> str:
        if one.name in self.config.section("mcp"):
            return "on" if one.enabled else "off"
        if not self._trusted:
            return "needs trust"
        return "needs approval" if one in self.found.waiting else "on"

    def show(self, name: str) -> None:
        """Print a server and what keeps it from running. Raises ConfigError if there is none of this name."""
        one = next((one for one in self.servers if one.name == name), None)
        self.tell_problems()
        if one is None:
            raise ConfigError(f"no MCP server named {name!r} here", self.files.known)
        state = self.state(one)
        way_out = ": start prunecli here" if state.startswith("needs") else ""
        typer.echo(f"{one_line(name)}: {state}{way_out}, from {one_line(one.origin)}")
        try:
            lines = [*explain(one, os.environ)]
        except ConfigError as error:
            lines = [_target(one), f"{error.message}: {error.hint}"]
        for line in lines:
            typer.echo(one_line(line))
        if literal := ", ".join(literal_secrets(one)):
            typer.echo(f"Written out in the file: {literal}. To keep it out, give '${{VARIABLE}}' instead.")

    def tell_problems(self) -> None:
        for problem in self.found.problems:
            typer.echo(one_line(problem), err=True)


def _added(ctx: typer.Context, scope: Scope, name: str, entry: Mapping[str, Any]) -> None:
    made = _Here(ctx).files.add(scope, name, entry)
    typer.echo(f"added {one_line(name)} to {one_line(made.origin)}; in a running session: /reload")
    if more := ", ".join(sorted(entry.keys() - KNOWN_KEYS)):
        typer.echo(f"not used here: {one_line(more)}")
    _Here(ctx).show(name)


def _pairs(given: list[str], flag: str, sign: str, form: str) -> Iterator[tuple[str, str]]:
    for text in given:
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise UsageError(f"{flag}: expected {form}", "for a command: NAME -- COMMAND")
        yield name.strip(), value.strip() if sign == ":" else value


def _target(one: Definition) -> str:
    return masked_url(one.url) if one.url else " ".join((one.command, *one.args))
