"""/cost: cost per model and per request, and the effect of pruning."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import Effect, Say, Table
from prunecli.figures import money, share, short
from prunecli.inspector.spending import Paid, Pruning
from prunecli.providers.models import SEARCH_USD
from prunecli.runtime import Runtime
from prunecli.runtime.balance import payments

_HEADINGS = ("", "entry", "input", "read", "write", "hit", "output", "cost", "pruned")
"""Token columns: uncached input, cache reads and writes, cache share, output, and tokens withheld by pruning."""

UNKNOWN = "$ ?"
MOST_ROWS = 1_000
"""How many requests to list, newest first; `prunecli sessions audit` lists all."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show tokens and cost per model and request, and the net effect of pruning."""
    context = runtime.session.context
    responses = payments(runtime.session, runtime.choices)
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
    note = _note(runtime.balance.now, responses, len(context.prune_history.fetches))
    if searches := sum(one.usage.web_search_requests or 0 for one in responses):
        note += f"\nWeb searches by the endpoint: {searches}, {money(searches * SEARCH_USD)}."
    note += "".join(f"\n{line}" for line in runtime.subagents.lines())
    if (lost := context.unseen.cost_of_edits()).blocks:
        note += f"\nPruning cost {lost}."
    return [Table("Cost", _HEADINGS, tuple(rows), tuple(range(1, 9)), note)]


def net(balance: float) -> str:
    """The balance in words: saved $1.84 net, cost $0.12 net."""
    return f"{'saved' if balance >= 0 else 'cost'} {money(abs(balance))} net"


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


def _note(found: Pruning, responses: Sequence[Paid], fetches: int) -> str:
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
    elif found.saved is None or found.cost is None or found.regret is None or found.balance is None:
        lines.append(
            f"Pruning kept ~{short(found.withheld)} tokens out of requests and caused ~{short(found.rewritten)} "
            "to be rewritten to the cache; prices unknown."
        )
    else:
        again = (
            f", fetching {fetches} result{'s' * (fetches != 1)} again ~{money(found.regret)}"
            if fetches
            else ""
        )
        lines.append(
            f"It kept ~{short(found.withheld)} tokens out of requests, saving ~{money(found.saved)}; "
            f"rewriting ~{short(found.rewritten)} tokens to the cache cost ~{money(found.cost)}{again}."
        )
        lines.append(f"Pruning {net(found.balance)} in this session.")
    if found.cleared:
        lines.append(f"The endpoint itself cleared ~{short(found.cleared)} of these tokens.")
    return "\n".join(lines)
