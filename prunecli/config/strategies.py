"""Which pruning strategies there are, and what their options are: a file's name is the strategy's name.

Listing imports nothing; a strategy's module is imported when its options are needed.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from zlib import crc32

from prunecli.config.foreign import ForeignFailed, called
from prunecli.errors import ConfigError
from prunecli.paths import PACKAGE, Places, names_in

AUTO = "auto"
"""The default policy: always a strategy's name, whether or not it has a file of its own."""

Importer = Callable[[str], ModuleType]
"""A strategy's name -> its module."""


@dataclass(frozen=True)
class NoOptions:
    """The options of a strategy that has none."""


class StrategyFolder(NamedTuple):
    """A folder of strategies, NAME.py each. `shipped` ones came with the program, others are the user's code."""

    path: Path
    importer: Importer
    shipped: bool = False


class Strategies(NamedTuple):
    """All strategies. Of two with one name the one in the earlier folder counts."""

    folders: tuple[StrategyFolder, ...] = ()

    @staticmethod
    def of(places: Places) -> "Strategies":
        """The strategies that came with the program, then those of the user's folder."""
        users = places.user_strategies
        own = StrategyFolder(users, lambda name: import_file(users / f"{name}.py"))
        return Strategies((*shipped_strategies(places.package).folders, own))

    def only_shipped(self) -> "Strategies":
        """Those that run no code of the user's, which is what a project's file may name."""
        return Strategies(tuple(folder for folder in self.folders if folder.shipped))

    def names(self) -> tuple[str, ...]:
        """Every strategy's name, without an import."""
        found = [name for folder in self.folders for name in names_in(folder.path, ".py")]
        return tuple(dict.fromkeys((AUTO, *found)))

    def has_module(self, name: str) -> bool:
        """Whether a file stands behind the name (`auto` may be a name only)."""
        return any(name in names_in(folder.path, ".py") for folder in self.folders)

    def module(self, name: str) -> ModuleType:
        """The strategy's module, imported now. Raises ConfigError where there is none or it can't be imported."""
        for folder in self.folders:
            if name in names_in(folder.path, ".py"):
                try:
                    module = called(folder.importer, name)
                except ForeignFailed as error:
                    raise ConfigError(
                        f"{folder.path / name}.py: can't be imported: {error}",
                        "mend the file or move it away",
                    ) from error
                if not callable(getattr(module, "propose", None)):
                    raise ConfigError(
                        f"{folder.path / name}.py: defines no function propose(view, options)",
                        "define it, or move the file away",
                    )
                return module
        raise ConfigError(f"there is no strategy {name!r}", f"there are {', '.join(self.names())}")

    def options_class(self, name: str) -> type:
        """The strategy's `Options`; `NoOptions` where it declares none or `auto` has no file."""
        if name == AUTO and not self.has_module(name):
            return NoOptions
        found: type = getattr(self.module(name), "Options", NoOptions)
        return found


def shipped_strategies(package: Path = PACKAGE) -> Strategies:
    """The strategies that came with the program."""
    return Strategies((StrategyFolder(package / "context" / "strategies", import_shipped, shipped=True),))


def import_shipped(name: str) -> ModuleType:
    """A strategy's module of the package."""
    from importlib import import_module  # not for a start that names no strategy

    return import_module(f"prunecli.context.strategies.{name}")


def import_file(path: Path) -> ModuleType:
    """A strategy's module from a file, imported once in a process."""
    from importlib.util import module_from_spec, spec_from_file_location

    module_name = f"prunecli_user_strategy_{path.stem}_{crc32(str(path).encode('utf-8', 'replace')):08x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[module_name] = module  # a frozen slotted dataclass looks its module up while it is made
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
