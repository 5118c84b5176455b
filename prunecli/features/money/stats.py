"""`prunecli sessions stats`: tokens, cost, cache and prunes of all sessions, by day, project and model."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.progress import working
from prunecli.cli.session_files import files_of
from prunecli.cli.shared import configured, single
from prunecli.context.state import Context
from prunecli.features.money.stats_page import page
from prunecli.features.money.usage import Pricing, SessionUsage, Sums, cells, cost_words, pruning_words
from prunecli.features.money.usage_store import UsageReport, UsageStore, report_of, usage_at
from prunecli.front.html import check_page, write_new
from prunecli.model.codec import well_formed
from prunecli.providers.models import ModelTable, cost, token_factor
from prunecli.providers.tokenizer import counter
from prunecli.runtime.offered_models import with_prices
from prunecli.session.importers.remote import SessionFile
from prunecli.session.store import Store
from prunecli.util.errors import SessionError
from prunecli.util.figures import counted, share, short
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line, visible

MOST_ROWS = 20
"""Maximum rows of each table on the terminal; JSON and the page have all rows."""
_NAME = 20
_HEAD = ("requests", "prompt", "output", "hit", "cost", "prunes", "saved")
_WIDTHS = (8, 7, 6, 4, 9, 6, 8)


def stats(
    ctx: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Session files of any agent, folders of them, or URLs of both; by default your own sessions.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=100_000, help="Only the last N days, today included.")
    ] = None,
    project: Annotated[
        bool, typer.Option("--project/--all", help="Only sessions of this directory, or all.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a self-contained page with plots.")
    ] = None,
) -> None:
    """Show tokens, cost, cache hits and prunes by day, project and model."""
    if html is not None:
        check_page(html)
    report = _report(ctx, sources or (), days, well_formed(str(working_directory())) if project else "")
    if html is not None:
        write_new(html, page(report), force=True)
        typer.echo(f"prunecli: wrote {html}", err=True)
    typer.echo(json.dumps(report.to_json(), indent=1) if as_json else visible("\n".join(lines(report))))


app = single(stats)


def _report(ctx: typer.Context, sources: Sequence[str], days: int | None, cwd: str) -> UsageReport:
    places = Places.of(os.environ)
    given, problems = files_of(sources)
    _complain(problems)
    own = sorted(Store(places.sessions).paths())
    pricing, key = _pricing(ctx, places)
    done, found = 0, UsageStore(places.sessions, pricing, key).each(own)

    def read() -> Iterator[tuple[SessionFile, SessionUsage | None]]:
        nonlocal done
        for done, one in enumerate(_each(given, pricing) if sources else found):  # noqa: B007  # shown as progress
            yield one

    since = (date.today() - timedelta(days=days - 1)).isoformat() if days else ""
    try:
        with working(lambda: f"reading {done:,} of {len(given or own):,} sessions"):
            return report_of(read(), since=since, cwd=cwd)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _each(files: Sequence[SessionFile], pricing: Pricing) -> Iterator[tuple[SessionFile, SessionUsage]]:
    """Yield the usage of each file, and name those that cannot be read."""
    for file in files:
        try:
            yield file, usage_at(file, pricing)
        except OSError as error:
            _complain([f"{file}: {error.strerror or error}"])
        except SessionError as error:
            _complain([str(error)])


def _complain(problems: Sequence[str]) -> None:
    for problem in problems:
        typer.echo(f"prunecli: {visible(problem)}", err=True)


def _pricing(ctx: typer.Context, places: Places) -> tuple[Pricing, str]:
    """Return the pricing of usage under this configuration, and a key that changes with it."""
    config = configured(ctx)
    table = ModelTable.load(places.shipped_data, config.models)
    ttl, estimator = config.model.cache_ttl, config.pruning.estimator
    shipped = (places.shipped_data / "models.json").read_bytes()
    own = sorted(
        (name, repr([getattr(facts.prices, one) for one in _PRICES])) for name, facts in config.models.items()
    )
    zone = time.tzname, time.timezone, time.altzone, os.environ.get("TZ", "")
    pricing = Pricing(
        lambda model, usage, recorded: cost(usage, with_prices(table.info(model), recorded), ttl),
        lambda: Context(counter(estimator), token_factor),
    )
    return pricing, f"{ttl} {estimator} {zone} {own} {hash_of(shipped)}"


_PRICES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def hash_of(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


# The terminal ------------------------------------------------------------------------------------------------


def lines(report: UsageReport) -> list[str]:
    if not report.sessions and not report.damaged:
        return ["no sessions yet"]
    found = [*_summary(report), ""]
    for title, parts, last in (
        ("day", report.days, True),
        ("project", report.projects, False),
        ("model", report.models, False),
    ):
        if parts:
            found += [*_table(title, parts, newest=last), ""]
    if report.foreign:
        found += [*_table("imported", {"other agents": report.imported})]
        found += ["Imported: usage reported by other agents, at our prices; not included above.", ""]
    found += _notes(report)
    return found[:-1] if not found[-1] else found


def _summary(report: UsageReport) -> list[str]:
    sums, days = report.total, list(report.days)
    span = f"{days[0]} to {days[-1]}" if len(days) > 1 else "".join(days)
    sessions, projects = report.count, len(report.projects)
    return [
        " · ".join(filter(None, [span, counted(sessions, "session"), counted(projects, "project")])),
        f"{counted(sums.requests, 'request')}: {short(sums.prompt)} prompt tokens, {share(sums.hit)} from the cache; "
        f"{short(sums.output)} output",
        f"{cost_words(sums)}; {pruning_words(sums)}",
    ]


def _table(title: str, parts: dict[str, Sums], *, newest: bool = False) -> list[str]:
    rows = list(parts.items())
    shown = rows[-MOST_ROWS:] if newest else rows[:MOST_ROWS]
    found = [_line(title, _HEAD), *(_line(_short(name), cells(sums)) for name, sums in shown)]
    left = len(rows) - len(shown)
    return [*found, f"… {left:,} {'earlier' if newest else 'more'}: --json or --html"] if left else found


def _line(name: str, row: Sequence[str]) -> str:
    parts = (cell.rjust(width) for cell, width in zip(row, _WIDTHS, strict=True))
    return f"{name:<{_NAME}}{'  '.join(parts)}".rstrip()


def _short(name: str) -> str:
    """Return the name shortened to fit; a path is cut from the left."""
    name, home = one_line(name), os.path.expanduser("~")
    name = "~" + name.removeprefix(home) if name.startswith(home + os.sep) else name
    return name if len(name) < _NAME else f"…{name[len(name) - _NAME + 2 :]}"


def _notes(report: UsageReport) -> list[str]:
    found = []
    if report.total.unpriced:
        found.append('"?": no known price; set [models."NAME"] prices in config.toml.')
    if report.tasks:
        found.append(f"{counted(report.tasks, 'task')} of subagents: billed to their sessions, counted once.")
    if report.damaged:
        found.append(f"{counted(len(report.damaged), 'damaged session')}:")
        for name, bad in report.damaged[:MOST_ROWS]:
            why = "no readable line" if bad is None else f"{counted(bad, 'line')} skipped"
            found.append(f"  {name}: {why}")
        if len(report.damaged) > MOST_ROWS:
            found.append(f"  … {len(report.damaged) - MOST_ROWS:,} more")
    return found
