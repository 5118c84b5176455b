"""Calls the user's code safely: every exception becomes a ForeignFailed, so it cannot end the program."""

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
    """The user's code raised an exception; the text describes it."""


def called(function: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
    """Call the function and return its result. Raises ForeignFailed for any exception."""
    try:
        return function(*given, **more)
    except Exception as error:
        raise ForeignFailed(f"{type(error).__name__}: {error}{_where(error)}") from error


def _where(error: Exception) -> str:
    """The last line of the user's code in the traceback; "" if it never ran."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename[:1] != "<"]
    theirs = [frame for frame in frames if _NOT_THEIRS.isdisjoint(Path(frame.filename).parents)]
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
