"""Functions of the user's that an option names as "package.module:name".

They are imported when they are first called, so that a start waits for none and a broken one can't prevent it.
What they raise becomes FunctionFailed, which a strategy answers with no proposal (PRUNING.md section 10).
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from prunecli.config.effective import Config
from prunecli.config.foreign import ForeignFailed, called
from prunecli.context.strategy import Chosen, FunctionFailed, Proposal
from prunecli.context.view import View


class Reference:
    """The function behind "package.module:name"; `option` is the dotted key that names it. Called like it."""

    def __init__(self, text: str, option: str) -> None:
        self._text = text
        self._option = option

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives. Raises FunctionFailed for whatever it raises, and where there is none."""
        where = f"{self._option} ({self._text})"
        try:
            function = called(self._named)
            if not callable(function):
                raise FunctionFailed(f"{where}: is no function")
            return called(function, *arguments)
        except ForeignFailed as error:
            hint = f"mend it, or set {self._option} to nothing"
            raise FunctionFailed(f"{where}: {error}", hint) from error

    def _named(self) -> Any:
        module, _, name = self._text.partition(":")
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found


class OwnStrategy:
    """A strategy from the user's folder: what it raises and what it must not do become FunctionFailed."""

    def __init__(self, name: str, module: ModuleType, options: type) -> None:
        self._name = name
        self._module = module
        self.Options = options

    def propose(self, view: View, options: Any, **functions: Callable[..., Any]) -> Proposal:
        """What the strategy proposes, checked."""
        try:
            proposal = called(lambda: self._module.propose(view, options, **functions))
        except ForeignFailed as error:
            raise FunctionFailed(f"strategy {self._name}: {error}", "mend it, or choose another") from error
        if not isinstance(proposal, Proposal):
            raise FunctionFailed(
                f"strategy {self._name}: propose gave {type(proposal).__name__}, no Proposal"
            )
        for edit in proposal.edits:
            if wrong := view.forbids(edit):
                raise FunctionFailed(f"strategy {self._name}: {edit.kind} of entry {edit.seq}: {wrong}")
        return proposal


def functions_of(name: str, module: ModuleType, options: Any) -> Mapping[str, Callable[..., Any]]:
    """The functions that the options of strategy `name` refer to, by option; its module's FUNCTIONS says which
    options do."""
    declared: tuple[str, ...] = getattr(module, "FUNCTIONS", ())
    texts = {option: getattr(options, option) for option in declared}
    return {option: Reference(text, f"pruning.{name}.{option}") for option, text in texts.items() if text}


def import_own(config: Config) -> None:
    """Imports the user's own strategies among the configured ones, before anything depends on them. Raises
    ConfigError for one that can't be imported."""
    shipped = config.strategies.only_shipped().names()
    for name in config.pruning.strategies:
        if name not in shipped:
            config.strategies.module(name)


def chosen(config: Config, name: str) -> Chosen:
    """A strategy with its options in effect and the functions that they name. Raises ConfigError for an unknown
    strategy, or one that can't be imported."""
    module, options = config.strategies.module(name), config.strategy_options(name)
    own = not config.strategies.only_shipped().has_module(name)
    strategy = OwnStrategy(name, module, type(options)) if own else module
    functions = functions_of(name, module, options)
    return Chosen(name, strategy, options, functions, foreign=own or bool(functions))
