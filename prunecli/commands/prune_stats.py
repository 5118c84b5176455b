"""/prune-stats: the ledger, and each prune with its time, source, strategy, tokens and reason."""

from collections.abc import Sequence
from datetime import datetime

from prunecli.commands.command import Effect, Say, Table
from prunecli.figures import money, share, short
from prunecli.model.events import PrunApplied, Record
from prunecli.runtime import Runtime

ALIASES = ("stats",)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:  # noqa: ARG001  # every command is called alike
    """Show what was scanned, pruned and protected, and every prune so far."""
    status = runtime.status()
    ledger, bill = status.ledger, status.bill
    summary = [
        f"scanned    {short(ledger.scanned_tokens):>8} tokens of tool results",
        f"pruned     {short(ledger.pruned_tokens):>8} tokens withheld now",
        f"protected  {short(ledger.protected_tokens):>8} tokens in {ledger.protected_results} results",
        f"context    {short(ledger.context_tokens):>8} of {short(ledger.window)} tokens",
        f"cache      {share(bill.hit_share):>8} of prompt tokens read back",
        f"cost       {money(bill.cost):>8} in {bill.requests} requests",
    ]
    rows = tuple(_row(record) for record in runtime.session.records if isinstance(record.event, PrunApplied))
    if not rows:
        return [Say("\n".join(summary) + "\nno prune so far")]
    headings = ("time", "source", "strategy", "before", "after", "saved", "reason")
    return [Say("\n".join(summary)), Table("Prunes", headings, rows, (3, 4, 5))]


def _row(record: Record) -> tuple[str, ...]:
    event = record.event
    assert isinstance(event, PrunApplied)  # noqa: S101  # only these records are given
    before = sum(edit.tokens_before for edit in event.edits)
    after = sum(edit.tokens_after for edit in event.edits)
    saved = share(event.tokens_removed / before) if before else "-"
    when = datetime.fromtimestamp(record.timestamp / 1000).astimezone().strftime("%H:%M:%S")
    return (when, event.source, event.strategy or "-", short(before), short(after), saved, event.reason)
