"""Themes: TOML files of named colors, read into one value for Textual and the transcript.

The file name is the theme name. `colors` gives every color, or `base` names a built-in theme for the missing ones. A
color is "#rrggbb"; with `ansi = true`, it is one of the terminal's sixteen colors, or "default".
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from textual.theme import Theme as TextualTheme

from prunecli.config.declared import Key
from prunecli.config.files import line_of, parse_toml, read
from prunecli.config.keys import nearest, shown
from prunecli.config.typed import got
from prunecli.tui.transcript.palette import Palette
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.paths import Places, is_name, names_in

DEFAULT = "prune-dark"
FEW_COLORS = "prune-16"
"""The theme for terminals of at most sixteen colors, unless the configured theme is made for them."""

_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
ANSI_COLORS = ("default", *_HUES, *(f"bright_{hue}" for hue in _HUES))
"""The terminal's own colors by Rich's names; Textual prefixes them with `ansi_`."""

_OF_SCREENS = ("primary", "secondary", "surface")
_OF_TRANSCRIPT = tuple(item.name for item in fields(Palette))
COLORS = (*_OF_SCREENS, *_OF_TRANSCRIPT)
"""The names of a theme's colors."""

_KEYS = ("description", "dark", "ansi", "base", "colors")

_VARIABLES: Mapping[str, str] = {
    "block-cursor-background": "primary",
    "block-cursor-blurred-background": "cursor",
    "block-cursor-blurred-foreground": "foreground",
    "block-cursor-foreground": "background",
    "block-hover-background": "cursor",
    "border": "accent",
    "border-blurred": "faint",
    "button-color-foreground": "background",
    "footer-background": "panel",
    "footer-description-foreground": "muted",
    "footer-key-foreground": "accent",
    "foreground-muted": "muted",
    "input-cursor-background": "foreground",
    "input-cursor-foreground": "background",
    "input-selection-background": "selection",
    "link-color": "link",
    "screen-selection-background": "selection",
    "scrollbar": "faint",
    "scrollbar-active": "accent",
    "scrollbar-background": "background",
    "scrollbar-background-active": "background",
    "scrollbar-background-hover": "background",
    "scrollbar-corner-color": "background",
    "scrollbar-hover": "muted",
    "text-muted": "muted",
}
"""Textual variables that would otherwise be blended from other colors and could lose contrast."""

_ANSI_VARIABLES: Mapping[str, str] = {
    "ansi-background": "background",
    "ansi-foreground": "foreground",
    "foreground-disabled": "muted",
    "surface-active": "surface",
}
"""Variables that Textual's style sheets use, but that Textual does not define for a theme of terminal colors."""


Fault = Callable[[Key, str], NoReturn]
"""(key, problem): raises a ConfigError that also names the file."""


@frozen
class Theme:
    """One theme. `colors` has all of COLORS; `description` is one printable line."""

    name: str
    description: str
    dark: bool
    ansi: bool
    colors: Mapping[str, str]

    @property
    def palette(self) -> Palette:
        return Palette(**{name: self.colors[name] for name in _OF_TRANSCRIPT})

    def to_textual(self) -> TextualTheme:
        """Return the theme for `App.register_theme`. tcss can use every color by name: `$code-background`."""
        prefix = "ansi_" if self.ansi else ""
        colors = {name: prefix + color for name, color in self.colors.items()}
        named = {name.replace("_", "-"): color for name, color in colors.items()}
        sources = {**_VARIABLES, **_ANSI_VARIABLES} if self.ansi else _VARIABLES
        return TextualTheme(
            name=self.name,
            primary=colors["primary"],
            secondary=colors["secondary"],
            accent=colors["accent"],
            foreground=colors["foreground"],
            background=colors["background"],
            surface=colors["surface"],
            panel=colors["panel"],
            success=colors["success"],
            warning=colors["warning"],
            error=colors["error"],
            dark=self.dark,
            ansi=self.ansi,
            variables={**named, **{name: colors[source] for name, source in sources.items()}},
        )


