"""The Typer application: help, completion and subcommands. This is the only package that imports typer.

`prunecli.cli.flags` reads the main command's flags; a subcommand is imported when it is called.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from prunecli import __version__
from prunecli.cli import completions
from prunecli.cli.flags import FLAGS, INSTANT, Flag, commands, read
from prunecli.cli.installed import installed
from prunecli.cli.shared import complaining
from prunecli.plugins.features import features
from prunecli.plugins.foreign import ForeignFailed, called
from prunecli.util.errors import UsageError
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.cli import launch
else:
    launch = lazy("prunecli.cli.launch")

_Misuse: Any = typer.BadParameter.__bases__[0]
"""click's UsageError, found through typer."""


EXAMPLES = (
    ("prunecli", "work in this directory"),
    ('prunecli "fix the tests"', "begin with a prompt"),
    ("prunecli -c", "continue the last session"),
    ("prunecli -r @claude", "continue a session of Claude Code"),
    ('prunecli -p "why?" < log', "print one answer and exit"),
    ("prunecli demo", "take the tour: no key, no network"),
    ("prunecli replay FILE", "what pruning would have saved on a session"),
)


class Commands(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the flags, and leave subcommands to typer. `ctx.obj` is the parsed command line."""
        if ctx.resilient_parsing:  # a shell is completing an unfinished line
            return super().parse_args(ctx, _subcommand(args))
        with complaining():
            ctx.obj = line = read(args)
        if line.at_once == "--install-completion":
            completions.install()
            raise typer.Exit
        if line.at_once:
            return super().parse_args(ctx, [line.at_once])
        return super().parse_args(ctx, list(line.command))

    def invoke(self, ctx: Any) -> Any:
        """Run the command and turn its errors into messages without a traceback."""
        with complaining():
            try:
                return super().invoke(ctx)
            except _Misuse as error:
                error.message = visible(error.message)  # the message quotes the command line
                raise

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the base class's signature
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # the base class's signature
        """Import a subcommand; return None if no subcommand has that name."""
        if cmd_name not in commands():
            return None
        brought = installed().of("subcommand").get(cmd_name)
        if brought is None:
            command = typer.main.get_command(import_module(f"prunecli.cli.{cmd_name}").app)
        else:
            try:
                command = called(lambda: typer.main.get_command(brought.load()))
            except ForeignFailed as error:
                raise UsageError(f"prunecli {cmd_name} of plugin {brought.owner}: {error}") from error
        command.name = cmd_name
        return command

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write examples, the subcommands (without importing them), and then the many flags."""
        with formatter.section("Examples"):
            formatter.write_dl([(line, what) for line, what in EXAMPLES if _is_there(line)])
        with formatter.section("Commands"):
            formatter.write_dl(list(commands().items()))
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: `format_options` lists the subcommands first."""


def _is_there(example: str) -> bool:
    """Return whether the subcommand or agent of an example is: its feature may be off."""
    word = example.split()[1:2]
    if "@claude" in example:
        return "claude" in installed().of("sessions")
    return word != ["replay"] or "replay" in commands()


def _subcommand(args: list[str]) -> list[str]:
    """Return the words from the subcommand on; empty if the line has no subcommand yet."""
    try:
        return list(read(args).command)
    except UsageError:
        return []


app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="[PROMPT] | COMMAND [ARGS]...",
)


def main(ctx: typer.Context, **_: object) -> None:
    """prunecli: a terminal coding agent whose context you can see, prune and restore."""

    if ctx.invoked_subcommand is None:
        raise typer.Exit(launch.launch(ctx.obj.launch))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prunecli {__version__}")
        raise typer.Exit


def _parameters() -> Iterator[Parameter]:
    yield Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    for flag in FLAGS:
        if flag.name not in INSTANT or flag.name == "--version":
            yield _parameter(flag)


def _completer(flag: Flag) -> Callable[[str], list[str] | list[completions.Offer]] | None:
    """Return the completer of the flag's value; None for files and for values that cannot be completed."""
    if flag.choices:
        return lambda incomplete: [choice for choice in flag.choices if choice.startswith(incomplete)]
    known = {"--resume": completions.sessions, "--model": completions.models, "--theme": completions.themes}
    return known.get(flag.name)


def _parameter(flag: Flag) -> Parameter:
    """Return a flag as a typer option. `read` has already parsed the value, so its type is text."""
    metavar = "|".join(flag.choices) or flag.value or None
    agents = [f"@{name}" for name in features().of("sessions")]
    others = f", or one of {', '.join(agents[:2])} ..." if agents else ""
    text = flag.help.replace("{others}", others)
    option = typer.Option(*flag.names, metavar=metavar, help=text, autocompletion=_completer(flag))
    if flag.name == "--version":
        option = typer.Option(*flag.names, help=flag.help, callback=_version, is_eager=True)
    kind: Any = str | None if flag.value else bool
    name = flag.name.lstrip("-").replace("-", "_") + "_"
    default = None if flag.value else False
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


main.__signature__ = Signature(list(_parameters()))  # type: ignore[attr-defined]
app.callback()(main)
