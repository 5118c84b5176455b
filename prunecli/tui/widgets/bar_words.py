"""What each part of the status bar means, with this session's numbers. Imported with the first `?` or click."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prunecli.tui.widgets.status import COLD, waiting
from prunecli.util.figures import counted, money, short
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.context.spending import Pruning
    from prunecli.runtime import Status

_MODES = {
    "ask": "reads run, the rest asks first",
    "edits": "also edits files in this folder unasked",
    "plan": "reads only, then a plan",
    "auto": "runs all that no deny rule blocks",
}


def bar_rows(status: "Status", cache: str, balance: "Pruning") -> list[tuple[str, str]]:
    """Return the parts of the bar in its order, each with its meaning."""
    return [*_context(status, balance), *_session(status, cache)]


def _context(status: "Status", balance: "Pruning") -> Iterator[tuple[str, str]]:
    ledger = status.ledger
    limit = ledger.limit or ledger.window
    beyond = f". Window {short(ledger.window)}" if limit < ledger.window else ""
    act = f" Limit {short(limit)}: {ledger.limit_words}{beyond}" if limit and ledger.limit_words else ""
    yield "ctx", f"the next request has {short(ledger.context_tokens)} tokens.{act}"
    yield "scanned", f"{short(ledger.scanned_tokens)} tokens of answers and tool output so far, pruned or not"
    yield (
        "pruned",
        f"{short(ledger.pruned_tokens)} tokens that the model no longer sees; /undo restores the last",
    )
    kept = f"{short(ledger.protected_tokens)} tokens in {counted(ledger.protected_results, 'result')}"
    yield (
        "protected",
        f"{kept} that no strategy prunes now: too new or small, pinned, an error. /context says why",
    )
    if not status.pruning:
        yield "pruning off", "nothing is pruned automatically; /prune-toggle turns it on"
    elif balance.balance is not None and balance.saved is not None:
        costs = (balance.cost or 0.0) + (balance.regret or 0.0)
        less = f": {money(balance.saved)} for tokens not sent, less {money(costs)} for rewriting and fetching again"
        yield "saved", f"{money(balance.balance)} so far{less}. /prune-stats lists each prune"
    if ledger.cleared_tokens:
        yield "endpoint pruned", f"{short(ledger.cleared_tokens)} tokens that the endpoint leaves out itself"


def _session(status: "Status", cache: str) -> Iterator[tuple[str, str]]:
    yield status.mode, f"{_MODES[status.mode]}; Shift+Tab changes it"
    if not status.trusted:
        yield "untrusted", "this folder is read-only until /trust"
    yield one_line(status.model).removeprefix("claude-"), "the model; /model changes it"
    if status.sandbox == "no sandbox":
        yield "no sandbox", "commands run unprotected, so they ask first; prunecli doctor says why"
    elif status.sandbox:
        yield status.sandbox.removeprefix("sandbox "), "the sandbox that commands run in"
    if (prunes := status.prunes) and waiting(status, cache):
        worth = f" Worth {money(prunes.gain)}." if prunes.gain else ""
        yield "waits", f"{one_line(prunes.words)}.{worth} /prune does it now"
    if cache:
        yield (
            "cache",
            "cold: the next request stores everything again, so pruning costs nothing extra"
            if cache == COLD
            else f"the endpoint keeps the prompt for {cache.removeprefix('cache ')} more and reads it at a discount",
        )
    yield money(status.bill.cost), f"paid for {counted(status.bill.requests, 'request')}; /cost lists them"
