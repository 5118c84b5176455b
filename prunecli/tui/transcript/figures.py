"""How tokens and times are written: short, and never wider than their column."""


def tokens(count: int) -> str:
    """850, 1.4K, 45.2K, 128K, 1.3M: at most five characters below a billion."""
    if count < 1000:
        return str(count)
    for divisor, unit in ((1_000, "K"), (1_000_000, "M"), (1_000_000_000, "G")):
        value = count / divisor
        if value < 99.95:
            return f"{value:.1f}{unit}"
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return f"{count / 1_000_000_000:.0f}G"


def duration(milliseconds: int) -> str:
    """3ms, 2.1s, 48s, 3m12s, 2h05m: at most six characters below a hundred hours."""
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
