"""Show a file name in a result: one line, always valid text."""

import re

from prunecli.model.codec import well_formed

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def shown_name(name: str) -> str:
    """The name with control characters as escapes and invalid bytes as U+FFFD."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", well_formed(name))
