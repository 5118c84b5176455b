"""`python -m prunecli` and the executable. Starts the screen and headless runs without importing typer.

Nothing is imported before `main` can report that an import failed.
"""

import atexit
import os
import sys

from prunecli import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import NoReturn

COMPLETING = "_PRUNECLI_COMPLETE"
"""The environment variable that asks for shell completions."""
EXIT_MACHINE = 4
EXIT_DEFECT = 70
"""EX_SOFTWARE from sysexits.h, also after a defect of the screen."""


_SAID = set[str]()


def main() -> "NoReturn":
    """Run the command line and exit with its code."""
    sys.excepthook = in_one_line
    sys.unraisablehook = lambda failed: in_one_line(failed.exc_type, failed.exc_value, failed.exc_traceback)
    try:
        import threading

        from prunecli.cli.streams import hold_standard_streams

        threading.excepthook = lambda failed: in_one_line(
            failed.exc_type, failed.exc_value, failed.exc_traceback
        )
        hold_standard_streams()
        if not os.path.isdir(os.path.dirname(__file__)):
            from prunecli.util.unzipped import unpack

            unpack()
        code = run(sys.argv[1:], os.environ)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:  # noqa: BLE001  # no other place can report it
        code = in_one_line(type(error), error, error.__traceback__)
    end(code)


def in_one_line(
    kind: "type[BaseException]", error: "BaseException | None", trace: "TracebackType | None"
) -> int:
    """Report an exception that nothing has handled, and return the exit code.

    Imports nothing: an import may be what failed, or may wait for ever for the one that it interrupts.
    """
    error = error or kind()
    if isinstance(error, RuntimeError) and isinstance(error.__context__, OSError):
        error = error.__context__  # asyncio's own way to report it
    hint, code = "check the disk, its permissions and the limits (ulimit -a)\n", EXIT_MACHINE
    if isinstance(error, OSError) and error.filename:
        said = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError | MemoryError | ImportError) or "start new thread" in str(error):
        said = getattr(error, "strerror", None) or str(error) or "out of memory"
    elif isinstance(
        error, SystemError
    ):  # how a call of the interpreter ends that found no memory for its error
        said = f"out of memory, or a fault of Python itself ({error})"
    else:
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace else ""
        said, hint, code = f"internal error: {kind.__name__}: {error}{where}", "", EXIT_DEFECT
    said = "".join(char if char.isprintable() else " " for char in said)
    if said not in _SAID:  # threads and tasks that fail for one reason repeat it
        _SAID.add(said)
        sys.stderr.write(f"prunecli: {said}\n{hint}")
    return code


def end(code: int) -> "NoReturn":
    """End the process with this code, even if a thread is still working.

    A normal exit deletes the modules that a thread may still be importing or using, which can crash the interpreter.
    """
    from prunecli.util.errors import OutputFailed

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OutputFailed:
        pass  # a more important error has been reported
    sys.stderr.flush()
    os._exit(code)


def run(words: "Sequence[str]", environ: "Mapping[str, str]") -> int:
    """Run a command line and return its exit code. Prints errors and hints on standard error."""
    from prunecli.util.errors import PrunecliError

    try:
        code = _answer(words, environ)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except PrunecliError as error:
        from prunecli.cli.launch import complain

        return complain(error)
    return code


def _answer(words: "Sequence[str]", environ: "Mapping[str, str]") -> int:
    if COMPLETING not in environ:
        if words[:1] == ["--version"]:  # other programs call it often, so skip importing the flags
            sys.stdout.write(f"prunecli {__version__}\n")
            return 0
        from prunecli.cli.flags import read

        line = read(words)
        if not (line.at_once or line.command):
            from prunecli.cli.launch import launch

            return launch(line.launch, environ)
    from prunecli.cli.app import app

    try:
        app(list(words), prog_name="prunecli")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


if __name__ == "__main__":
    main()
