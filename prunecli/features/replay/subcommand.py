"""`prunecli replay SOURCE...`: show what each strategy would have sent. Only the figures go to standard output."""

import json
import math
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import typer

from prunecli.cli.progress import columns_of, working
from prunecli.cli.session_files import files_of
from prunecli.cli.shared import asked_before, configured_by, single, with_options
from prunecli.features.replay import flags as flags
from prunecli.features.replay.cluster import each_on_cluster
from prunecli.features.replay.fit import fitted
from prunecli.features.replay.prefix import together
from prunecli.features.replay.rates import Table
from prunecli.features.replay.replay import NO_PRUNING, Replayed, Setting, Stage
from prunecli.features.replay.rows import Report, lines
from prunecli.features.replay.series import Courses, page
from prunecli.features.replay.working import Outcome, each_session
from prunecli.front.html import check_page, check_writable, write_new
from prunecli.model.requests import TTL_MS
from prunecli.providers.models import ModelTable, load_expectations
from prunecli.session.importers.remote import SessionFile
from prunecli.util.errors import ConfigError, SessionNotFound, UsageError
from prunecli.util.figures import counted, short
from prunecli.util.frozen import frozen
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.config.effective import Config
    from prunecli.context.expectations import Expectations

Result = TypeVar("Result")
Outcomes: TypeAlias = Generator[Outcome[Result], None, None]
Spread: TypeAlias = Callable[[Sequence[SessionFile], Callable[..., Any]], Outcomes[Any]]
"""Runs a job on each session, in processes of this machine or on a cluster."""
_MOST_FOREIGN = 5
"""Files that are no sessions and are named one by one."""


@frozen
class Asked:
    """The command line of a replay, in a form that can be sent to another process."""

    launch: Launch
    strategies: tuple[str, ...] = ()
    gate: str = ""
    options: tuple[str, ...] = ()
    ttl: str = ""
    model: str = ""
    read: float | None = None
    write: float | None = None
    fixed: int | None = None
    window: int | None = None
    spill: bool | None = None
    compactions: bool = False
    summaries: int | None = None
    on_return: str = ""
    kept: bool = False
    plots: bool = False
    expectations: Path | None = None
    fit: bool = False


def replay(
    ctx: typer.Context,
    sources: flags.Sources,
    strategy: flags.Strategy = None,
    gate: flags.When = "",
    options: flags.Options = None,
    cache_ttl: flags.Ttl = "",
    model: flags.Model = "",
    read_price: flags.ReadPrice = None,
    write_price: flags.WritePrice = None,
    fixed_tokens: flags.Fixed = None,
    window: flags.Window = None,
    spill: flags.Spill = None,
    compactions: flags.Compactions = False,
    summaries: flags.Summaries = None,
    on_return: flags.OnReturn = "",
    kept: flags.Kept = False,
    cluster: flags.Cluster = "",
    as_json: flags.AsJson = False,
    html: flags.Html = None,
    fit: flags.Fit = "",
    expectations: flags.Numbers = None,
) -> None:
    """Show what each strategy would have sent and cost on recorded sessions, compared with no pruning."""
    asked = Asked(
        asked_before(ctx),
        _names(strategy),
        _one_of("--gate", gate, ("always", "cache_aware")),
        tuple(options or ()),
        _one_of("--cache-ttl", cache_ttl, tuple(TTL_MS)),
        model,
        _finite("--read-price", read_price),
        _finite("--write-price", write_price),
        fixed_tokens,
        window,
        spill,
        compactions,
        summaries,
        on_return,
        kept,
        html is not None,
        expectations,
        bool(fit),
    )
    _check_outputs(html, fit)
    stage = stage_of(asked)  # report an invalid command line here, not in another process
    paths, missing = files_of(sources)
    _complain(missing)
    spread = _spread(cluster, stage, partial(stage_of, asked))
    if fit:
        _fit(fit, paths, spread, stage.expectations)
        return
    report, courses, problems = _report(paths, spread, _setup(asked, stage))
    if html is not None:
        write_new(html, page(report, courses), force=True)
        typer.echo(f"prunecli: wrote {html}", err=True)
    table = "\n".join(lines(report, columns_of(sys.stdout)))
    typer.echo(_json(report, [*missing, *problems]) if as_json else visible(table))


