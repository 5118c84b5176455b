"""Shared by the subcommands: typer applications, error output and configuration."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from prunecli.config import Config, load
from prunecli.errors import PrunecliError, SessionError
from prunecli.launch import complain, working_directory
from prunecli.launch_options import Launch
from prunecli.paths import Places


def single(command: Callable[..., Any]) -> typer.Typer:
    """The application of a subcommand without subcommands of its own."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return app


def group(help_: str) -> typer.Typer:
    """The application of a subcommand with subcommands of its own."""
    return typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=help_)


@contextmanager
def complaining() -> Iterator[None]:
    """Print an error and its hint, then exit with the error's code. Treats OSError as an unreadable file."""
    try:
        yield
    except PrunecliError as error:
        raise typer.Exit(complain(error)) from None
    except OSError as error:
        unusable = SessionError(f"{error.filename or 'a file'}: {error.strerror or error}")
        raise typer.Exit(complain(unusable)) from None


def asked_before(ctx: typer.Context) -> Launch:
    """The flags given before the subcommand."""
    asked: Launch = ctx.obj.launch
    return asked


def configured(ctx: typer.Context) -> Config:
    """The configuration of this directory with the flags given before the subcommand. Raises ConfigError."""
    from prunecli.agent.trust import TrustStore

    asked, places, cwd = asked_before(ctx), Places.of(os.environ), working_directory()
    return load(
        places,
        cwd,
        os.environ,
        flags=asked.flags,
        sets=asked.sets,
        config_file=asked.config_file,
        trusted=asked.trust or TrustStore(places.trust_store).may_act(cwd),
    )
