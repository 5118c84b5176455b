"""The flags of `prunecli replay`, as types of its parameters."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand

from prunecli.cli import completions
from prunecli.plugins.features import features
from prunecli.runtime.importers import titles

Option = typer.Option
_AGENTS = " ".join(titles(features()))
_OTHERS = f"; also {_AGENTS}" if _AGENTS else ""
STDOUT = "-"
"""The FILE of `--fit` that means standard output."""

Sources: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help=f"Sessions, session files of any agent, folders of them, or URLs of both{_OTHERS}.",
        autocompletion=completions.sessions,
    ),
]
Strategy: TypeAlias = Annotated[
    list[str] | None,
    Option(
        help="Strategies separated by commas; a+b runs both. Default: all. Can be repeated.",
        metavar="a,b",
        autocompletion=completions.strategies,
    ),
]
When: TypeAlias = Annotated[str, Option(metavar="always|cache_aware", help="When to prune.")]
Options: TypeAlias = Annotated[
    list[str] | None, Option("-o", metavar="KEY=VALUE", help="A strategy option, such as pi.prune_minimum=0.")
]
Ttl: TypeAlias = Annotated[str, Option(metavar="5m|1h", help="How long the endpoint keeps a cached prompt.")]
Model: TypeAlias = Annotated[
    str,
    Option(
        help="Use the prices and rules of this model instead of the recorded one.",
        autocompletion=completions.models,
    ),
]
ReadPrice: TypeAlias = Annotated[
    float | None, Option(min=0, help="Price of reading a cached token, relative to input.")
]
WritePrice: TypeAlias = Annotated[
    float | None, Option(min=0, help="Price of caching a token, relative to input.")
]
Fixed: TypeAlias = Annotated[int | None, Option(min=0, help="Tokens of system prompt and tools.")]
Window: TypeAlias = Annotated[int | None, Option(min=1, help="Context window in tokens.")]
Spill: TypeAlias = Annotated[
    bool | None,
    Option(
        "--spill/--no-spill",
        help="Shorten results before they are first sent. Default: only with the strategy auto.",
    ),
]
Compactions: TypeAlias = Annotated[
    bool,
    Option("--compactions", help="Replay compactions even if the file still contains the summarized part."),
]
Summaries: TypeAlias = Annotated[
    int | None,
    Option(
        min=1,
        metavar="TOKENS",
        help="Summarize from this size of the context on, in sessions of other agents. Without pruning: never.",
    ),
]
OnReturn: TypeAlias = Annotated[
    str,
    Option(
        metavar="offer|auto|off|ahead",
        help="auto: summarize on return to a cold, long session where that costs less, in sessions of other agents. "
        "ahead: prepare these summaries before the cache expires, too.",
    ),
]
Kept: TypeAlias = Annotated[
    bool, Option("--kept", help="Count the texts that answers use later: did they stand there, or a handle?")
]
Cluster: TypeAlias = Annotated[
    str,
    Option(metavar="ADDRESS", help="Replay on a dask cluster whose scheduler is there (tcp://host:8786)."),
]
AsJson: TypeAlias = Annotated[bool, Option("--json", help="Print one JSON object.")]
Html: TypeAlias = Annotated[
    Path | None, Option(metavar="FILE", help="Write a page with plots, for a browser.")
]
Fit: TypeAlias = Annotated[
    str, Option(metavar="[FILE.json]", help="Fit the numbers behind auto and spill; print or write them.")
]
Numbers: TypeAlias = Annotated[
    Path | None, Option(metavar="FILE", help="Use the numbers from a file written by --fit.")
]


class WithFit(TyperCommand):
    """The command, whose `--fit` takes an optional file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list[str]()
        for place, word in enumerate(args):
            follows = args[place + 1] if place + 1 < len(args) else ""
            given.append(word)
            if word == "--fit" and not follows.endswith(".json"):
                given.append(STDOUT)
        return super().parse_args(ctx, given)
