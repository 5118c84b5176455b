"""`prunecli context SOURCE`: inspects a context from outside. Only the result goes to standard output.

`inspect` runs the engine on plain records, also for other programs: the next request, with recorded or proposed
edits. The gate is off.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from prunecli.context.expectations import Expectations
from prunecli.context.inputs import cut_of
from prunecli.context.ledger import Ledger, ledger, prun_applied
from prunecli.context.lost_thinking import ThinkingSum
from prunecli.context.outline import USED, Outline, Part, window_map
from prunecli.context.spending import Price, balance
from prunecli.context.state import Context
from prunecli.context.strategy import Chosen
from prunecli.context.tokens import NOTHING, Amount, TokenCounter, total
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    Record,
    SessionStarted,
    SettingChanged,
    is_edit,
)
from prunecli.model.messages import Usage
from prunecli.model.record_codec import edit_to_json
from prunecli.model.requests import WireMessage, messages_json
from prunecli.providers.models import ModelTable, expectations_of, token_factor
from prunecli.providers.tokenizer import counter
from prunecli.runtime.choices import Choices
from prunecli.session.importers.handoff import find
from prunecli.session.importers.known_agents import is_agent
from prunecli.session.importers.remote import plain
from prunecli.session.importers.remote_finding import is_url, one_at
from prunecli.session.importers.source import read_source
from prunecli.util.errors import SessionCorrupt, SessionNotFound, UsageError
from prunecli.util.figures import in_tokens, share, short
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.session.importers.source import Source


_FILLS: dict[Part, str] = {
    "system": "system prompt",
    "instructions": "instruction files",
    "tools": "tool descriptions",
    "user": "your messages",
    "answers": "answers and thinking",
    "results": "tool results",
    "notes": "memos and summaries",
}


@frozen
class Inspection:
    """The next request: messages, edits, ledger, each strategy's note, and problems to fix.

    `sizes` are the tokens of each edit's target before and after it, as the endpoint counts them. `thinking` is the
    thinking of its answers that the model sees, and `dropped` the thinking that it does not see.
    """

    messages: tuple[WireMessage, ...]
    edits: tuple[Edit, ...]
    ledger: Ledger
    notes: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
    thinking: ThinkingSum = ThinkingSum()
    dropped: ThinkingSum = ThinkingSum()
    sizes: tuple[tuple[int, int], ...] = ()
    filled: tuple[tuple[str, int], ...] = ()
    """What fills the context before the strategies' edits: the words for each part, and its tokens."""


def inspect(
    records: Sequence[Record],
    chosen: Sequence[Chosen],
    *,
    window: int,
    counter: TokenCounter,
    factor_of: Callable[[str], float] = lambda _: 1.0,
    recall: bool = False,
    recorded: bool = False,
    at: int | None = None,
    expectations: Expectations | None = None,
    market_of: Callable[[Context], Market] = lambda _: Market(),
    price: Price = lambda *_: None,
) -> Inspection:
    """Return the next request of these records, up to entry `at`.

    With `recorded`, the edits in the log apply and no strategy runs; `price` is for the balance in the ledger.
    Otherwise the log's edits are ignored and the strategies propose in order, each seeing the proposals before it.
    `market_of` returns the prices of a context, without a time, so that no strategy waits.
    """
    context = Context(counter, factor_of)
    last = at if at is not None else max((record.seq for record in records), default=0)
    pruned = False
    for record in records:
        if record.seq > last:
            break
        if not recorded and is_edit(record.event):
            pruned = True
            continue
        context.apply(_without_report(record) if pruned else record)
    market = market_of(context)
    view = View(context, window, recall=recall, market=market, expectations=expectations)
    if recorded:
        shown = [record for record in records if record.seq <= last]
        found = balance(shown, context, price).to_json
        figures = replace(ledger(view, chosen), balance=found)
        live = _live(context)
        lost, sizes, filled = _thinking(context), _sizes(context, live), _filled(context, shown)
        return Inspection(context.messages(), live, figures, (), (), *lost, sizes, filled)
    filled = _filled(context, records)
    notes, problems, edits = list[tuple[str, str]](), list[str](), list[Edit]()
    for one in chosen:
        proposal = one.propose(view)
        notes.append((one.name, proposal.note))
        problems += [proposal.problem] if proposal.problem else []
        if proposal.edits:
            last += 1
            event = prun_applied(view, "strategy", proposal.edits, strategy=one.name)
            context.apply(Record(last, 0, event))
            edits += proposal.edits
    return Inspection(
        context.messages(),
        tuple(edits),
        ledger(view, chosen),
        tuple(notes),
        tuple(problems),
        *_thinking(context),
        _sizes(context, edits),
        filled,
    )