def theme_names(places: Places) -> tuple[str, ...]:
    """Return the names of all themes, built-in ones first. Opens no file."""
    shipped = names_in(places.themes, ".toml")
    return tuple(dict.fromkeys((*shipped, *names_in(places.user_themes, ".toml"))))


def load_theme(places: Places, name: str) -> Theme:
    """Load a theme by name; a user theme takes precedence over a built-in one.

    Raises ConfigError for an unknown name, suggesting the nearest, and for an invalid file. Names and links cannot
    lead outside the two folders.
    """
    for folder in (places.user_themes, places.themes):
        if is_name(name) and name in names_in(folder, ".toml"):
            return _read(folder, name, places)
    known = theme_names(places)
    raise ConfigError(
        f"no theme named {got(name)} (did you mean {nearest(name, known)}?)",
        f"themes: {', '.join(known)}",
    )


def theme_for(places: Places, name: str, *, few_colors: bool) -> Theme:
    """Return the configured theme, or the theme for few colors in its place. Raises ConfigError as `load_theme`
    does."""
    theme = load_theme(places, name)
    return theme if theme.ansi or not few_colors else load_theme(places, FEW_COLORS)


def parse_theme(name: str, text: str, label: str, path: Path, base: "Theme | None" = None) -> Theme:
    """Parse a theme; missing colors come from `base`. Raises ConfigError that names `label`."""

    def fault(key: Key, what: str) -> NoReturn:
        line = line_of(text, key)
        raise ConfigError(f"{label}: {shown(key)}: {what}", f"line {line} of {path}" if line else str(path))

    table = parse_toml(text, label, path)
    for key in table:
        if key not in _KEYS:
            fault((key,), f"unknown key (did you mean {nearest(key, _KEYS)}?)")
    ansi = _flag(table, "ansi", base.ansi if base else False, fault)
    given = _colors(table.get("colors", {}), ansi, fault)
    if base and ansi == base.ansi:
        given = {**base.colors, **given}
    if missing := [color for color in COLORS if color not in given]:
        fault(("colors",), f'missing {", ".join(missing)} (base = "{DEFAULT}" would supply them)')
    description = table.get("description", "")
    if not isinstance(description, str) or not description.isprintable():
        fault(("description",), f"expected one line of text, got {got(description)}")
    return Theme(name, description, _flag(table, "dark", base.dark if base else True, fault), ansi, given)


def _read(folder: Path, name: str, places: Places) -> Theme:
    path = folder / f"{name}.toml"
    label = f"{folder.name}/{path.name}"
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise ConfigError(f"{label}: links to a file outside its folder", str(path))
    text = read(path, label)
    if text is None:
        raise ConfigError(f"{label}: file not found", str(path))
    base = parse_toml(text, label, path).get("base")
    if base is None:
        return parse_theme(name, text, label, path)
    shipped = names_in(places.themes, ".toml")
    if base not in shipped or folder == places.themes:
        near = nearest(str(base), shipped)
        raise ConfigError(
            f"{label}: base: expected a built-in theme, got {got(base)} (did you mean {near}?)", str(path)
        )
    return parse_theme(name, text, label, path, _read(places.themes, base, places))


def _flag(table: Mapping[str, Any], key: str, default: bool, fault: Fault) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        fault((key,), f"expected true or false, got {got(value)}")
    return value


def _colors(given: Any, ansi: bool, fault: Fault) -> dict[str, str]:
    """Return the validated colors of a file."""
    if not isinstance(given, dict):
        fault(("colors",), f"expected a table, got {got(given)}")
    for name, color in given.items():
        if name not in COLORS:
            fault(("colors", name), f"unknown key (did you mean {nearest(name, COLORS)}?)")
        if ansi and color not in ANSI_COLORS:
            fault(("colors", name), f"expected one of {', '.join(ANSI_COLORS)}, got {got(color)}")
        if not ansi and not (isinstance(color, str) and re.fullmatch(r"#[0-9a-fA-F]{6}", color)):
            fault(("colors", name), f'expected a color like "#82aaff", got {got(color)}')
    return given
