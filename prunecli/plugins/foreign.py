"""Imports and calls code that is not ours, so that neither an exception nor a hang of it ends the program."""

import importlib
import sys
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from threading import Thread
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from zlib import crc32

import prunecli
from prunecli.util.errors import PrunecliError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from importlib import util
else:
    util = lazy("importlib.util")

P = ParamSpec("P")
R = TypeVar("R")
_NOT_THEIRS = {Path(module.__file__ or "").parent for module in (prunecli, importlib)}


class ForeignFailed(Exception):
    """Code of the user or of a plugin raised an exception or took too long; the text describes it."""


class TookTooLong(ForeignFailed):
    """The code took longer than its time limit."""


def called(function: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
    """Call the function and return its result. Raises ForeignFailed for any exception."""
    try:
        return function(*given, **more)
    except Exception as error:
        raise ForeignFailed(described(error)) from error


def begun(function: Callable[[], R]) -> "Future[R]":
    """Call the function in a thread that does not keep the program alive. The future may hold a ForeignFailed."""
    future = Future[R]()
    future.set_running_or_notify_cancel()  # so that nobody cancels it before it has a result

    def run() -> None:
        try:
            result = function()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the future raises it
            with suppress(InvalidStateError):  # nobody waits any more
                future.set_exception(ForeignFailed(described(error)))
        else:
            with suppress(InvalidStateError):
                future.set_result(result)

    Thread(target=run, name="plugin", daemon=True).start()
    return future


def bounded(function: Callable[[], R], seconds: float) -> R:
    """Call the function and return its result. Raises ForeignFailed for any exception, and after this time; the
    function then goes on in its thread, and its result is dropped."""
    try:
        return begun(function).result(seconds)
    except TimeoutError:
        raise TookTooLong(f"took longer than {seconds:g} s") from None


def import_file(path: Path, data: bytes | None = None) -> ModuleType:
    """Import a module from a file, once per process. With `data`, its content is this and not what the file holds by
    now."""

    mark = crc32(str(path).encode("utf-8", "replace") + (data or b""))
    module_name = f"prunecli_user_{path.stem}_{mark:08x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = util.module_from_spec(spec)
    sys.modules[module_name] = module  # creating a frozen slotted dataclass looks up its module
    try:
        if data is None:
            spec.loader.exec_module(module)
        else:
            exec(compile(data, path, "exec"), vars(module))  # noqa: S102  # the user approved exactly this
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def described(error: BaseException) -> str:
    """Return what foreign code raised, in one line, and where."""
    said = error.message if isinstance(error, PrunecliError) else f"{type(error).__name__}: {error}"
    return said + _where(error)


def _where(error: BaseException) -> str:
    """Return the last line of foreign code in the traceback; "" if it never ran."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename[:1] != "<"]
    theirs = [frame for frame in frames if _NOT_THEIRS.isdisjoint(Path(frame.filename).parents)]
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
