"""Installs the features of prunecli: the folders of `prunecli/features`. Hints ask here what there is."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter

from prunecli.plugins.app import App, Installed, Plugin

FOLDER = Path(__file__).parents[1] / "features"
_COMMANDS = FOLDER.parent / "commands"
_NAMED = re.compile(r"(?<![^\s(`])/([a-z][a-z-]*)")


@cache
def features() -> Installed:
    """Return what the features bring. A folder that is not there leaves no trace."""
    installed = Installed()
    for name in feature_names():
        began = perf_counter()
        import_module(f"prunecli.features.{name}").install(App(name, installed))
        installed.plugins.append(Plugin(name, "feature", "prunecli", (perf_counter() - began) * 1000))
    return installed


def feature_names() -> tuple[str, ...]:
    """Return the features in the order of their installation."""
    order: tuple[str, ...] = import_module("prunecli.features").ORDER
    there = {path.name for path in FOLDER.iterdir() if (path / "__init__.py").is_file()}
    return (*(name for name in order if name in there), *sorted(there.difference(order)))


def has_command(name: str, installed: Installed | None = None) -> bool:
    """Return whether prunecli or a feature has this slash command."""
    own = _COMMANDS / f"{name.replace('-', '_')}.py"
    return name in (installed or features()).of("command") or own.is_file()


def available(hint: str, installed: Installed | None = None) -> str:
    """Return a hint without its clauses, between "; " or " · ", that name a slash command that is not there."""
    parts = ["", *re.split(r"(; | · )", hint)]
    kept = [pair for pair in zip(parts[::2], parts[1::2], strict=True) if _are_there(pair[1], installed)]
    return "".join(joint * (at > 0) + text for at, (joint, text) in enumerate(kept))


def _are_there(clause: str, installed: Installed | None) -> bool:
    return all(has_command(name, installed) for name in _NAMED.findall(clause))
