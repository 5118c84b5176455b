"""What a change does to the cache and to the bill, in words: from the longest way to say it to the shortest."""

from prunecli.context.economics import Break
from prunecli.figures import money, short


def cache_forms(change: Break) -> tuple[str, ...]:
    """What happens to the cache, from the longest to the shortest way to say it."""
    if change.at_end:
        return ("cache stays as it is", "no cache lost", "")
    if change.cold:
        return (f"cache stays as it is ({change.cold})", "no cache lost", "")
    if change.rewritten <= 0:
        return ("no more cache lost: it breaks here anyway", "no more cache lost", "")
    again = f"{short(change.rewritten)} of the cache written again"
    return (f"{again} ({change.warm})", again, f"cache −{short(change.rewritten)}")


def bill_forms(change: Break) -> list[str]:
    """What it costs and saves, from the longest to the shortest way to say it."""
    if change.cost is None or change.gain is None:
        return ["$ unknown: no price for this model", "$ unknown"]
    now = f"~{money(change.cost)} now" if change.cost else "$0 now"
    if change.gain < 0:
        return [f"{now}, ~{money(-change.gain)} more a request", now]
    if not change.gain:
        return [now]
    even = f"even after {change.even_after} request{'s' * (change.even_after != 1)}"
    if not change.cost:
        return [f"{now}, saves ~{money(change.gain)} a request", f"{now}, saves ~{money(change.gain)}", now]
    return [f"{now}, saves ~{money(change.gain)} a request: {even}", f"{now}, {even}", now]
