"""Installs the plugins that were found, beside the features. One that fails or hangs is off; everything goes on."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, TypeAlias

from prunecli.plugins.app import App, Brought, Installed, Plugin, PluginError, resolved
from prunecli.plugins.discovery import Found
from prunecli.plugins.features import features
from prunecli.plugins.foreign import ForeignFailed, bounded, import_file
from prunecli.util.sanitize import one_line

INSTALL_SECONDS = 2.0
DISABLED, WAITS = "disabled", "waits for your approval"
PART = "prunecli.runtime.plugin_part:PluginPart"
"""What a runtime has of all plugins together, if one of them brings something that acts in a session."""

Examine: TypeAlias = Callable[[str, Brought], Brought]
"""Returns what a plugin brought of a kind, loaded if the start needs it. Raises anything if it is malformed."""


@cache
def install(
    found: tuple[Found, ...],
    off: frozenset[str],
    waiting: frozenset[Found],
    examine: Examine,
    seconds: float = INSTALL_SECONDS,
) -> Installed:
    """Return what the features and these plugins bring. Those in `off` bring nothing, and neither do those that wait
    for approval; their code does not run."""
    if not (found or off):
        return features()
    installed = Installed(features().plugins, off)
    installed.take(features())
    for at, plugin in enumerate(installed.plugins):
        if plugin.name in off:
            installed.plugins[at] = replace(plugin, off=DISABLED)
    for one in found:
        plugin = Plugin(one.name, one.kind, one.source)
        if one.name in off:
            plugin = replace(plugin, off=DISABLED)
        elif one in waiting:
            plugin = replace(plugin, off=WAITS)
        else:
            plugin = _add(installed, plugin, one, examine, seconds)
        installed.plugins.append(plugin)
    unknown = sorted(off.difference(plugin.name for plugin in installed.plugins))
    installed.problems += [f"plugins.disabled: there is no plugin named {name!r}." for name in unknown]
    return installed


def _add(installed: Installed, plugin: Plugin, found: Found, examine: Examine, seconds: float) -> Plugin:
    own, ms, failed = _alone(found, examine, seconds)
    try:
        if failed:
            raise PluginError(failed)
        if any(one.name == plugin.name for one in installed.plugins):
            raise PluginError("there is another plugin of this name")
        installed.take(own)
    except PluginError as error:
        why = one_line(error.message)
        installed.problems.append(f"Plugin {plugin.name}: {why}. It is off.")
        return replace(plugin, ms=ms, off=f"failed: {why}")
    if PART not in [one.target for one in installed.known("part").values()] and any(_acting(own)):
        installed.file("part", Brought("", "plugins", PART, {}))
    return replace(plugin, ms=ms)


def _acting(own: Installed) -> Iterator[Brought]:
    for kind in ("moment", "notices", "status"):
        yield from own.of(kind).values()


@cache
def _alone(found: Found, examine: Examine, seconds: float) -> tuple[Installed, float, str]:
    """Install one plugin by itself, once per process. Returns what it brought, the ms, and why it failed."""
    own, began, failed = Installed(), perf_counter(), ""
    app = App(found.name, own)
    try:
        kept = bounded(lambda: _brought(found, app, own, examine), seconds)
    except ForeignFailed as error:
        kept, failed = Installed(), str(error)
    finally:
        app.close()
    return kept, (perf_counter() - began) * 1000, failed


def _brought(found: Found, app: App, own: Installed, examine: Examine) -> Installed:
    path = Path(found.target)
    into = resolved(found.target) if found.kind == "package" else import_file(path, found.data or None)
    if found.kind == "tool":
        _install_tools(app, into)
    elif callable(function := getattr(into, "install", into)):
        function(app)
    else:
        raise PluginError("it defines no install(app)")
    checked = Installed()
    for kind, one in own.each():
        checked.file(kind, examine(kind, one))
    return checked


def _install_tools(app: App, module: ModuleType) -> None:
    """File the tools that a module defines: its classes with a name, an Input and a method `run`."""
    mine: Iterator[Any] = (each for each in vars(module).values() if isinstance(each, type))
    mine = (each for each in mine if each.__module__ == module.__name__)
    found = [each for each in mine if all(hasattr(each, part) for part in ("name", "Input", "run"))]
    if not found:
        raise PluginError("it defines no tool: a class with name, description, Input and run")
    for each in found:
        app.tool(each)
