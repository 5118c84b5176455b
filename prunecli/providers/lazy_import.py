"""Imports a large package lazily: resolves the re-exports of its `__init__` files on first use.

The SDK's `__init__` files import 3,200 modules to re-export their names; a request needs a tenth of them. With this
hook, `from .mod import Name` in an `__init__.py` runs when Name is first used (PEP 562). If the source does not show
the origin of a name, the real `__init__` runs first, so no name is ever missing.
"""

import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

EAGER_SWITCH = "PRUNECLI_EAGER_SDK"
"""The environment variable that turns the hook off with "1"."""

_FROM = re.compile(r"^from (\.+\w[\w.]*) import (?:\(([^()]*)\)|([^(\\\n]+))$", re.MULTILINE)
_BOUND = re.compile(r"^(?:(?:async )?def |class )?(\w+)\s*[:=(\[]", re.MULTILINE)
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)


def wanted(environ: Mapping[str, str]) -> bool:
    """Return whether to use the hook: always, unless the switch is set."""
    return environ.get(EAGER_SWITCH) != "1"


def reexports(source: str) -> dict[str, tuple[str, str]]:
    """Map each name from a top-level `from .mod import ...` in an `__init__` to (relative module, name there).

    Names that the source also binds in another way are omitted, because their value depends on the order of
    execution.
    """
    names = {}
    for module, several, one in _FROM.findall(source):
        lines = "".join(line.partition("#")[0] for line in (several or one).split("\n"))
        for item in lines.split(","):
            name, _, alias = item.strip().partition(" as ")
            if name.isidentifier():
                names[alias.strip() or name] = (module, name)
    bound = set(_BOUND.findall(source))
    return {name: place for name, place in names.items() if name not in bound}


def submodules(folder: Path) -> frozenset[str]:
    """Return the names of the modules and packages in a package's folder."""
    return frozenset(
        entry.stem if entry.suffix == ".py" else entry.name
        for entry in folder.iterdir()
        if entry.suffix in ("", ".py") and entry.stem.isidentifier()
    )


Resolve: TypeAlias = Callable[[str], tuple[bool, Any]]
"""A function that resolves a name before the code of its module has run. Returns (whether it could, the value)."""


class _Postponed(SourceFileLoader):
    """A loader that runs a module's code on first use instead of on import, or at once if `resolver` returns None.

    It holds no lock, so two threads may both run the code. That is safe, because the import system guards imports,
    and an `__init__` of re-exports binds the same objects twice. A lock could deadlock with the import locks.
    """

    def __init__(
        self,
        fullname: str,
        path: str,
        resolver: "Callable[[_Postponed, ModuleType, str], Resolve | None]",
    ) -> None:
        super().__init__(fullname, path)
        self._resolver = resolver
        self._has_run = False
        self._running = threading.local()

    def exec_module(self, module: ModuleType) -> None:
        source = self.get_source(module.__name__) or ""
        resolve = self._resolver(self, module, source)
        if resolve is None:
            super().exec_module(module)
            return

        def __getattr__(name: str) -> Any:  # noqa: N807 (PEP 562 names it)
            found, value = resolve(name)
            if not found and (not name.startswith("__") or name == "__all__"):
                self.run(module)
                own = vars(module).get("__getattr__")
                if name not in vars(module) and own is not __getattr__ and own is not None:
                    return own(name)  # the package has its own `__getattr__`, which its code has just bound
                found, value = name in vars(module), vars(module).get(name)
            if not found:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return value

        vars(module)["__getattr__"] = __getattr__

    def run(self, module: ModuleType) -> None:
        """Run the module's code, unless it ran already or this thread is running it."""
        if self._has_run or getattr(self._running, "now", False):
            return
        self._running.now = True
        try:
            super().exec_module(module)
            self._has_run = True
        finally:
            self._running.now = False


def _of_reexports(loader: _Postponed, module: ModuleType, source: str) -> Resolve | None:
    """Return the resolver of a package whose `__init__` re-exports names; None if one is also a submodule's name."""
    names, modules = reexports(source), submodules(Path(loader.path).parent)
    if not modules.isdisjoint(names):
        return None
    bound = set(_BOUND.findall(source))

    def resolve(name: str) -> tuple[bool, Any]:
        if name in names:
            place, attribute = names[name]
            value = getattr(import_module(place, module.__name__), attribute)
            setattr(module, name, value)
            return True, value
        if name in modules and name not in bound:
            return True, import_module(f"{module.__name__}.{name}")
        return False, None

    return resolve


def _of_functions(loader: _Postponed, module: ModuleType, source: str) -> Resolve:
    """Return the resolver of a module of functions. Each function is replaced by a stand-in that runs the module when
    called."""
    functions = frozenset(_FUNCTION.findall(source))

    def resolve(name: str) -> tuple[bool, Any]:
        if name not in functions:
            return False, None

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            loader.run(module)
            return vars(module)[name](*args, **kwargs)

        return True, stand_in

    return resolve


class LazyPackages:
    """An entry of `sys.meta_path` for the packages with these names and the modules named in `functions`."""

    def __init__(self, roots: Iterable[str], functions: Iterable[str] = ()) -> None:
        self._roots = frozenset(roots)
        self._functions = frozenset(functions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyPackages) and (self._roots, self._functions) == (
            other._roots,
            other._functions,
        )

    def __hash__(self) -> int:
        return hash((self._roots, self._functions))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the path finder, with a lazy loader if one applies."""
        if fullname.partition(".")[0] not in self._roots:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        if spec.submodule_search_locations:
            spec.loader = _Postponed(fullname, spec.loader.path, _of_reexports)
        elif fullname in self._functions:
            spec.loader = _Postponed(fullname, spec.loader.path, _of_functions)
        return spec


def install(roots: Iterable[str], functions: Iterable[str] = ()) -> None:
    """Install the hook before all other finders, once. Already imported packages do not change."""
    hook = LazyPackages(roots, functions)
    if hook not in sys.meta_path:
        sys.meta_path.insert(0, hook)
