"""`python -m prunecli`, and the executable. A plain start, `-c` and `-r` go straight to the screen, without typer."""

import sys

from prunecli.asked import short_start


def main() -> None:
    """Runs the command line and exits with its code."""
    asked = short_start(sys.argv[1:])
    if asked is not None:
        from prunecli.errors import PrunecliError
        from prunecli.launch import complain, launch

        try:
            code = launch(asked)
        except PrunecliError as error:
            code = complain(error)
        raise SystemExit(code)
    from prunecli.cli import app

    app()


if __name__ == "__main__":
    main()
