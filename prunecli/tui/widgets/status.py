"""The two bottom lines: one with context and pruning, one with mode, model, cache and cost."""

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.figures import countdown, money, share, short
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.agent.policy import Waiting
    from prunecli.runtime import Status

BAR_CELLS = 6
COLD = "cache cold"
_MODES = {"ask": "$foreground", "edits": "$accent", "plan": "$secondary", "auto": "bold $warning"}


def bar(part: float) -> str:
    """Draw a share from 0 to 1 as a bar."""
    full = max(0, min(BAR_CELLS, round(part * BAR_CELLS)))
    return "▓" * full + "░" * (BAR_CELLS - full)


def level(part: float) -> str:
    return "bold $error" if part >= 0.9 else "$warning" if part >= 0.75 else "$muted"


def pruning_line(status: "Status | None", width: int, cache: str = "") -> Content:
    """Format `🔪 ~45.2K tool tokens scanned | pruned ~25.0K | 8 protected ctx 38% ▓▓▓░░░`."""
    ledger = status.ledger if status else None
    part = ledger.context_tokens / ledger.window if ledger and ledger.window else 0.0
    if status and not status.pruning:
        left = [Piece(("🔪 off",), "$warning", 9)]
    else:
        scanned = _about(ledger.scanned_tokens if ledger else 0)
        pruned = _about(ledger.pruned_tokens if ledger else 0)
        protected, kept = (ledger.protected_results, ledger.kept_results) if ledger else (0, 0)
        left = [
            Piece(
                (f"🔪 {scanned} tool tokens scanned", f"🔪 {scanned} scanned", f"🔪 {scanned}"), "$muted", 2
            ),
            Piece((f"pruned {pruned}", pruned), "$muted", 4, glue=" | "),
            Piece((f"{protected} protected", f"{protected}", ""), "$muted", 5, glue=" | "),
        ]
        if kept:
            left.append(Piece((f"+ {kept} kept by a compaction", f"+ {kept} kept"), "$muted", 0, glue=" "))
        if ledger and ledger.cleared_tokens:
            cleared = f"~{short(ledger.cleared_tokens)}"
            forms = (f"endpoint cleared {cleared}", f"cleared {cleared}", "")
            left.append(Piece(forms, "$muted", 4, glue=" | "))
        if status and status.prunes:
            left.append(Piece(_held_forms(status.prunes, cache), "$accent", 0, glue=" | "))
    about = "~" if status and status.estimated and part else ""
    right = [
        Piece((f"ctx {about}{share(part)}", f"{about}{share(part)}"), level(part), 8),
        Piece((bar(part), ""), level(part), 3 if status and status.prunes else 1, glue=" "),
    ]
    return fitted(left, right, width)


def _about(tokens: int) -> str:
    return f"~{short(tokens)}" if tokens else "0"


def _held_forms(prunes: "Waiting", cache: str) -> tuple[str, ...]:
    """Return what is to be pruned and when, longest form first. The line below shows the cache's lifetime."""
    if prunes.freed is None:
        return one_line(prunes.what), ""
    amount = short(prunes.freed)
    if prunes.why and cache != COLD:
        return (
            f"{amount} to prune when the cache is cold",
            f"{amount} to prune when cold",
            f"{amount} more when cold",
        )
    return f"{amount} to prune with the next request", f"{amount} to prune next", f"{amount} more next"


def session_line(status: "Status | None", cache: str, width: int) -> Content:
    """Format `ask · claude-sonnet-4-5 cache warm 3m12s · hit 96% · $0.42`; empty while there are no figures."""
    if status is None:
        return fitted((), (), width)
    name, bill = one_line(status.model), status.bill
    left = [Piece((status.mode,), _MODES.get(status.mode, "$foreground"), 9)]
    if not status.trusted:
        left.append(Piece(("untrusted: read-only, /trust", "read-only"), "$warning", 8))
    left.append(Piece((name, name.removeprefix("claude-"), ""), "$muted", 3))
    if status.sandbox:
        alarming = status.sandbox == "no sandbox"
        short_form = status.sandbox.removeprefix("sandbox ") if not alarming else status.sandbox
        left.append(Piece((status.sandbox, short_form, ""), "$warning" if alarming else "$muted", 2))
    left += [Piece((words,), "$accent", 7) for words in status.more]
    right = [Piece((cache, ""), "$warning" if cache == COLD else "$muted", 1)]
    if (bill.cache_read or bill.cache_write) and bill.model == status.model and bill.model_prompt:
        right.append(Piece((f"hit {share(bill.model_hit_share)}", ""), "$muted", 4))
    right.append(Piece((money(bill.cost), ""), "$muted", 5))
    return fitted(left, right, width)


def cache_words(status: "Status | None", ttl_ms: int, now: int) -> str:
    """Return the remaining lifetime of the cached prefix; "" if there is no cache or nothing was sent yet.

    `ttl_ms` is the lifetime of a cached prefix; `now` is in unix ms.
    """
    if status is None or not (status.bill.cache_read or status.bill.cache_write) or not status.bill.model:
        return ""
    left = status.cached_at + ttl_ms - now
    return f"cache warm {countdown(left)}" if left >= 1000 else COLD


class StatusLines(Widget):
    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self.status: Status | None = None
        self._cache = ""

    def show(self, status: "Status", cache: str) -> None:
        if (status, cache) != (self.status, self._cache):
            self.status, self._cache = status, cache
            self.refresh()

    def show_cache(self, cache: str) -> None:
        if cache != self._cache:
            self._cache = cache
            self.refresh()

    def render(self) -> Content:
        width = self.size.width - 2
        lines = (
            pruning_line(self.status, width, self._cache),
            session_line(self.status, self._cache, width),
        )
        return Content("\n").join(Content.assemble(" ", line, " ") for line in lines)