def _filled(context: Context, records: Sequence[Record]) -> tuple[tuple[str, int], ...]:
    """Return the parts of the context, largest first; of tool results, the three tools with the most."""
    outline = Outline(context, records)
    found = window_map(outline, 0, 0, 0)
    parts = {_FILLS[part]: found.of(part) for part in USED}
    tools = ", ".join(f"{name} {short(sums.left)}" for name, sums in outline.tools[:3] if sums.left)
    named = {
        f"tool results ({tools})" if name == "tool results" and tools else name: n
        for name, n in parts.items()
    }
    return tuple(sorted(((name, n) for name, n in named.items() if n), key=lambda one: -one[1]))


def _thinking(context: Context) -> tuple[ThinkingSum, ThinkingSum]:
    """Return the thinking that the model sees, and the thinking that it does not see although its answers are
    there."""
    unseen = context.unseen
    heads = [
        item
        for item in context.items
        if item.kind == "assistant"
        and item.is_sent
        and not (item.exchange and context.dropped(item.exchange))
        and unseen.blocks([item])
    ]
    lacking = [item for item in heads if unseen.lacks(item.seq)]
    return unseen.sum([item for item in heads if not unseen.lacks(item.seq)]), unseen.sum(lacking)


def _sizes(context: Context, edits: Sequence[Edit]) -> tuple[tuple[int, int], ...]:
    """Return the tokens of each edit's target before and after it; edits before it apply already."""
    counts, earlier = context.counts, dict[int, Edit]()
    found = list[tuple[int, int]]()
    for edit in edits:
        entry = context.entries[edit.seq]
        before, after = counts.amount(entry, earlier.get(edit.seq)), NOTHING
        match edit.kind:
            case "drop":
                parts = entry.exchange.entries if entry.exchange else (entry,)
                before = total(counts.amount(part, earlier.get(part.seq)) for part in parts)
            case "memo":
                before, after = NOTHING, Amount(counts.memo_tokens(edit))
            case "strip":
                after = counts.amount(entry, silent=True)
            case "clear" | "trim" | "cut" | "repair":
                was = earlier.get(edit.seq)
                now = cut_of([*([was] if was else ()), edit]) or edit
                after, earlier[edit.seq] = counts.amount(entry, now), now
        found.append((counts.scale.tokens(*before), counts.scale.tokens(*after)))
    return tuple(found)


def _without_report(record: Record) -> Record:
    """Return a response without its report on the request, because the request had edits that are ignored here."""
    if not isinstance(record.event, AssistantMessage):
        return record
    usage = Usage(output_tokens=record.event.usage.output_tokens)
    return replace(record, event=replace(record.event, usage=usage, input_transformations=None))


def _live(context: Context) -> tuple[Edit, ...]:
    """Return the edits in effect, in the order of their decisions."""
    return tuple(
        edit
        for record in context.live_pruns()
        if isinstance(record.event, PrunApplied)
        for edit in record.event.edits
        if context.in_force(record.seq, edit)
    )


Option = typer.Option


def context(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A session id or name, a session file in any supported format, its URL, or @AGENT:ID.",
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
    path = Path(text)
    try:
        if is_url(text):
            return read_source(one_at(text))
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
        raise SessionCorrupt(
            plain(text) if is_url(text) else path, 0, error.strerror or "cannot read it"
        ) from error


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
    return counter(estimator)


def _market(config: Config, table: ModelTable, model: str, context: Context) -> Market:
    """Return the prices for a session that was begun with this model. There is no time, since the gate is off."""
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
    messages = messages_json(inspection.messages)
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
    whole = sum(tokens for _, tokens in inspection.filled) or 1
    lines = [f"{short(tokens):>6} {share(tokens / whole):>4}  {name}" for name, tokens in inspection.filled]
    lines += [
        f"{edit.kind:<6} entry {edit.seq:<6} {f'~{short(before)}':>7} → {f'~{short(after)}':<7} "
        f"{(edit.text or '').splitlines()[0][:80] if edit.text else ''}".rstrip()
        for edit, (before, after) in zip(inspection.edits, inspection.sizes, strict=True)
    ]
    lines += [f"{name}: {note}" for name, note in inspection.notes if note not in ("", *inspection.problems)]
    lines.append(
        f"{len(inspection.messages)} messages, ~{short(ledger.context_tokens)} of {in_tokens(ledger.window)} · "
        f"scanned ~{short(ledger.scanned_tokens)} · pruned ~{short(ledger.pruned_tokens)} · "
        f"protected {ledger.protected_words}"
    )
    lines += [ledger.held_words] if ledger.held_results else []
    if ledger.cleared_tokens:
        lines.append(f"{ledger.clearing.words}, oldest first")
    return "\n".join(lines)


app = single(context)
