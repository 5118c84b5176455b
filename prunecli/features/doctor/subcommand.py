"""`prunecli doctor`: check the environment and report problems."""

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import configured, single
from prunecli.features.doctor.checkup import MARKS, checkup, model_of, patient_of, refusals_of
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
    found = checkup(patient, offline=offline)
    for one in found:
        _show(one)
    if probe:
        found += _probed(patient, answers=any(one.name == "features" for one in found))
    if any(one.state == "problem" for one in found):
        raise typer.Exit(1)


def _probed(patient: "Patient", *, answers: bool) -> "list[Finding]":
    if not answers:
        _show(Finding("features", "warning", "not probed: the endpoint does not answer"))
        return []
    config, found = patient.load_config(), []
    info, ttl = model_of(patient, config), config.model.cache_ttl
    typer.echo(f"\nAsking {info.name}: {price(questions(info, ttl), info)}")

    def tell(one: Finding) -> None:
        found.append(one)
        _show(one)

    asyncio.run(probe(patient.provider(config), info, refusals_of(patient, config), tell, ttl=ttl))
    return found


def _show(one: "Finding") -> None:
    hint = f"  ({one.hint})" if one.hint else ""
    typer.echo(one_line(f"{MARKS[one.state]:<4}  {one.name:<13}  {one.said}{hint}"))


app = single(doctor)
