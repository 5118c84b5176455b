"""The options of `prunecli replay`."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from prunecli.cli import completions

Option = typer.Option

Sources: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Sessions, session files of any agent, folders of them, or @claude @codex @pi @gemini @opencode.",
        autocompletion=completions.sessions,
    ),
]
Strategy: TypeAlias = Annotated[
    str,
    Option(
        "--strategy",
        help="Strategies separated by commas; a+b runs both. Default: all.",
        autocompletion=completions.strategies,
    ),
]
GateName: TypeAlias = Annotated[str, Option("--gate", metavar="always|cache_aware", help="When to prune.")]
Options: TypeAlias = Annotated[
    list[str] | None,
    Option("-o", metavar="KEY=VALUE", help="A strategy option, such as pi.prune_minimum=0."),
]
Ttl: TypeAlias = Annotated[
    str, Option("--cache-ttl", metavar="5m|1h", help="How long the endpoint keeps a cached prompt.")
]
Model: TypeAlias = Annotated[
    str,
    Option(
        "--model",
        help="Prices and rules of this model instead of the recorded one.",
        autocompletion=completions.models,
    ),
]
ReadPrice: TypeAlias = Annotated[
    float | None, Option("--read-price", min=0, help="Price of a cached token, of that of input.")
]
WritePrice: TypeAlias = Annotated[
    float | None, Option("--write-price", min=0, help="Price of caching a token, of that of input.")
]
FixedTokens: TypeAlias = Annotated[
    int | None, Option("--fixed-tokens", min=0, help="Tokens of system prompt and tools.")
]
Window: TypeAlias = Annotated[int | None, Option("--window", min=1, help="Context window in tokens.")]
SpillFlag: TypeAlias = Annotated[
    bool | None,
    Option(
        "--spill/--no-spill",
        help="Shorten results before they are first sent. Default: with the strategy auto.",
    ),
]
Compactions: TypeAlias = Annotated[
    bool,
    Option("--compactions", help="Also play compactions of files that still have what was summarised."),
]
AsJson: TypeAlias = Annotated[bool, Option("--json", help="Print one JSON object.")]
Html: TypeAlias = Annotated[
    Path | None, Option("--html", metavar="FILE", help="Write a page with plots, for a browser.")
]
Fit: TypeAlias = Annotated[
    str,
    Option("--fit", metavar="[FILE]", help="Fit the numbers behind auto and spill; print or write them."),
]
ExpectationsFile: TypeAlias = Annotated[
    Path | None, Option("--expectations", metavar="FILE", help="Use these numbers, such as --fit writes.")
]
