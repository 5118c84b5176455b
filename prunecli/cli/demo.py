"""`prunecli demo`: start the guided tour."""

from dataclasses import replace
from typing import Annotated

import typer

from prunecli.cli.launch import demo_launch, launch
from prunecli.cli.shared import asked_before, single


def demo(
    ctx: typer.Context,
    inline: Annotated[bool, typer.Option("--inline", help="Run below the shell prompt.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain text output.")] = False,
) -> None:
    """Start a guided tour on the built-in demo model, in a scratch folder. Needs no key and no network."""
    before = asked_before(ctx)
    tour = demo_launch(plain=plain or before.plain)
    tour = replace(
        tour,
        flags={**(before.flags or {}), **(tour.flags or {})},
        sets=before.sets,
        config_file=before.config_file,
        inline=inline or before.inline,
    )
    raise typer.Exit(launch(tour))


app = single(demo)
