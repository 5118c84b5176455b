"""/cost: cost per model and per request, and the effect of pruning."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import Effect, Say, Table
from prunecli.figures import money, share, short
from prunecli.inspector.spending import Paid, Pruning, paid, pruning
from prunecli.runtime import Runtime

_HEADINGS = ("", "entry", "input", "read", "write", "hit", "output", "cost", "pruned")
"""Token columns: uncached input, cache reads and writes, cache share, output, and tokens withheld by pruning."""

UNKNOWN = "$ ?"
MOST_ROWS = 1_000
"""How many requests to list, newest first; `prunecli sessions audit` lists all."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show tokens and cost per model and request, and the net effect of pruning."""
    choices = runtime.choices
    context = runtime.session.context
    told, thinking = context.counts.told_raw, context.unseen.cost_to
    responses = paid(runtime.session.records, choices.known_price, told, thinking)
    if not responses:
        return [Say("No cost yet: no request has been answered.")]
    models = list(dict.fromkeys(one.model for one in responses))
    rows = [
        _row(model or "(no name)", "", [one for one in responses if one.model == model]) for model in models
    ]
    if len(models) > 1:
        rows.append(_row("all", "", responses))
    rows.append(("",) * len(_HEADINGS))
    newest = responses[: -MOST_ROWS - 1 : -1]
    rows += [_row(_when(one, runtime.setup.zone), str(one.seq), [one]) for one in newest]
    tracked = context.prune_history.rows.values()
    books = pruning(responses, tracked, choices.known_price, runtime.policy.market.ttl_ms)
    note = _note(books, responses)
    if (lost := context.unseen.cost_of_edits()).blocks:
        note += f"\nPruning cost {lost}."
    return [Table("Cost", _HEADINGS, tuple(rows), tuple(range(1, 9)), note)]


def _row(name: str, entry: str, responses: Sequence[Paid]) -> tuple[str, ...]:
    usages = [one.usage for one in responses]
    read = sum(usage.cache_read_input_tokens or 0 for usage in usages)
    written = sum(usage.cache_creation_input_tokens or 0 for usage in usages)
    prompt = sum(usage.prompt_tokens for usage in usages)
    return (
        name,
        entry or f"×{len(responses)}",
        short(sum(usage.input_tokens for usage in usages)),
        short(read),
        short(written),
        share(read / prompt) if prompt else "-",
        short(sum(usage.output_tokens for usage in usages)),
        _total(responses),
        f"~{short(sum(one.withheld for one in responses))}" if any(one.withheld for one in responses) else "",
    )


def _total(responses: Sequence[Paid]) -> str:
    """The sum of the known costs, with "+ ?" if some are unknown."""
    known = [one.cost for one in responses if one.cost is not None]
    if not known:
        return UNKNOWN
    return money(sum(known)) + (" + ?" if len(known) < len(responses) else "")


def _when(one: Paid, zone: tzinfo | None) -> str:
    when = datetime.fromtimestamp(one.timestamp / 1000).astimezone(zone).strftime("%H:%M:%S")
    return when + ("" if one.kind == "answer" else f" {one.kind}")


def _note(found: Pruning, responses: Sequence[Paid]) -> str:
    lines = []
    if len(responses) > MOST_ROWS:
        lines.append(
            f"The newest {MOST_ROWS:,} requests; `prunecli sessions audit ID` lists all {len(responses):,}."
        )
    unknown = sorted({one.model or "(no name)" for one in responses if one.cost is None})
    if unknown:
        names = ", ".join(unknown)
        lines.append(f'No known price for {names}; set [models."NAME"] prices in config.toml.')
    if not found.withheld and not found.rewritten:
        lines.append("Pruning withheld nothing from requests.")
    elif found.saved is None or found.cost is None or found.net is None:
        lines.append(
            f"Pruning kept ~{short(found.withheld)} tokens out of requests and caused ~{short(found.rewritten)} "
            "to be rewritten to the cache; prices unknown."
        )
    else:
        net = ("saved " if found.net >= 0 else "cost ") + f"~{money(abs(found.net))} net"
        lines.append(
            f"Pruning kept ~{short(found.withheld)} tokens out of requests, saving ~{money(found.saved)}; "
            f"rewriting ~{short(found.rewritten)} tokens to the cache cost ~{money(found.cost)}. It {net}."
        )
    if found.cleared:
        lines.append(f"The endpoint itself cleared ~{short(found.cleared)} of these tokens.")
    return "\n".join(lines)
