"""Makes text from models, tools, files and servers safe for a terminal.

Replaces code points that move the cursor, change the writing direction or are invisible with visible ones. The length
stays the same, so offsets stay valid. prunecli adds its own colors and cursor movement afterwards.
"""

import re
from functools import cache

# Control (Cc), format (Cf), surrogates (Cs), line and paragraph separators, code points without a glyph
# (Unicode's Default_Ignorable_Code_Point) and non-characters. Includes the tab but not the line feed. Whether a
# joiner or variation selector may stay depends on its neighbors; see below.
_HIDDEN_BASIC = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff"
)
_HIDDEN = (
    _HIDDEN_BASIC
    + "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    + "\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
)

# Allowed on both sides of a ZERO WIDTH JOINER: emoji, and before it the selector that makes one.
# Elsewhere a joiner only changes the width of a row, which is useful only to hostile text.
_PICTOGRAPH = "\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Arabic to Tibetan: scripts whose spelling needs the ZERO WIDTH NON-JOINER.
_JOINING_SCRIPT = "\u0606-\u061b\u061d-\u06dc\u06de-\u070e\u0710-\u088f\u0892-\u08e1\u08e3-\u0fff"
# Allowed before variation selector 15 or 16: a key cap, or anything visible that is not Latin text.
_SELECTABLE = "0-9#*\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"

_UNSAFE_ASCII = re.compile("[\x00-\x09\x0b-\x1f\x7f]")
_COLORS = re.compile(r"\x1b\[[\d;:]*m")
_BEYOND_BASIC = re.compile("[\U00010000-\U0010ffff]")


@cache  # compiling takes milliseconds, and ASCII text never needs it
def _unsafe() -> re.Pattern[str]:
    return re.compile(
        f"[{_HIDDEN}]"
        f"|\u200d(?![{_PICTOGRAPH}])|(?<![{_PICTOGRAPH}\ufe0f])\u200d"
        f"|\u200c(?![{_JOINING_SCRIPT}])|(?<![{_JOINING_SCRIPT}])\u200c"
        f"|(?<![{_SELECTABLE}])[\ufe0e\ufe0f]"
    )


@cache
def _suspect() -> re.Pattern[str]:
    """Return a pattern for a quick first check. It is ten times as fast, because `re` has tables only for classes of
    the basic plane."""
    return re.compile(f"[{_HIDDEN_BASIC}\u200c\u200d\ufe0e\ufe0f]")


TAB_WIDTH = 4
"""Columns between tab stops when tabs become spaces."""


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def visible(text: str) -> str:
    """Replace all active and invisible characters in `text`; the length stays the same.

    Line feeds stay. Other ASCII controls, including the tab, become their Unicode symbol (ESC: ␛). C1 controls,
    bidirectional and invisible code points, tags, lone surrogates and non-characters become U+FFFD. Joiners and
    variation selectors stay where emoji or a script's spelling need them. Idempotent.
    """
    if text.isascii():
        return _UNSAFE_ASCII.sub(_symbol, text) if _UNSAFE_ASCII.search(text) else text
    if _suspect().search(text) or _BEYOND_BASIC.search(text):
        return _unsafe().sub(_symbol, text)
    return text


def visible_with_tabs(text: str) -> str:
    """Apply `visible`, but leave tabs."""
    return "\t".join(map(visible, text.split("\t")))


def source(text: str) -> str:
    """Apply `visible` to multi-line text: CRLF becomes a line feed, and tabs become spaces."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text:
        text = text.expandtabs(TAB_WIDTH)
    return visible(text)


def uncolored(text: str) -> str:
    """Remove the colors that a command printed. Other sequences stay, for `visible`."""
    return _COLORS.sub("", text) if "\x1b" in text else text


def uncolored_around(text: str, part: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """Remove the colors and return where the part of the text is then. Its ends are in no sequence."""
    start, stop = part
    before, inner, after = (uncolored(one) for one in (text[:start], text[start:stop], text[stop:]))
    return before + inner + after, (len(before), len(before) + len(inner))


def one_line(text: str) -> str:
    """Apply `visible` to a title, name or argument on one row: a line feed also becomes ␊."""
    text = visible(text)
    return text.replace("\n", "\u240a") if "\n" in text else text


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters: a longer one is cut and ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def without_password(address: str) -> str:
    """Return an address, however malformed, without user name, password, query and fragment."""
    shown = re.sub(r"^([a-z]+://)?.*@", r"\1***@", address, flags=re.IGNORECASE | re.DOTALL)
    return re.sub(r"[?#].*", "?***", shown, flags=re.DOTALL)
