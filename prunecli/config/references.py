"""The user's functions, named in options as "package.module:name".

They are imported at the first call, so startup does not wait for them and a broken function cannot prevent it. Their
exceptions become FunctionFailed; the strategy then proposes nothing.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from prunecli.config.effective import Config
from prunecli.context.strategy import Chosen, FunctionFailed, Proposal
from prunecli.context.view import View
from prunecli.plugins.foreign import ForeignFailed, called


class Reference:
    """The function "package.module:name" of a dotted key (`option`). Called like the function itself."""

    def __init__(self, text: str, option: str) -> None:
        self._text = text
        self._option = option

    def __call__(self, *arguments: Any) -> Any:
        """Call the function. Raises FunctionFailed if it is missing or raises anything."""
        where = f"{self._option} ({self._text})"
        try:
            function = called(self._named)
            if not callable(function):
                raise FunctionFailed(f"{where}: not a function")
            return called(function, *arguments)
        except ForeignFailed as error:
            hint = f"fix it, or clear {self._option}"
            raise FunctionFailed(f"{where}: {error}", hint) from error

    def _named(self) -> Any:
        module, _, name = self._text.partition(":")
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found


class OwnStrategy:
    def __init__(self, name: str, module: ModuleType, options: type) -> None:
        self._name = name
        self._module = module
        self.Options = options

    def propose(self, view: View, options: Any, **functions: Callable[..., Any]) -> Proposal:
        try:
            proposal = called(lambda: self._module.propose(view, options, **functions))
        except ForeignFailed as error:
            raise FunctionFailed(
                f"strategy {self._name}: {error}", "fix it, or choose another strategy"
            ) from error
        if not isinstance(proposal, Proposal):
            raise FunctionFailed(
                f"strategy {self._name}: propose returned {type(proposal).__name__}, not Proposal"
            )
        for edit in proposal.edits:
            if wrong := view.forbids(edit):
                raise FunctionFailed(f"strategy {self._name}: cannot {edit.kind} entry {edit.seq}: {wrong}")
        return proposal


def functions_of(name: str, module: ModuleType, options: Any) -> Mapping[str, Callable[..., Any]]:
    """Return the functions in a strategy's options, by option name. Its module lists these options in FUNCTIONS."""
    declared: tuple[str, ...] = getattr(module, "FUNCTIONS", ())
    texts = {option: getattr(options, option) for option in declared}
    return {option: Reference(text, f"pruning.{name}.{option}") for option, text in texts.items() if text}


def import_own(config: Config) -> None:
    """Import the user's own strategies that are configured. Raises ConfigError if that fails.

    Fails early, before anything depends on them.
    """
    shipped = config.strategies.only_shipped().names()
    for name in config.pruning.strategies:
        if name not in shipped:
            config.strategies.module(name)


def chosen(config: Config, name: str) -> Chosen:
    """Return a strategy with its options in effect and their functions. For a configuration, the result is always the
    same object.

    Raises ConfigError for a strategy that is unknown or cannot be imported.
    """
    if name not in config.made:
        config.made[name] = _make(config, name)
    return config.made[name]


def _make(config: Config, name: str) -> Chosen:
    module, options = config.strategies.module(name), config.strategy_options(name)
    own = not config.strategies.only_shipped().has_module(name)
    strategy = OwnStrategy(name, module, type(options)) if own else module
    functions = functions_of(name, module, options)
    return Chosen(name, strategy, options, functions, foreign=own or bool(functions))