def _check_outputs(html: Path | None, fit: str) -> None:
    """Raise UsageError if the output cannot be written, or `--fit` would overwrite a file of another kind."""
    if fit and html is not None:
        raise UsageError("--fit: cannot be used with --html", "run the two separately")
    if html is not None:
        check_page(html)
    if fit in ("", flags.STDOUT):
        return
    check_writable(to := Path(fit))
    if os.path.exists(to) and to.stat().st_size:
        try:
            load_expectations(to.parent, to)
        except ConfigError:
            raise UsageError(
                f"--fit {fit}: this file exists and was not made by --fit",
                "choose another name; a SOURCE goes before --fit",
            ) from None


def _spread(cluster: str, stage: Stage, make: "partial[Stage]") -> Spread:
    def spread(files: Sequence[SessionFile], job: Callable[..., Result]) -> Outcomes[Result]:
        return each_on_cluster(cluster, files, stage, job) if cluster else each_session(files, make, job)

    return spread


def _setup(asked: Asked, stage: "Stage") -> str:
    given = {"read price": asked.read, "write price": asked.write}
    sizes = {"window": asked.window, "system prompt and tools": asked.fixed}
    said = [
        f"gate {asked.gate or stage.config.pruning.gate}",
        f"{stage.ttl} cache",
        f"model {stage.table.name('')}" if asked.model else "models and prices as recorded",
        *(f"{name} {price:g}" for name, price in given.items() if price is not None),
        *(f"{name} {short(tokens)}" for name, tokens in sizes.items() if tokens is not None),
    ]
    return " · ".join(said)


def _report(paths: Sequence[SessionFile], spread: Spread, setup: str) -> "tuple[Report, Courses, list[str]]":
    courses = Courses()

    def take(one: Replayed) -> Replayed:
        courses.add(one.rows[0].session, one.series)
        return replace(one, series=())

    found, problems = _each(paths, spread, Stage.replay, take)
    found.sort(key=lambda one: one.rows[0].session)
    done = [one for one in found if one.rows[0].requests]
    if silent := [one.rows[0].session for one in found if not one.rows[0].requests]:
        such = f", such as {silent[0]}" if len(silent) > 1 else f": {silent[0]}"
        problems.append(f"left out {counted(len(silent), 'session')} without an answer{such}")
    notices = dict.fromkeys(notice for one in done for notice in one.notices)
    report = Report([one.rows for one in done], together(one.validation for one in done), setup=setup)
    _complain(problems := [*problems, *notices])
    if not done:
        raise _nothing()
    return report, courses, problems


def _fit(to: str, paths: Sequence[SessionFile], spread: Spread, before: "Expectations") -> None:
    done, problems = _each(paths, spread, Stage.evidence)
    _complain(problems)
    if not done:
        raise _nothing()
    text = json.dumps(fitted(done, before), indent=2)
    if to == flags.STDOUT:
        typer.echo(text)
        return
    write_new(Path(to), text + "\n", force=True)
    place = Places.of(os.environ).expectations_file
    typer.echo(f"prunecli: wrote {to}. Save it as {place} to use it in every session", err=True)


def _nothing() -> SessionNotFound:
    return SessionNotFound("no session could be replayed", "see the reasons above, or name another SOURCE")


def _complain(problems: Sequence[str]) -> None:
    for problem in problems:
        typer.echo(f"prunecli: {visible(problem)}", err=True)


def _each(
    paths: Sequence[SessionFile],
    spread: Spread,
    job: Callable[..., Result],
    take: Callable[[Result], Result] = lambda one: one,
) -> tuple[list[Result], list[str]]:
    """Run a job for each session and show the progress. `take` gets each result first.

    An interrupt stops the work at once and reports the progress.
    """
    done: list[Result] = []
    failed: list[Outcome[Result]] = []
    outcomes = spread(paths, job)

    def so_far() -> str:
        return f"{len(done) + len(failed)} of {len(paths)} sessions"

    try:
        with _interrupts(), working(lambda: f"replayed {so_far()}"), closing(outcomes):
            for outcome in outcomes:
                if outcome.result is None:
                    failed.append(outcome)
                else:
                    done.append(take(outcome.result))
    except KeyboardInterrupt as stop:
        typer.echo(f"prunecli: stopped after {so_far()}", err=True)
        raise typer.Exit(128 + (stop.args[0] if stop.args else signal.SIGINT)) from None
    return done, _problems(failed)


def _problems(failed: Sequence[Outcome[Result]]) -> list[str]:
    """Return a line for each file that could not be replayed, by path. Many foreign files share one line."""
    ordered = sorted(failed, key=lambda one: str(one.path))
    foreign = [one for one in ordered if one.foreign]
    if len(foreign) <= _MOST_FOREIGN:
        return [one.problem for one in ordered]
    left_out = f"left out {counted(len(foreign), 'file')} in an unknown format, such as {foreign[0].path}"
    return [*(one.problem for one in ordered if not one.foreign), left_out]


