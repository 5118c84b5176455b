"""Formats tokens and times to fit their columns."""

from prunecli.figures import duration as duration


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
