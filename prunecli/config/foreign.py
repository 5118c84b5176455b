"""Calling code of the user's: whatever it raises becomes one error that says so and can't end the program."""

import importlib
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import ParamSpec, TypeVar

import prunecli

P = ParamSpec("P")
R = TypeVar("R")


_NOT_THEIRS = {Path(module.__file__ or "").parent for module in (prunecli, importlib)}


class ForeignFailed(Exception):
    """The user's code raised; the text says what."""


def called(function: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
    """What the function gives. Raises ForeignFailed for whatever it raises."""
    try:
        return function(*given, **more)
    except Exception as error:
        raise ForeignFailed(f"{type(error).__name__}: {error}{_where(error)}") from error


def _where(error: Exception) -> str:
    """The last line of theirs that it came through; "" where their code had not begun."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename[:1] != "<"]
    theirs = [frame for frame in frames if _NOT_THEIRS.isdisjoint(Path(frame.filename).parents)]
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
