"""`prunecli doctor`: check the environment and report problems."""

import asyncio
import os
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import configured, single
from prunecli.features.doctor.checkup import (
    MARKS,
    NARROW,
    checkup,
    model_of,
    patient_of,
    refusals_of,
    terminal_size,
)
from prunecli.features.doctor.probing import price, probe, questions
from prunecli.providers.registry import Finding
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.features.doctor.checkup import Patient


def doctor(
    ctx: typer.Context,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Test the endpoint's features with a few tiny requests."),
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not contact the endpoint.")] = False,
) -> None:
    """Check the terminal, configuration, key, endpoint, sandbox, rg and session folder.

    Exit with 1 if there is a problem.
    """
    if probe and offline:
        raise typer.BadParameter("--probe contacts the endpoint; omit --offline")
    cwd = working_directory()
    patient = patient_of(Places.of(os.environ), cwd, dict(os.environ), lambda: configured(ctx))
    found = list(map(_shown, checkup(patient, offline=offline)))
    if probe:
        found += _probed(patient, found)
    if any(one.state == "problem" for one in found):
        raise typer.Exit(1)


def _probed(patient: "Patient", checked: Sequence[Finding]) -> list[Finding]:
    if not any(one.name == "features" for one in checked):
        endpoint = (one.said for one in checked if one.name == "endpoint")
        why = next(endpoint, "the configuration has an error")
        return [_shown(Finding("features", "warning", f"not probed: {why}"))]
    config, found = patient.load_config(), list[Finding]()
    info, ttl = model_of(patient, config), config.model.cache_ttl
    typer.echo(f"\nAsking {info.name}: {price(questions(info, ttl), info)}")
    provider, refusals = patient.provider(config), refusals_of(patient, config)
    asyncio.run(probe(provider, info, refusals, lambda one: found.append(_shown(one)), ttl=ttl))
    return found


def _shown(one: Finding) -> Finding:
    """Print a finding, and return it."""
    columns, _ = terminal_size() or (0, 0)
    typer.echo(in_columns(one, columns))
    return one


def in_columns(one: Finding, columns: int) -> str:
    """Return a finding as text of so many columns, 0 for one line."""
    hint = f"  ({one.hint})" if one.hint else ""
    line = one_line(f"{MARKS[one.state]:<4}  {one.name:<16}  {one.said}{hint}")
    wide = max(columns, NARROW) if columns else len(line)
    return fill(line, wide, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)


app = single(doctor)
