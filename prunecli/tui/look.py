"""How the first frame looks: the colours of the last time, kept in a small file.

The theme's file and the configuration that names it take longer to read than everything else that a first frame
needs; they are read right after it, and where they say something else it is drawn again.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from textual.theme import Theme

_COLOR = re.compile(r"#[0-9a-fA-F]{6}|ansi_[a-z_]{3,20}")
_COLORS = (
    *("primary", "secondary", "accent", "foreground", "background"),
    *("surface", "panel", "success", "warning", "error"),
)


class Look(NamedTuple):
    """The colours, and whether the mouse is listened to."""

    theme: Theme
    mouse: bool


def has_few_colors(environ: Mapping[str, str]) -> bool:
    """Whether the terminal has sixteen colours or fewer, by the variables that Rich goes by; not where there are
    none of them."""
    term = environ.get("TERM", "").strip().lower()
    if not term or environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return False
    return term.rpartition("-")[2] not in ("256color", "kitty")


def load(path: Path) -> Look | None:
    """The look of the last time; None where there is none, or it is not what was written."""
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
    """Keeps a look for the next time. Where it can't be kept, that time begins with the theme's file."""
    theme = look.theme
    values: Mapping[str, Any] = {
        "name": theme.name,
        "dark": theme.dark,
        "ansi": theme.ansi,
        "mouse": look.mouse,
        "theme": {name: getattr(theme, name) for name in _COLORS},
        "variables": theme.variables,
    }
    kept = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept.write_text(json.dumps(values), encoding="ascii")
        kept.replace(path)
    except OSError:
        return
