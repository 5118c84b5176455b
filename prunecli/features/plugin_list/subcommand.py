"""`prunecli plugins`: what is installed; plugins of Claude Code are added, updated and removed here."""

import json
import os
import sys
from shutil import rmtree
from typing import Annotated

import typer

from prunecli.cli.shared import configured, group
from prunecli.config.claude_plugins import ClaudePlugin, installed
from prunecli.features.plugin_list import adding
from prunecli.features.plugin_list.listing import HEADINGS, all_rows, as_json
from prunecli.util.errors import ConfigError, UsageError
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line

app = group("List plugins and features; add, update and remove plugins of Claude Code.")
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Approve without asking.")]


@app.callback()
def plugins() -> None:
    """List plugins and features; add, update and remove plugins of Claude Code."""


@app.command("list")
def list_(
    ctx: typer.Context,
    as_lines: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List plugins and features: where each comes from, what it brings, and why it is off."""
    config, places = configured(ctx), Places.of(os.environ)
    if as_lines:
        typer.echo(json.dumps(as_json(places, config), indent=1))
        return
    lines = [HEADINGS, *all_rows(places, config)]
    widths = [max(len(one_line(row[at])) for row in lines) for at in range(4)]
    for row in lines:
        cells = [one_line(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, f"{one_line(row[4])}  ({one_line(row[5])})"]).rstrip())


@app.command("add")
def add(
    source: Annotated[str, typer.Argument(help="A folder, or the address of a git repository.")],
    name: Annotated[str, typer.Argument(help="The plugin, where the source is a marketplace.")] = "",
    yes: Yes = False,
) -> None:
    """Install a plugin of Claude Code after showing what it brings and runs. Python plugins come with pip."""
    with adding.fetched(source, name) as found:
        _install(found, yes=yes)


@app.command("update")
def update(name: Annotated[str, typer.Argument(help="The plugin.")], yes: Yes = False) -> None:
    """Fetch a plugin of Claude Code again, and install it if it changed and you approve it."""
    known = _known(name)
    with adding.fetched(known.source, known.entry) as found:
        if found.digest == known.digest and known.is_unchanged:
            typer.echo(f"{name} has not changed.")
            return
        _install(found, yes=yes)
        if found.name != known.name:
            adding.remove(Places.of(os.environ), known)
        elif found.digest != known.digest:
            rmtree(known.root, ignore_errors=True)


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(help="The plugin.")]) -> None:
    """Remove an installed plugin of Claude Code."""
    adding.remove(Places.of(os.environ), _known(name))
    typer.echo(f"Removed {name}. Running sessions keep it until they end.")


def _install(found: adding.Candidate, *, yes: bool) -> None:
    version = f" {one_line(found.version)}" if found.version else ""
    commit = f", commit {found.commit[:12]}" if found.commit else ""
    typer.echo(f"{found.name}{version} from {one_line(found.source)}{commit}, content {found.digest[:12]}")
    for line in found.lines():
        typer.echo(f"  {line}")
    question = "Hooks and servers run with your permissions, outside the sandbox. Install it?"
    if not yes and not (sys.stdin.isatty() and typer.confirm(question)):
        raise UsageError("not installed: it was not approved", "approve it in a terminal, or with --yes")
    adding.install(Places.of(os.environ), found)
    typer.echo(f"Installed {found.name}. New sessions have it.")


def _known(name: str) -> ClaudePlugin:
    plugins = installed(Places.of(os.environ))
    found = next((one for one in plugins if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in plugins) or "none"
        raise ConfigError(f"no plugin {name!r} of Claude Code is installed", f"installed: {names}")
    return found
