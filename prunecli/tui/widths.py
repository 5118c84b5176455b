"""The widths of characters about which terminals differ.

A vowel sign of Hindi, Bengali, Tamil, Burmese or Khmer takes a cell in xterm, tmux and GNOME Terminal, and none in
others; an emoji with a variation selector takes one or two. No table is right everywhere, so a few probes are written
at the start, and the cursor's position after each of them tells. What no probe tells is placed by column: whatever
width the terminal gives a character, the next one stands where it belongs.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from unicodedata import category

import rich.cells
from rich._unicode_data import load
from rich.cells import CellTable
from rich.segment import Segment

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tui.transcript import rows
else:
    rows = lazy("prunecli.tui.transcript.rows")

MARKS, SELECTOR, SKIN_TONE = "\u0915\u093e", "\u2764\ufe0f", "\U0001f44d\U0001f3fd"
_SCRIPTS = {"\u1000\u102c": range(0x1000, 0x10A0), "\u1780\u17b6": range(0x1780, 0x1800)}
"""Scripts with a probe of their own: Burmese and Khmer."""
PROBES = (MARKS, *_SCRIPTS, SELECTOR, SKIN_TONE)
"""Texts that are written at the start."""
ASK = "".join(["\r\x1b[8m", *(f"\r{probe}\x1b[6n" for probe in PROBES), "\x1b[0m\r\x1b[K"])
"""Writes every probe, concealed, asks for the cursor's position after it, and clears the row."""
_TONES = range(0x1F3FB, 0x1F400)
_WITH_SPACING = ((0x900, 0x1D00), (0x302E, 0x3030), (0xA800, 0xAC00), (0x11000, 0x12000), (0x16F00, 0x17000))
"""Where Unicode has spacing marks."""
UNSURE = re.compile(
    "[\u0300-\u036f\u0900-\u109f\u1100-\u11ff\u135d-\u135f\u1700-\u18af\u1a00-\u1cff\u200c\u200d\u20e3\u302a-\u302f"
    "\ua800-\uabff\ud7b0-\ud7ff\ufe00-\ufe0f\U00011000-\U00011fff\U00016f00-\U00016fff\U0001f000-\U0001faff]"
)
"""Characters about which terminals differ."""
_OUTPUT = re.compile(
    "\x1b\\[(?P<row>\\d*)(?:;(?P<column>\\d*))?H|\x1b\\[[0-?]*[ -/]*[@-~]"
    "|\x1b[]P_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b.|(?P<start>[\r\n])|(?P<text>[^\x1b\r\n]+)",
    re.DOTALL,
)


def use(cells: Sequence[int]) -> bool:
    """Use the measured widths of the probes for everything that is drawn; return whether any is new."""
    found = dict(zip(PROBES, cells, strict=True))
    if all(rich.cells.cell_len(probe) == width for probe, width in found.items()):
        return False
    own = {code: max(0, min(2, found[SKIN_TONE] - 2)) for code in _TONES}
    for first, end in _WITH_SPACING:
        for code in range(first, end):
            if category(chr(code)) == "Mc":
                probe = next((probe for probe, script in _SCRIPTS.items() if code in script), MARKS)
                own[code] = 1 if found[probe] > 1 else 0
    before = load()
    wide = before.narrow_to_wide if found[SELECTOR] > 1 else frozenset[str]()
    table = CellTable(before.unicode_version, list(_changed(before.widths, own)), wide)
    vars(rich.cells)["load_cell_table"] = lambda _="auto": table
    for cached in (rich.cells.get_character_cell_size, rich.cells.cached_cell_len, Segment._split_cells):
        cached.cache_clear()
    return True


def _changed(
    widths: Sequence[tuple[int, int, int]], own: Mapping[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield Rich's ranges in order, with these characters taken out of them and put in with their own widths."""
    codes = sorted(own)
    done = 0
    for start, end, width in widths:
        low, high = bisect_left(codes, start), bisect_right(codes, end)
        yield from ((code, code, own[code]) for code in codes[done:low])
        for code in codes[low:high]:
            if start < code:
                yield start, code - 1, width
            yield code, code, own[code]
            start = code + 1
        if start <= end:
            yield start, end, width
        done = high
    yield from ((code, code, own[code]) for code in codes[done:])


def placed(output: str) -> str:
    """Add the column after every character about which terminals differ. Each row of the output begins with a
    movement or a line end."""
    if output.isascii() or not UNSURE.search(output):
        return output
    return "".join(_placed(output))


def _placed(output: str) -> Iterator[str]:
    column = 0
    for found in _OUTPUT.finditer(output):
        text = found["text"]
        if found["row"] is not None:
            column = int(found["column"] or 1) - 1
        elif found["start"]:
            column = 0
        if not text or text.isascii() or not UNSURE.search(text):
            column += len(text) if text and text.isascii() else rich.cells.cell_len(text or "")
            yield found[0]
            continue
        for start, end, cells in rows.clusters(text):
            column += cells
            yield text[start:end]
            if UNSURE.search(text, start, end):
                yield f"\x1b[{column + 1}G"
