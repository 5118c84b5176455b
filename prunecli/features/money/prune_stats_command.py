"""/prune-stats: the ledger, and the cost of each prune and undo."""

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo

from prunecli.commands.command import Effect, Say, Table, refuse
from prunecli.context.ledger import Ledger
from prunecli.context.lineage import branch
from prunecli.context.prune_history import PruneStats
from prunecli.context.spending import Pruning, rewrites
from prunecli.features.money.cost_command import net
from prunecli.model.events import PrunApplied
from prunecli.runtime import Runtime
from prunecli.runtime.balance import billed
from prunecli.util.figures import counted, in_tokens, money, share, short

ALIASES = ("stats",)

_HEADINGS = (
    "no.",
    "time",
    "source",
    "strategy",
    "pruned",
    "before",
    "after",
    "cache cost",
    "re-reads",
    "reason",
)
_NOTE = (
    "pruned: as it was shown when it was made · before and after: the whole next request then · cache cost: tokens "
    "rewritten because the prefix changed, ~ until the endpoint has reported the next request · re-reads: pruned "
    "content fetched again, and its tokens"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show tokens scanned, pruned and protected, and each prune with its cost and re-reads."""
    refuse("prune-stats", arguments.split())
    status = runtime.status()
    ledger, bill = status.ledger, status.bill
    history = runtime.session.context.prune_history
    tracked = list(history.rows.values())
    costs = _costs(runtime)
    mark = "~" if status.estimated else ""
    balance = runtime.balance.now
    protected, _, where = ledger.protected_words.partition(" ")
    summary = [
        *_balance(balance, len(history.fetches)),
        f"scanned    {_about(ledger.scanned_tokens):>8} tokens of answers and tool results",
        f"pruned     {_about(ledger.pruned_tokens):>8} tokens that the model does not see now",
        *_cleared(ledger),
        *_held(ledger),
        f"protected  {protected:>8} {where}",
        f"context    {ledger.used_words(mark)}",
        f"cache      {share(bill.hit_share):>8} of prompt tokens read from it",
        f"cost       {money(bill.cost):>8} in {counted(bill.requests, 'request')}",
    ]
    if not tracked:
        return [Say("\n".join((*summary, "no prunes yet")))]
    if balance.rewritten:
        listed = sum(tokens for row, (tokens, _) in zip(tracked, costs, strict=True) if row.measured)
        part = f", {short(listed)} by the prunes listed" if listed != balance.rewritten else ""
        summary.append(f"rewritten  {short(balance.rewritten):>8} tokens to the prompt cache{part}")
    if again := sum(len(row.rereads) for row in tracked):
        summary.append(f"re-reads   {again:>8} of pruned content")
    ended = _ended(runtime)
    rows = tuple(
        _row(row, cost, runtime.setup.zone, ended(row))
        for row, cost in reversed(list(zip(tracked, costs, strict=True)))
    )
    title = f"Pruning {net(balance.balance)} in this session" if balance.balance is not None else "Pruning"
    return [Table(title, _HEADINGS, rows, (0, 4, 5, 6, 7, 8), "\n".join((*summary, _NOTE)))]


def _costs(runtime: Runtime) -> list[tuple[int, float]]:
    """Return the tokens that each prune and undo made the cache store again, and their cost in USD: as measured,
    or an estimate until the endpoint has reported the next request."""
    rows, choices = runtime.session.context.prune_history.rows, runtime.choices
    found = rewrites(billed(runtime.session, choices), rows, choices.price)
    return [found.get(seq) or row.cache_cost(choices.price, choices.ttl_ms) for seq, row in rows.items()]


def _ended(runtime: Runtime) -> Callable[[PruneStats], str]:
    """Return a function that names the reason why a prune or an undo has no effect now; "" if it has one."""
    context = runtime.session.context
    live = {record.seq for record in context.live_pruns()}
    present = {record.seq for record in branch(runtime.session.records)[0]}

    def ended(row: PruneStats) -> str:
        if row.seq not in present:
            return "rewound"
        if row.undone or row.seq in live:
            return ""
        prun = context.pruns.get(row.seq)
        edits = prun.event.edits if prun and isinstance(prun.event, PrunApplied) else ()
        return "summarized" if any(context.in_force(row.seq, edit) for edit in edits) else "undone"

    return ended


def _balance(found: Pruning, fetches: int) -> list[str]:
    if found.saved is None or found.cost is None or found.regret is None or found.balance is None:
        return []
    if not (found.withheld or found.cost or found.regret):
        return []
    lines = (
        ("less", found.saved, f"for {in_tokens(found.withheld)} not sent"),
        ("more", found.cost, "for rewriting tokens to the prompt cache"),
        ("more", found.regret, f"for fetching {counted(fetches, 'result')} again"),
    )
    rows = [f"  {name:<8} {money(usd):>8} {words}" for name, usd, words in lines if usd]
    return [f"saved      {money(found.balance):>8}", *rows]


def _cleared(ledger: Ledger) -> list[str]:
    uses = ledger.cleared_tool_uses
    what = f"tokens in {counted(uses, 'tool use')}, by the endpoint"
    return [f"endpoint   {short(ledger.cleared_tokens):>8} {what}"] if ledger.cleared_tokens else []


def _held(ledger: Ledger) -> list[str]:
    what = f"tokens not sent, of {counted(ledger.held_results, 'long result')}"
    return [f"shortened  {_about(ledger.held_tokens):>8} {what}"] if ledger.held_results else []


def _about(tokens: int) -> str:
    return f"~{short(tokens)}" if tokens else "0"


def _row(row: PruneStats, cost: tuple[int, float], zone: tzinfo | None, ended: str) -> tuple[str, ...]:
    tokens, usd = cost
    mark = "" if row.measured else "~"
    again = f"{len(row.rereads)}, ~{short(row.reread_tokens)}" if row.rereads else "0"
    return (
        str(row.seq),
        datetime.fromtimestamp(row.timestamp / 1000).astimezone(zone).strftime("%H:%M:%S"),
        row.source,
        "undo" if row.undone else row.strategy or "-",
        short(row.shown),
        short(row.tokens_before),
        short(row.tokens_after),
        f"{mark}{short(tokens)} {mark}{money(usd)}" if tokens else "-",
        again,
        f"{row.reason} ({ended})" if ended else row.reason,
    )
