"""Shared code of the subcommands: typer applications, error output and configuration."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from prunecli.cli.flags import unknown
from prunecli.cli.installed import installed
from prunecli.cli.launch import complain, working_directory
from prunecli.config.effective import Config
from prunecli.config.sources import load
from prunecli.safety.trust import TrustStore
from prunecli.session.store import Store
from prunecli.util.errors import ConfigError, PrunecliError, SessionError, UsageError
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places


def single(command: Callable[..., Any], kind: type[TyperCommand] = TyperCommand) -> typer.Typer:
    """Return the application of a subcommand without further subcommands."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=kind)(command)
    return app


class _Group(TyperGroup):
    """Adds the subcommands that features brought: "sessions import" to the group `sessions`."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = (name.split(" ") for name in installed().of("subcommand"))
        return [
            *super().list_commands(ctx),
            *(last for first, *rest in names if first == self.name for last in rest),
        ]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raise UsageError for an unknown subcommand: people type those of other agents."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise unknown(str(self.name), args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        brought = installed().of("subcommand").get(f"{self.name} {cmd_name}")
        if brought is None:
            return super().get_command(ctx, cmd_name)
        command = typer.main.get_command(brought.load())
        command.name = cmd_name
        return command


def group(help_: str) -> typer.Typer:
    return typer.Typer(
        cls=_Group, add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=help_
    )


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
    asked: Launch = ctx.obj.launch
    return asked


def configured(ctx: typer.Context) -> Config:
    """Return the configuration of this directory with the flags given before the subcommand. Raises ConfigError."""
    return configured_by(asked_before(ctx))


def configured_by(asked: Launch) -> Config:
    """Return the configuration of this directory with these flags. Raises ConfigError."""
    places, cwd = Places.of(os.environ), working_directory()
    return load(
        places,
        cwd,
        os.environ,
        flags=asked.flags,
        sets=asked.sets,
        config_file=asked.config_file,
        trusted=asked.trust or TrustStore(places.trust_store).may_act(cwd),
    )


def own_sessions() -> "Store":
    return Store(Places.of(os.environ).sessions)


def with_options(config: Config, options: Sequence[str], names: Sequence[str]) -> Config:
    """Return the configuration with `-o` options for these strategies.

    `pi.prune_minimum=0` sets the option of one strategy, `prune_minimum=0` that of every named strategy that has it.
    Raises UsageError and ConfigError.
    """
    if options and not names:
        raise UsageError("-o: no strategy given", "name one with --strategy")
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise ConfigError(f"-o {option}: expected KEY=VALUE")
        if key.partition(".")[0] in names:
            keys = [key]
        else:
            found = [f"{name}.{key}" for name in names]
            keys = [one for one in found if config.has(one)] or found[:1]
        for one in keys:
            config = config.with_value(one, value, f"-o {key}")
    return config
