"""`python -m prunecli`, and the executable. The plain start goes straight to the screen, without typer."""

import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    if len(sys.argv) == 1:
        from prunecli.asked import Launch
        from prunecli.errors import PrunecliError
        from prunecli.launch import complain, launch

        try:
            code = launch(Launch())
        except PrunecliError as error:
            code = complain(error)
        raise SystemExit(code)
    from prunecli.cli import app

    app()


if __name__ == "__main__":
    main()
