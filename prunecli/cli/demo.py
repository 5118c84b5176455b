"""`prunecli demo`: start the guided tour."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from prunecli.cli.launch import demo_launch, launch
from prunecli.cli.shared import asked_before, own_sessions, single
from prunecli.session.importers.source import opened
from prunecli.session.importers.store_import import save
from prunecli.session.store import random_bytes
from prunecli.util.paths import Places

PRICES = tuple(
    f"models.demo.prices.{kind}={usd}"
    for kind, usd in {
        "input": 5,
        "output": 25,
        "cache_read": 0.5,
        "cache_write_5m": 6.25,
        "cache_write_1h": 10,
    }.items()
)
"""Those of the model that the session was recorded with, so that the tour ends on what it would have cost."""


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
        sets=(*before.sets, *PRICES, "compaction.on_return=off"),
        resume=_recorded(tour.cwd or Path()),
        config_file=before.config_file,
        inline=inline or before.inline,
    )
    raise typer.Exit(launch(tour))


def _recorded(folder: Path) -> str:
    """Save another copy of the recorded session, as one of this folder, and return its id."""
    source = opened(Places.of(os.environ).shipped_data / "demo-session.jsonl.gz")
    return save(source, own_sessions(), folder, moved=True, again=random_bytes())[0].id


app = single(demo)
