"""/prune-stats: the ledger, and the cost of each prune and undo."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import Effect, Say, Table
from prunecli.context.ledger import Ledger
from prunecli.context.prune_history import PruneStats
from prunecli.figures import money, share, short
from prunecli.runtime import Runtime

ALIASES = ("stats",)

_HEADINGS = (
    "no.",
    "time",
    "source",
    "strategy",
    "before",
    "after",
    "saved",
    "cache cost",
    "re-reads",
    "reason",
)
_NOTE = (
    "before and after: the whole next request · cache cost: tokens rewritten because the prefix changed, "
    "~ until the endpoint has reported the next request · re-reads: pruned content fetched again"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show tokens scanned, pruned and protected, and each prune with its cost and re-reads."""
    status = runtime.status()
    ledger, bill = status.ledger, status.bill
    tracked = list(runtime.session.context.prune_history.rows.values())
    costs = [row.cache_cost(runtime.choices.price, runtime.policy.market.ttl_ms) for row in tracked]
    mark = "~" if status.estimated else ""
    used = f", {mark}{share(ledger.context_tokens / ledger.window)}" if ledger.window else ""
    summary = [
        f"scanned    {short(ledger.scanned_tokens):>8} tokens of tool results",
        f"pruned     {short(ledger.pruned_tokens):>8} tokens withheld now",
        *_cleared(ledger),
        f"protected  {short(ledger.protected_tokens):>8} tokens in {ledger.protected_results} results",
        f"context    {mark + short(ledger.context_tokens):>8} of {short(ledger.window)} tokens{used}",
        f"cache      {share(bill.hit_share):>8} of prompt tokens read back",
        f"cost       {money(bill.cost):>8} in {bill.requests} requests",
    ]
    if not tracked:
        return [Say("\n".join(summary) + "\nno prunes yet")]
    again = sum(len(row.rereads) for row in tracked)
    summary.append(
        f"rewritten  {short(sum(tokens for tokens, _ in costs)):>8} tokens by cache breaks, "
        f"{money(sum(usd for _, usd in costs))}"
    )
    summary.append(f"re-reads   {again:>8} of pruned content")
    live = runtime.session.context.pruns
    rows = tuple(
        _row(row, cost, runtime.setup.zone, in_force=row.undone or row.seq in live)
        for row, cost in zip(tracked, costs, strict=True)
    )
    return [Say("\n".join(summary)), Table("Prunes", _HEADINGS, rows, (0, 4, 5, 6, 7, 8), _NOTE)]


def _cleared(ledger: Ledger) -> list[str]:
    uses = ledger.cleared_tool_uses
    what = f"tokens in {uses} tool use{'s' * (uses != 1)}, by the endpoint"
    return [f"cleared    {short(ledger.cleared_tokens):>8} {what}"] if ledger.cleared_tokens else []


def _row(row: PruneStats, cost: tuple[int, float], zone: tzinfo | None, *, in_force: bool) -> tuple[str, ...]:
    tokens, usd = cost
    mark = "" if row.measured else "~"
    again = f"{len(row.rereads)} (~{short(row.reread_tokens)})" if row.rereads else "0"
    return (
        str(row.seq),
        datetime.fromtimestamp(row.timestamp / 1000).astimezone(zone).strftime("%H:%M:%S"),
        row.source,
        "undo" if row.undone else row.strategy or "-",
        short(row.tokens_before),
        short(row.tokens_after),
        share(row.share),
        f"{mark}{short(tokens)} {mark}{money(usd)}" if tokens else "-",
        again,
        row.reason if in_force else f"{row.reason} (undone)",
    )
