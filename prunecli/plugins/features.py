"""Installs the features of prunecli: the folders of `prunecli/features`."""

from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter

from prunecli.plugins.app import App, Installed, Plugin

FOLDER = Path(__file__).parents[1] / "features"


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
