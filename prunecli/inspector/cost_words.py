"""Describe what a change does to the cache and the bill, from longest to shortest form."""

from prunecli.context.economics import Break
from prunecli.figures import money, short


def cache_forms(change: Break) -> tuple[str, ...]:
    """What happens to the cache, longest form first."""
    if change.at_end:
        return ("cache unchanged", "no cache lost", "")
    if change.cold:
        return (f"cache unchanged ({change.cold})", "no cache lost", "")
    if change.rewritten <= 0:
        return ("no more cache lost: it is already broken here", "no more cache lost", "")
    again = f"{short(change.rewritten)} of cache rewritten"
    return (f"{again} ({change.warm})", again, f"cache −{short(change.rewritten)}")


def bill_forms(change: Break) -> list[str]:
    """What the change costs and saves, longest form first."""
    if change.cost is None or change.gain is None:
        return ["$ unknown: no price for this model", "$ unknown"]
    now = f"~{money(change.cost)} now" if change.cost else "$0 now"
    if change.gain < 0:
        return [f"{now}, adds ~{money(-change.gain)} a request", now]
    if not change.gain:
        return [now]
    even = f"pays off after {change.even_after} request{'s' * (change.even_after != 1)}"
    if not change.cost:
        return [f"{now}, saves ~{money(change.gain)} a request", f"{now}, saves ~{money(change.gain)}", now]
    return [f"{now}, saves ~{money(change.gain)} a request: {even}", f"{now}, {even}", now]
