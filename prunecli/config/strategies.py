"""The pruning strategies and their options. A file's name is the strategy's name.

Listing imports nothing; a module is imported when its options are needed. Every exception of the user's code becomes
a ForeignFailed, so it cannot end the program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from prunecli.plugins.app import Brought
from prunecli.plugins.foreign import ForeignFailed, called, import_file
from prunecli.util.errors import ConfigError
from prunecli.util.paths import PACKAGE, Places, names_in

AUTO = "auto"
"""The default policy: always a valid name, with or without a file."""

Importer = Callable[[str], ModuleType]
"""A function from a strategy's name to its module."""


@dataclass(frozen=True)
class NoOptions:
    """The empty options of a strategy that declares none."""


class StrategyFolder(NamedTuple):
    """A folder of strategies, each in a file NAME.py: `shipped` with prunecli, or the user's code."""

    path: Path
    importer: Importer
    shipped: bool = False


class Strategies(NamedTuple):
    """All strategies: those of folders, and those that plugins brought. If two have the same name, the earlier folder
    wins, and then the plugin."""

    folders: tuple[StrategyFolder, ...] = ()
    brought: Mapping[str, Brought] = MappingProxyType({})

    @staticmethod
    def of(places: Places) -> "Strategies":
        users = places.user_strategies
        own = StrategyFolder(users, lambda name: import_file(users / f"{name}.py"))
        return Strategies((*shipped_strategies(places.package).folders, own))

    def only_shipped(self) -> "Strategies":
        """Return the strategies that run no user code; project files may only name these."""
        return Strategies(tuple(folder for folder in self.folders if folder.shipped))

    def names(self) -> tuple[str, ...]:
        """Return the names of all strategies, found without importing any."""
        found = [name for folder in self.folders for name in names_in(folder.path, ".py")]
        return tuple(dict.fromkeys((AUTO, *found, *self.brought)))

    def has_module(self, name: str) -> bool:
        """Return whether there is anything of the name (`auto` may have none)."""
        return name in self.brought or any(name in names_in(folder.path, ".py") for folder in self.folders)

    def module(self, name: str) -> Any:
        """Import a strategy's module. Raises ConfigError if it is missing or fails to import."""
        for folder in self.folders:
            if name in names_in(folder.path, ".py"):
                try:
                    module = called(folder.importer, name)
                except ForeignFailed as error:
                    raise ConfigError(
                        f"cannot import {folder.path / name}.py: {error}",
                        "fix the file or move it away",
                    ) from error
                if not callable(getattr(module, "propose", None)):
                    raise ConfigError(
                        f"{folder.path / name}.py: no function propose(view, options)",
                        "define it, or move the file away",
                    )
                return module
        if name in self.brought:
            return self._of_plugin(self.brought[name])
        raise ConfigError(f"no strategy named {name!r}", f"choose from {', '.join(self.names())}")

    def _of_plugin(self, one: Brought) -> Any:
        """Return what a plugin brought: a module or class with `propose`, or the function itself."""
        try:
            found = called(one.load)
        except ForeignFailed as error:
            raise ConfigError(
                f"cannot import the strategy {one.name} of plugin {one.owner}: {error}",
                "fix the plugin, or choose another strategy",
            ) from error
        return found if hasattr(found, "propose") else SimpleNamespace(propose=found)

    def sentence(self, name: str) -> str:
        """Return what a strategy does, by the first line of its module's docstring, and in brackets where it comes
        from. For a module that cannot be imported, return why."""
        try:
            doc = (self.module(name).__doc__ or "") if self.has_module(name) else ""
        except ConfigError as error:
            return error.message
        line = doc.strip().partition("\n")[0].removeprefix(name).strip(" :")
        origin, _, text = line.removeprefix("(").partition("): ") if line.startswith("(") else ("", "", line)
        text = f"{text[:1].upper()}{text[1:]}"
        return f"{text.removesuffix('.')} ({origin})." if origin else text

    def options_class(self, name: str) -> type:
        """Return the strategy's `Options`; `NoOptions` if it declares none or if `auto` has no file."""
        if name == AUTO and not self.has_module(name):
            return NoOptions
        found: type = getattr(self.module(name), "Options", NoOptions)
        return found


def shipped_strategies(package: Path = PACKAGE) -> Strategies:
    return Strategies((StrategyFolder(package / "context" / "strategies", import_shipped, shipped=True),))


def import_shipped(name: str) -> ModuleType:
    return import_module(f"prunecli.context.strategies.{name}")
