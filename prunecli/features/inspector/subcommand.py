"""`prunecli context SOURCE`: show the context of the next request. Only the result goes to standard output."""

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli.cli import completions
from prunecli.cli.launch import working_directory
from prunecli.cli.progress import working
from prunecli.cli.shared import configured, own_sessions, single, with_options
from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.economics import Market
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import TokenCounter
from prunecli.features.inspector.inspect import Inspection, inspect
from prunecli.model.events import Record, SessionStarted, SettingChanged
from prunecli.model.record_codec import edit_to_json
from prunecli.providers.models import ModelTable, expectations_of, token_factor
from prunecli.session.importers.known_agents import is_agent
from prunecli.util.errors import SessionCorrupt, SessionNotFound, UsageError
from prunecli.util.figures import short
from prunecli.util.paths import Places
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.session.importers.source import Source

Option = typer.Option


def context(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A session id or name, a session file in any supported format, or @AGENT:ID.",
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
    from prunecli.runtime.choices import Choices

    with working("reading"):
        found = _source(source)
        names = strategy.split(",") if strategy else []
        config = with_options(configured(ctx), options or (), names)
        places = Places.of(os.environ)
        data = places.shipped_data
        table = ModelTable.load(data, config.models)
        model = _model(found.records, at)
        inspection = inspect(
            found.records,
            _chosen(config, names or config.pruning.strategies),
            window=window or table.info(model).context_window or config.pruning.context_tokens,
            counter=_counter(estimator or config.pruning.estimator),
            factor_of=token_factor,
            recall="recall" in config.tools.enabled and not no_recall,
            recorded=found.native and strategy is None,
            at=at,
            expectations=expectations_of(places),
            market_of=partial(_market, config, table, model),
            price=Choices(config, {}, table.info).known_price,
        )
    notices = (*found.notices, *inspection.problems)
    for notice in notices:
        typer.echo(f"prunecli: {visible(notice)}", err=True)
    typer.echo(_json(inspection, notices) if as_json else visible(_table(inspection)))


def _source(text: str) -> "Source":
    from prunecli.session.importers.handoff import find
    from prunecli.session.importers.source import read_source

    path = Path(text)
    try:
        if is_agent(text) and not os.path.exists(path):
            path = find(text, os.environ, working_directory()).path
        elif not os.path.isfile(path):
            if "/" in text or path.suffix:
                raise SessionNotFound(
                    f"no such file: {text}", "SOURCE is a file, a session id or a session name"
                )
            path = own_sessions().find(text)
        return read_source(path)
    except OSError as error:
        raise SessionCorrupt(path, 0, error.strerror or "cannot read it") from error


def _model(records: Sequence[Record], at: int | None) -> str:
    """Return the session's model as of entry `at`: the one chosen with `/model`, else the first one."""
    found = ""
    for record in records:
        if at is not None and record.seq > at:
            break
        match record.event:
            case SessionStarted(model=str(name)) | SettingChanged("model.name", str(name)):
                found = name
            case _:
                pass
    return found


def _chosen(config: Config, names: Sequence[str]) -> tuple[Chosen, ...]:
    return tuple(chosen(config, name) for name in names)


def _counter(estimator: str) -> TokenCounter:
    if estimator not in ("tiktoken", "chars4"):
        raise UsageError(f"no estimator named {estimator!r}", "use tiktoken or chars4")
    from prunecli.providers.tokenizer import counter

    return counter(estimator)


def _market(config: Config, table: ModelTable, model: str, context: Context) -> Market:
    """Return the prices for a session that was begun with this model. There is no time, since the gate is off."""
    from prunecli.runtime.choices import Choices

    return (
        Choices(
            config,
            context.settings,
            table.info,
            caches=context.caches,
            kept=model,
            kept_for=context.cache.ttl,
        )
        .policy_at(None)
        .market
    )


def _json(inspection: Inspection, notices: Sequence[str]) -> str:
    edits = [edit_to_json(edit) for edit in inspection.edits]
    messages = [json.loads(message.canonical) for message in inspection.messages]
    thinking = {
        "blocks": inspection.thinking.blocks,
        "tokens": inspection.thinking.tokens,
        "dropped_blocks": inspection.dropped.blocks,
        "dropped_tokens": inspection.dropped.tokens,
    }
    ledger = inspection.ledger.to_json()
    more = {"notices": list(notices)} if notices else {}
    return json.dumps({"messages": messages, "edits": edits, "ledger": ledger, "thinking": thinking, **more})


def _table(inspection: Inspection) -> str:
    ledger = inspection.ledger
    lines = [
        f"{edit.kind:<6} entry {edit.seq:<6} {f'~{short(before)}':>7} → {f'~{short(after)}':<7} "
        f"{(edit.text or '').splitlines()[0][:80] if edit.text else ''}".rstrip()
        for edit, (before, after) in zip(inspection.edits, inspection.sizes, strict=True)
    ]
    lines += [f"{name}: {note}" for name, note in inspection.notes if note not in ("", *inspection.problems)]
    lines.append(
        f"{len(inspection.messages)} messages, ~{short(ledger.context_tokens)} of {short(ledger.window)} tokens · "
        f"scanned ~{short(ledger.scanned_tokens)} · pruned ~{short(ledger.pruned_tokens)} · "
        f"protected {ledger.protected_words}"
    )
    lines += [ledger.held_words] if ledger.held_results else []
    if ledger.cleared_tokens:
        lines.append(f"{ledger.clearing.words}, oldest first")
    return "\n".join(lines)


app = single(context)
