"""`python -m prunecli`, and the executable. Whatever ends in a screen or a headless run starts without typer."""

import os
import sys
from collections.abc import Mapping, Sequence

from prunecli import __version__

COMPLETING = "_PRUNECLI_COMPLETE"
"""The variable in which a shell asks for completions."""


def main() -> None:
    """Run the command line and exit with its code."""
    from prunecli.streams import hold_standard_streams

    hold_standard_streams()
    raise SystemExit(run(sys.argv[1:], os.environ))


def run(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command line; its exit code. Errors are one line and one hint on standard error."""
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
        if words[:1] == ["--version"]:  # programs ask for it often: not even the flags are imported
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
