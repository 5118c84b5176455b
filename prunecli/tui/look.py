"""The look of the first frame: the last colors used, kept in a small file.

Reading the theme and the configuration takes longer than everything else that the first frame needs. So they are read
right after it, and the frame is redrawn if the colors differ.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, monochrome_style
from textual.theme import Theme

from prunecli.util.private_file import make_private, write_private

_COLOR = re.compile(r"#[0-9a-fA-F]{6}|ansi_[a-z_]{3,20}")
_COLORS = (
    *("primary", "secondary", "accent", "foreground", "background"),
    *("surface", "panel", "success", "warning", "error"),
)


class Look(NamedTuple):
    theme: Theme
    mouse: bool


class Colorless(LineFilter):
    """Removes colors for NO_COLOR: shows grays, or the default colors for the terminal's own colors.

    Textual's filter turns the latter black on black. Text with its own background is shown reversed.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colors; `background` is that of their widget."""
        ground = background.rich_color
        return [
            Segment(text, style and _colorless(style, ground), control) for text, style, control in segments
        ]


@lru_cache(1024)
def _colorless(style: Style, ground: RichColor) -> Style:
    named = [one for one in (style.color, style.bgcolor) if one is not None and one.triplet is None]
    if not named:
        return monochrome_style(style)
    apart = (
        style.bgcolor is not None and not style.bgcolor.is_default and style.bgcolor.number != ground.number
    )
    return style + Style(color="default", bgcolor="default", reverse=apart or style.reverse)


def has_few_colors(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal has at most sixteen colors, by the environment variables that Rich checks; False if
    none are set."""
    term = environ.get("TERM", "").strip().lower()
    if not term or environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return False
    return term.rpartition("-")[2] not in ("256color", "kitty")


def load(path: Path) -> Look | None:
    """Return the saved look; None if there is none or the file is not valid."""
    try:
        found = json.loads(path.read_bytes())
        given, variables = found["theme"], found["variables"]
        values = [given[name] for name in _COLORS] + list(variables.values())
        if not all(isinstance(value, str) and _COLOR.fullmatch(value) for value in values):
            return None
        colors = {name: given[name] for name in _COLORS}
        theme = Theme(
            name=str(found["name"]),
            dark=bool(found["dark"]),
            ansi=bool(found["ansi"]),
            variables=dict(variables),
            **colors,
        )
        return Look(theme, bool(found["mouse"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def save(path: Path, look: Look) -> None:
    """Save a look for the next start. If that fails, the next start uses the theme file."""
    theme = look.theme
    values: Mapping[str, Any] = {
        "name": theme.name,
        "dark": theme.dark,
        "ansi": theme.ansi,
        "mouse": look.mouse,
        "theme": {name: getattr(theme, name) for name in _COLORS},
        "variables": theme.variables,
    }
    try:
        make_private(path.parent)
        write_private(path, json.dumps(values).encode())
    except OSError:
        return
