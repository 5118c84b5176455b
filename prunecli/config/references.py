"""Functions of the user's that an option names as "package.module:name".

They are imported when they are first called, so that a start waits for none and a broken one can't prevent it.
What they raise becomes FunctionFailed, which a strategy answers with no proposal (PRUNING.md section 10).
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from prunecli.config.effective import Config
from prunecli.context.strategy import Chosen, FunctionFailed


class Reference:
    """The function behind "package.module:name"; `option` is the dotted key that names it. Called like it."""

    def __init__(self, text: str, option: str) -> None:
        self._text = text
        self._option = option

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives. Raises FunctionFailed for whatever it raises, and where there is none."""
        try:
            return self._function()(*arguments)
        except FunctionFailed:
            raise
        except Exception as error:
            where = f"{self._option} ({self._text})"
            hint = f"mend it, or set {self._option} to nothing"
            raise FunctionFailed(f"{where}: {type(error).__name__}: {error}", hint) from error

    def _function(self) -> Callable[..., Any]:
        module, _, name = self._text.partition(":")
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        if not callable(found):
            raise FunctionFailed(f"{self._option} ({self._text}): is no function")
        function: Callable[..., Any] = found
        return function


def functions_of(name: str, module: ModuleType, options: Any) -> Mapping[str, Callable[..., Any]]:
    """The functions that the options of strategy `name` refer to, by option; its module's FUNCTIONS says which
    options do."""
    declared: tuple[str, ...] = getattr(module, "FUNCTIONS", ())
    texts = {option: getattr(options, option) for option in declared}
    return {option: Reference(text, f"pruning.{name}.{option}") for option, text in texts.items() if text}


def chosen(config: Config, name: str) -> Chosen:
    """A strategy with its options in effect and the functions that they name. Raises ConfigError for an unknown
    strategy, or one that can't be imported."""
    module, options = config.strategies.module(name), config.strategy_options(name)
    return Chosen(name, module, options, functions_of(name, module, options))
