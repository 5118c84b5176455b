"""Calling code of the user's: whatever it raises becomes one error that says so and can't end the program."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class ForeignFailed(Exception):
    """The user's code raised; the text says what."""


def called(function: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
    """What the function gives. Raises ForeignFailed for whatever it raises."""
    try:
        return function(*given, **more)
    except Exception as error:
        raise ForeignFailed(f"{type(error).__name__}: {error}") from error
