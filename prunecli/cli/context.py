"""`prunecli context SOURCE`: the context of the next request. Only the answer goes to standard output."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli.cli import completions
from prunecli.cli.shared import configured, single
from prunecli.cli.working import working
from prunecli.config import Config
from prunecli.config.references import chosen
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import TokenCounter
from prunecli.errors import ConfigError, SessionCorrupt, SessionNotFound, UsageError
from prunecli.figures import short
from prunecli.inspector.inspect import Inspection, inspect
from prunecli.model.record_codec import edit_to_json
from prunecli.paths import Places
from prunecli.providers.models import ModelTable, token_factor
from prunecli.sanitize import visible
from prunecli.session.store import Store

if TYPE_CHECKING:
    from prunecli.session.importers.source import Source

Option = typer.Option


def context(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A session, or a session, agent-session/1 or messages file.",
            autocompletion=completions.sessions,
        ),
    ],
    strategy: Annotated[
        str | None,
        Option(
            "--strategy",
            help="A strategy, or several separated by commas.",
            autocompletion=completions.strategies,
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        Option("-o", metavar="KEY=VALUE", help="A strategy option, such as pi.prune_minimum=0."),
    ] = None,
    window: Annotated[int | None, Option("--window", min=1, help="Context window in tokens.")] = None,
    at: Annotated[int | None, Option("--at", min=0, help="Show the context as of this entry.")] = None,
    estimator: Annotated[
        str | None, Option("--estimator", help="Token estimator: tiktoken or chars4.")
    ] = None,
    no_recall: Annotated[bool, Option("--no-recall", help="Omit recall handles from placeholders.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the context of the next request: with recorded edits, or with what a strategy proposes."""
    with working("reading"):
        found = _source(source)
        config = _configured(ctx, options or (), strategy)
        names = strategy.split(",") if strategy else config.pruning.strategies
        inspection = inspect(
            found.records,
            _chosen(config, names),
            window=window or _window(found, config),
            counter=_counter(estimator or config.pruning.estimator),
            factor_of=token_factor,
            recall="recall" in config.tools.enabled and not no_recall,
            recorded=found.native and strategy is None,
            at=at,
        )
    for notice in (*found.notices, *inspection.problems):
        typer.echo(f"prunecli: {visible(notice)}", err=True)
    typer.echo(_json(inspection) if as_json else visible(_table(inspection)))


def _source(text: str) -> "Source":
    from prunecli.session.importers.source import read_source

    path = Path(text)
    try:
        if not path.is_file():
            if "/" in text or path.suffix:
                raise SessionNotFound(
                    f"no such file: {text}", "SOURCE is a file, a session id or a session name"
                )
            path = Store(Places.of(os.environ).sessions).find(text)
        return read_source(path)
    except OSError as error:
        raise SessionCorrupt(path, 0, error.strerror or "cannot read it") from error


def _configured(ctx: typer.Context, options: Sequence[str], strategy: str | None) -> Config:
    """The user's configuration with `-o` options.

    `pi.prune_minimum=0` sets the option of one strategy, `prune_minimum=0` that of every given strategy that has it.
    """
    config = configured(ctx)
    names = _real(strategy.split(",")) if strategy else []
    if options and not names:
        raise UsageError("-o: no strategy given", "name one with --strategy")
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise ConfigError(f"-o {option}: expected KEY=VALUE")
        if key.partition(".")[0] in names:
            keys = [key]
        else:
            found = [f"{name}.{key}" for name in names]
            keys = [one for one in found if config.has(one)] or found[:1]
        for one in keys:
            config = config.with_value(one, value, f"-o {key}")
    return config


def _real(names: Sequence[str]) -> list[str]:
    """The strategies behind the names; `auto` stands for several."""
    from prunecli.runtime.choices import AUTO

    return [one for name in names for one in (AUTO if name == "auto" else (name,))]


def _chosen(config: Config, names: Sequence[str]) -> tuple[Chosen, ...]:
    return tuple(chosen(config, name) for name in _real(names))


def _counter(estimator: str) -> TokenCounter:
    if estimator not in ("tiktoken", "chars4"):
        raise UsageError(f"no estimator named {estimator!r}", "use tiktoken or chars4")
    from prunecli.providers.tokenizer import counter

    return counter(estimator)


def _window(found: "Source", config: Config) -> int:
    table = ModelTable.load(Places.of(os.environ).shipped_data, config.models)
    started = getattr(found.records[0].event, "model", "") if found.records else ""
    known = table.info(started).context_window if started else 0
    return known or config.pruning.context_tokens


def _json(inspection: Inspection) -> str:
    edits = [edit_to_json(edit) for edit in inspection.edits]
    messages = [json.loads(message.canonical) for message in inspection.messages]
    return json.dumps({"messages": messages, "edits": edits, "ledger": inspection.ledger.to_json()})


def _table(inspection: Inspection) -> str:
    ledger = inspection.ledger
    lines = [
        f"{edit.kind:<6} entry {edit.seq:<6} {short(edit.tokens_before):>7} → {short(edit.tokens_after):<7} "
        f"{(edit.text or '').splitlines()[0][:80] if edit.text else ''}".rstrip()
        for edit in inspection.edits
    ]
    lines += [f"{name}: {note}" for name, note in inspection.notes if note not in ("", *inspection.problems)]
    lines.append(
        f"{len(inspection.messages)} messages, ~{short(ledger.context_tokens)} of {short(ledger.window)} tokens · "
        f"scanned {short(ledger.scanned_tokens)} · pruned ~{short(ledger.pruned_tokens)} · "
        f"protected {short(ledger.protected_tokens)} in {ledger.protected_results} results"
    )
    if ledger.cleared_tokens:
        lines.append(f"{ledger.clearing.words}, oldest first")
    return "\n".join(lines)


app = single(context)