@contextmanager
def _interrupts() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the processes like Ctrl+C, unless they are ignored, as with nohup."""

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    ends = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) == signal.SIG_DFL]
    for end in ends:
        signal.signal(end, stop)
    try:
        yield
    finally:
        for end in ends:
            signal.signal(end, signal.SIG_DFL)


def stage_of(asked: Asked) -> "Stage":
    """Return the settings of a replay from its command line. Raises UsageError and ConfigError."""
    config = configured_by(asked.launch)
    names = asked.strategies or _all(config)
    config = with_options(
        config, asked.options, [one for name in asked.strategies for one in name.split("+")]
    )
    places = Places.of(os.environ)
    if asked.on_return == "ahead":
        config = config.with_value("compaction.ahead", "true").with_value("compaction.on_return", "auto")
    elif asked.on_return:
        config = config.with_value("compaction.on_return", asked.on_return)
    data = places.shipped_data
    models = ModelTable.load(data, config.models)
    if asked.expectations and not os.path.isfile(asked.expectations):
        raise UsageError(f"--expectations: no such file: {asked.expectations}", "create one with --fit FILE")
    table = Table(models.info, config.model.name, asked.model, asked.read, asked.write, asked.window)
    if asked.model and not table.has_price(asked.model):
        raise UsageError(
            f"--model {asked.model}: no known prices",
            'set them as [models."NAME"] prices, or use a model that `prunecli doctor` knows',
        )
    settings = tuple(setting for name in names if (setting := _setting(asked, config, name)))
    ttl = asked.ttl or config.model.cache_ttl
    return Stage(
        config,
        table,
        settings,
        "1h" if ttl == "1h" else "5m",
        _expectations(asked, places),
        asked.fixed,
        asked.compactions,
        asked.plots,
        asked.summaries,
        asked.kept,
    )


def _expectations(asked: Asked, places: Places) -> "Expectations":
    """Return the numbers to use. A damaged file of the user does not prevent a new fit.

    Raises UsageError for a wrong `--expectations`, and ConfigError for a damaged file of the user.
    """
    try:
        return load_expectations(places.shipped_data, asked.expectations or places.expectations_file)
    except ConfigError as error:
        if asked.expectations:  # it may be any file, so do not suggest deleting it
            raise UsageError(f"--expectations: {error.message}", "create one with --fit FILE") from error
        if not asked.fit:
            raise
        return load_expectations(places.shipped_data)


def _setting(asked: Asked, config: "Config", name: str) -> "Setting | None":
    """Return the settings for replaying a strategy; None for no pruning without spill, which is always replayed."""
    spill = name == "auto" if asked.spill is None else asked.spill
    if name == NO_PRUNING and not spill:
        return None
    for one in name.split("+"):
        if hasattr(config.strategies.module(one), "context_edit"):
            raise UsageError(
                f"--strategy {one}: a replay can't show what the endpoint clears itself",
                f"choose from {', '.join(_all(config))}",
            )
    gate = asked.gate or config.pruning.gate
    return Setting(name, "always" if name == NO_PRUNING else gate, spill)


def _all(config: "Config") -> list[str]:
    names = (name for name in config.strategies.names() if name != "auto")
    return ["auto", *(name for name in names if not hasattr(config.strategies.module(name), "context_edit"))]


def _names(given: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, map(str.strip, ",".join(given or ()).split(",")))))
    if given and not names:
        raise UsageError("--strategy: no strategy given", "leave it out to replay all")
    return names


def _finite(flag: str, given: float | None) -> float | None:
    if given is not None and not math.isfinite(given):
        raise UsageError(f"{flag}: expected a number, got {given}")
    return given


def _one_of(flag: str, given: str, known: Sequence[str]) -> str:
    if given and given not in known:
        raise UsageError(f"{flag}: expected {' or '.join(known)}, got {given!r}")
    return given


def _json(report: "Report", notices: Sequence[str]) -> str:
    return json.dumps(
        {
            "sessions": [row.to_json() for rows in report.sessions for row in rows],
            "totals": [row.total_to_json() for row in report.totals],
            "spreads": [one.to_json() for one in report.spreads],
            "validation": report.validation.to_json(),
            **({"notices": list(notices)} if notices else {}),
        }
    )


app = single(replay, flags.WithFit)
