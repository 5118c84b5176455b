"""Formats numbers everywhere: tokens as 45.2K, money as $0.42, shares as 38%, times as 3m12s."""


def short(tokens: int) -> str:
    """Format tokens in at most five characters and a sign: 812, 45.2K, 128K, 1.3M."""
    if abs(tokens) < 1_000:
        return str(tokens)
    value, unit = next(
        (tokens / size, unit)
        for size, unit in ((1_000, "K"), (1_000_000, "M"), (1_000_000_000, "G"))
        if abs(tokens) < 999.5 * size or unit == "G"
    )
    return f"{value:.1f}{unit}" if abs(value) < 99.95 else f"{value:.0f}{unit}"


def roughly(tokens: int) -> str:
    """Format tokens where the line is short: 812, 9.4K, 67K, 1.3M."""
    return f"{tokens / 1_000:.0f}K" if 9_950 <= tokens < 99_950 else short(tokens)


def in_tokens(tokens: int) -> str:
    """Format tokens with their noun: 1 token, 812 tokens, 45.2K tokens."""
    return f"{short(tokens)} token{'s' * (abs(tokens) != 1)}"


def budget(tokens: int) -> str:
    """Format a chosen token budget as people write it: 40K, 1M, 12.5K."""
    return short(tokens).replace(".0", "")


def money(usd: float) -> str:
    """Format US dollars with two decimals, or four for small amounts: $1,234.50."""
    if usd < 0:
        return f"-{money(-usd)}" if usd <= -0.00005 else money(0.0)
    return f"${usd:,.2f}" if usd >= 0.1 or usd < 0.00005 else f"${usd:.4f}"


def counted(count: int, one: str) -> str:
    """Format a number with its noun: 1 line, 2 lines, 3 matches."""
    many = f"{one}es" if one.endswith(("s", "ch", "x")) else f"{one}s"
    return f"{count:,} {one if count == 1 else many}"


def age(milliseconds: int) -> str:
    """Format an age: now, 3m ago, 2h ago, 5d ago."""
    seconds = max(0, milliseconds) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return "now"


def share(part: float) -> str:
    return f"{round(part * 100)}%"


def countdown(milliseconds: int) -> str:
    """Format a running time in whole seconds, rounded down: 0s, 7s, 48s, 3m12s, 2h05m."""
    seconds = max(0, milliseconds) // 1000
    return duration(seconds * 1000) if seconds >= 60 else f"{seconds}s"


def duration(milliseconds: int) -> str:
    """Format a duration in at most six characters below a hundred hours: 3ms, 2.1s, 48s, 3m12s, 2h05m."""
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    if milliseconds < 9_950:
        return f"{milliseconds / 1000:.1f}s"
    seconds = round(milliseconds / 1000)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
