"""`python -m prunecli` and the executable. Starts the screen and headless runs without importing typer."""

import atexit
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from prunecli import __version__

COMPLETING = "_PRUNECLI_COMPLETE"
"""The environment variable that asks for shell completions."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    from prunecli.streams import hold_standard_streams

    hold_standard_streams()
    end(run(sys.argv[1:], os.environ))


def end(code: int) -> NoReturn:
    """End the process with this code, even if a thread is still working.

    A normal exit deletes the modules that a thread may still be importing or using, which can crash the interpreter.
    """
    from prunecli.errors import OutputFailed

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OutputFailed:
        pass  # a more important error has been reported
    sys.stderr.flush()
    os._exit(code)


def run(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command line and return its exit code. Prints errors and hints on standard error."""
    from prunecli.errors import PrunecliError

    try:
        code = _answer(words, environ)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except PrunecliError as error:
        from prunecli.launch import complain

        return complain(error)
    return code


def _answer(words: Sequence[str], environ: Mapping[str, str]) -> int:
    if COMPLETING not in environ:
        if words[:1] == ["--version"]:  # other programs call it often, so skip importing the flags
            sys.stdout.write(f"prunecli {__version__}\n")
            return 0
        from prunecli.flags import read

        line = read(words)
        if not (line.at_once or line.command):
            from prunecli.launch import launch

            return launch(line.launch, environ)
    from prunecli.cli import app

    try:
        app(list(words), prog_name="prunecli")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


if __name__ == "__main__":
    main()
