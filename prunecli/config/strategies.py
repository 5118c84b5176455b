"""The pruning strategies and their options. A file's name is the strategy's name.

Listing imports nothing; a module is imported when its options are needed. Every exception of the user's code becomes
a ForeignFailed, so it cannot end the program.
"""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import NamedTuple, ParamSpec, TypeVar
from zlib import crc32

import prunecli
from prunecli.util.errors import ConfigError
from prunecli.util.paths import PACKAGE, Places, names_in

AUTO = "auto"
"""The default policy: always a valid name, with or without a file."""

P = ParamSpec("P")
R = TypeVar("R")
_NOT_THEIRS = {Path(module.__file__ or "").parent for module in (prunecli, importlib)}

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
    """All strategies. If two have the same name, the earlier folder wins."""

    folders: tuple[StrategyFolder, ...] = ()

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
        return tuple(dict.fromkeys((AUTO, *found)))

    def has_module(self, name: str) -> bool:
        """Return whether a file exists for the name (`auto` may have none)."""
        return any(name in names_in(folder.path, ".py") for folder in self.folders)

    def module(self, name: str) -> ModuleType:
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
        raise ConfigError(f"no strategy named {name!r}", f"choose from {', '.join(self.names())}")

    def options_class(self, name: str) -> type:
        """Return the strategy's `Options`; `NoOptions` if it declares none or if `auto` has no file."""
        if name == AUTO and not self.has_module(name):
            return NoOptions
        found: type = getattr(self.module(name), "Options", NoOptions)
        return found


def shipped_strategies(package: Path = PACKAGE) -> Strategies:
    return Strategies((StrategyFolder(package / "context" / "strategies", import_shipped, shipped=True),))


def import_shipped(name: str) -> ModuleType:
    from importlib import import_module  # not needed if no strategy is named

    return import_module(f"prunecli.context.strategies.{name}")


def import_file(path: Path) -> ModuleType:
    """Import a strategy's module from a file, once per process."""
    from importlib.util import module_from_spec, spec_from_file_location

    module_name = f"prunecli_user_strategy_{path.stem}_{crc32(str(path).encode('utf-8', 'replace')):08x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[module_name] = module  # creating a frozen slotted dataclass looks up its module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


class ForeignFailed(Exception):
    """The user's code raised an exception; the text describes it."""


def called(function: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
    """Call the function and return its result. Raises ForeignFailed for any exception."""
    try:
        return function(*given, **more)
    except Exception as error:
        raise ForeignFailed(f"{type(error).__name__}: {error}{_where(error)}") from error


def _where(error: Exception) -> str:
    """Return the last line of the user's code in the traceback; "" if it never ran."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename[:1] != "<"]
    theirs = [frame for frame in frames if _NOT_THEIRS.isdisjoint(Path(frame.filename).parents)]
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
