"""Emoji of several code points, which the cursor passes and Backspace removes as one: families, flags, skin tones,
keycaps. Combining marks stay apart, so that a wrong one can be deleted in Thai, Hindi or Korean."""

import re

PICTOGRAPH = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_ONE = f"[{PICTOGRAPH}][\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*"
SEQUENCE = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE})*\u200d?|\\S[\ufe0e\ufe0f]"
)


def around(text: str, column: int) -> tuple[int, int]:
    """Return the start and end of the sequence that a column cuts apart, or the column twice."""
    if text.isascii():
        return column, column
    found = (one.span() for one in SEQUENCE.finditer(text) if one.start() < column < one.end())
    return next(found, (column, column))
