"""Errors of subcommands: one line and one hint on standard error, and the exit code that belongs to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from prunecli.errors import PrunecliError, SessionCorrupt
from prunecli.launch import complain


@contextmanager
def complaining() -> Iterator[None]:
    """Turns an error that a user can be told about into its exit code; a file that can't be read is one too."""
    try:
        yield
    except PrunecliError as error:
        raise typer.Exit(complain(error)) from None
    except OSError as error:
        unreadable = SessionCorrupt(Path(error.filename or "?"), 0, error.strerror or "can't be read")
        raise typer.Exit(complain(unreadable)) from None
