"""The two bottom lines: one with context and pruning, one with mode, model, cache and cost."""

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from prunecli.tui.messages import ActionAsked
from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.figures import countdown, money, roughly, share, short
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.runtime import Status

COLD = "cache cold"
_MODES = {"ask": "$foreground", "edits": "$accent", "plan": "$secondary", "auto": "bold $warning"}
WORTH_SAYING = 0.01
"""USD: prunes that wait are named only if they are worth it."""


def level(part: float) -> str:
    return "bold $error" if part >= 0.9 else "$warning" if part >= 0.75 else "$muted"


def pruning_line(status: "Status | None", width: int) -> Content:
    """Format `ctx 67K/170K 39% · scanned 57.2K · pruned 46.5K · protected 8.1K · saved $0.24`.

    Words are the same at every width; a part that does not fit is left out whole, the saving first.
    """
    if status is None:
        words = ("ctx 0%", "scanned 0", "pruned 0", "protected 0")
        return fitted([Piece((one,), "$muted", 9 - at) for at, one in enumerate(words)], (), width)
    ledger = status.ledger
    used = f"{roughly(ledger.context_tokens)}/{roughly(ledger.limit or ledger.window)}"
    pieces = [
        Piece((f"ctx {used} {share(ledger.used)}",), level(ledger.used), 9),
        Piece((f"scanned {short(ledger.scanned_tokens)}",), "$muted", 6),
        Piece((f"pruned {short(ledger.pruned_tokens)}",), "$foreground", 8),
        Piece((f"protected {short(ledger.protected_tokens)}",), "$muted", 5),
    ]
    if not status.pruning:
        pieces.append(Piece(("pruning off",), "$warning", 7))
    elif status.saved is not None and (ledger.pruned_tokens or money(status.saved) != money(0)):
        style = "bold $success" if status.saved > 0 else "$muted"
        pieces.append(Piece((f"saved {money(status.saved)}",), style, 4))
    if ledger.cleared_tokens:
        pieces.append(Piece((f"endpoint pruned {short(ledger.cleared_tokens)}",), "$muted", 2))
    return fitted(pieces, (), width)


def session_line(status: "Status | None", cache: str, width: int) -> Content:
    """Format `ask · sonnet-5.5 · bwrap      46K waits for a cold cache · cache 3m12s · $0.42`, empty without figures.

    What does not fit is left out: first the hint, then sandbox, cache, model, cost.
    """
    if status is None:
        return fitted((), (), width)
    left = [Piece((status.mode,), _MODES.get(status.mode, "$foreground"), 9)]
    if not status.trusted:
        left.append(Piece(("untrusted: read-only, /trust", "read-only"), "$warning", 8))
    left.append(Piece((one_line(status.model).removeprefix("claude-"),), "$muted", 4))
    if status.sandbox:
        alarming = status.sandbox == "no sandbox"
        left.append(
            Piece((status.sandbox.removeprefix("sandbox "),), "$warning" if alarming else "$muted", 2)
        )
    left += [Piece((words,), "$accent", 7) for words in status.more]
    right = [
        Piece((waiting(status, cache),), "$accent", 1),
        Piece((cache,), "$warning" if cache == COLD else "$muted", 3),
        Piece((money(status.bill.cost),), "$muted", 5),
    ]
    return fitted(left, right, width)


def waiting(status: "Status", cache: str) -> str:
    """Return what is to be pruned and when, if it is worth a cent."""
    prunes = status.prunes
    if prunes is None or (prunes.gain is not None and prunes.gain < WORTH_SAYING):
        return ""
    if prunes.freed is None:
        return one_line(prunes.what)
    waits = "waits for a cold cache" if prunes.why and cache != COLD else "is pruned with the next request"
    return f"{short(prunes.freed)} {waits}"


def cache_words(status: "Status | None", ttl_ms: int, now: int) -> str:
    """Return the remaining lifetime of the cached prefix; "" if there is no cache or nothing was sent yet.

    `ttl_ms` is the lifetime of a cached prefix; `now` is in unix ms.
    """
    if status is None or not (status.bill.cache_read or status.bill.cache_write) or not status.bill.model:
        return ""
    left = status.cached_at + ttl_ms - now
    return f"cache {countdown(left)}" if left >= 1000 else COLD


class StatusLines(Widget):
    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self.status: Status | None = None
        self.cache = ""

    def show(self, status: "Status", cache: str) -> None:
        if (status, cache) != (self.status, self.cache):
            self.status, self.cache = status, cache
            self.refresh()

    def show_cache(self, cache: str) -> None:
        if cache != self.cache:
            self.cache = cache
            self.refresh()

    def on_click(self) -> None:
        self.post_message(ActionAsked("show_keys"))

    def render(self) -> Content:
        width = self.size.width - 2
        lines = (
            pruning_line(self.status, width),
            session_line(self.status, self.cache, width),
        )
        return Content("\n").join(Content.assemble(" ", line, " ") for line in lines)
