"""The command line: flags become a `Launch`, subcommands run. The only importer of typer.

A first word that equals a subcommand is that subcommand; after `--` it is a prompt (FORMATS.md).
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from prunecli import __version__
from prunecli.asked import PICKER, Launch
from prunecli.cli_config import app as config_app
from prunecli.cli_config import doctor, login, trust
from prunecli.cli_context import context
from prunecli.cli_errors import complaining
from prunecli.cli_sessions import app as sessions_app
from prunecli.launch import launch as start

_PROMPT = "prunecli.prompt"


class PromptGroup(TyperGroup):
    """A group of subcommands whose first word, where it is none of them, begins a prompt."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Tells a subcommand from a prompt, and gives `--resume` without a value its picker."""
        args = _with_resume_value(args)
        _, rest, _ = self.make_parser(ctx).parse_args(list(args))
        dashed = "--" in args[: len(args) - len(rest)]
        if rest and rest[0] in self.commands and not dashed:
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        words = super(TyperGroup, self).parse_args(ctx, args)
        ctx.meta[_PROMPT] = " ".join(words)
        ctx.args = []
        return []


def _with_resume_value(args: list[str]) -> list[str]:
    """`-r` and `--resume` may stand alone: they then mean the picker."""
    given: list[str] = []
    for index, word in enumerate(args):
        given.append(word)
        if word == "--":
            return [*given, *args[index + 1 :]]
        following = args[index + 1 : index + 2]
        if word in ("-r", "--resume") and (not following or following[0].startswith("-")):
            given.append(PICKER)
    return given


app = typer.Typer(
    cls=PromptGroup,
    invoke_without_command=True,
    no_args_is_help=False,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="[PROMPT] | COMMAND [ARGS]...",
)
app.add_typer(sessions_app, name="sessions")
app.add_typer(config_app, name="config")
app.command("context")(context)
app.command("login")(login)
app.command("doctor")(doctor)
app.command("trust")(trust)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prunecli {__version__}")
        raise typer.Exit


Flag = typer.Option
Mode = Annotated[Literal["ask", "edits", "plan", "auto"] | None, Flag(help="What may run without asking.")]
Effort = Annotated[
    Literal["default", "low", "medium", "high", "xhigh", "max"] | None, Flag(help="How hard the model tries.")
]
Allowed = Annotated[str | None, Flag(help="Rules that allow, with commas: 'bash(git status),edit'.")]
Version = Annotated[bool, Flag("--version", callback=_version, is_eager=True, help="Show the version.")]
Inline = Annotated[bool, Flag("--inline", help="Below the shell's prompt, not on a screen of its own.")]
Plain = Annotated[bool, Flag("--plain", help="Lines only: for screen readers and dumb terminals.")]


@app.callback()
def main(
    ctx: typer.Context,
    print_: Annotated[bool, Flag("-p", "--print", help="Run headless, print the answer, exit.")] = False,
    output_format: Annotated[Literal["text", "json", "stream-json"], Flag(help="Of -p.")] = "text",
    input_format: Annotated[Literal["text", "stream-json"], Flag(help="Of -p's standard input.")] = "text",
    max_turns: Annotated[int | None, Flag(min=1, help="Stop after so many turns.")] = None,
    max_cost: Annotated[float | None, Flag(min=0.0, help="Stop at this cost, USD.")] = None,
    continue_: Annotated[bool, Flag("-c", "--continue", help="The last session of this directory.")] = False,
    resume: Annotated[str | None, Flag("-r", "--resume", help="A session by id, prefix or name.")] = None,
    fork: Annotated[bool, Flag("--fork", help="Continue a copy; -r ID@17: as it was at entry 17.")] = False,
    model: Annotated[str | None, Flag(help="Model name or alias: opus, sonnet, haiku, demo.")] = None,
    effort: Effort = None,
    base_url: Annotated[str | None, Flag(help="A server that speaks the Messages API.")] = None,
    config: Annotated[Path | None, Flag(help="Use this file instead of the user's.")] = None,
    set_: Annotated[list[str] | None, Flag("--set", metavar="KEY=VALUE", help="Set an option.")] = None,
    theme: Annotated[str | None, Flag(help="Theme of the terminal interface.")] = None,
    permission_mode: Mode = None,
    sandbox: Annotated[Literal["auto", "off", "require"] | None, Flag(help="Walls around commands.")] = None,
    allowed_tools: Allowed = None,
    disallowed_tools: Annotated[str | None, Flag(help="Rules that deny, with commas.")] = None,
    no_session: Annotated[bool, Flag("--no-session", help="Keep no session file.")] = False,
    trust: Annotated[bool, Flag("--trust", help="Treat this directory as trusted for this run.")] = False,
    inline: Inline = False,
    plain: Plain = False,
    version: Version = False,  # noqa: ARG001  # its callback does the work
) -> None:
    """prunecli: the coding agent for the terminal whose context you can see, prune, restore and trust."""
    if ctx.invoked_subcommand is not None:
        return
    named = {
        "--model": model,
        "--effort": effort,
        "--base-url": base_url,
        "--theme": theme,
        "--permission-mode": permission_mode,
        "--sandbox": sandbox,
    }
    flags = {flag: text for flag, text in named.items() if text is not None}
    flags |= _rules("--allowed-tools", allowed_tools) | _rules("--disallowed-tools", disallowed_tools)
    asked = Launch(
        prompt=ctx.meta.get(_PROMPT, ""),
        headless=print_,
        output_format=output_format,
        input_format=input_format,
        max_turns=max_turns,
        max_cost=max_cost,
        continue_last=continue_,
        resume=resume,
        fork=fork,
        config_file=config,
        flags=flags,
        sets=tuple(set_ or ()),
        no_session=no_session,
        trust=trust,
        plain=plain,
        inline=inline,
    )
    with complaining():
        raise typer.Exit(start(asked))


@app.command("demo")
def demo(plain: Plain = False) -> None:
    """A guided session on the embedded demo model, in a scratch folder: no key, no network."""
    from prunecli.launch import demo_launch

    with complaining():
        raise typer.Exit(start(demo_launch(plain=plain)))


def _rules(flag: str, text: str | None) -> dict[str, str]:
    """Rules separated by commas outside of brackets, as the JSON list that the configuration takes."""
    import json

    if text is None:
        return {}
    rules, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            rules.append("")
        else:
            rules[-1] += char
    return {flag: json.dumps([rule.strip() for rule in rules if rule.strip()])}


if __name__ == "__main__":
    sys.exit(app())
