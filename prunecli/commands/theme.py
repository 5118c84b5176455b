"""/theme: choose the theme."""

import os
from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, SetTheme, kept, refuse
from prunecli.config.files import parse_toml
from prunecli.runtime import Runtime
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places, names_in

NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor draws the screen."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose a theme, with a preview; --save keeps it."""
    places = runtime.setup.places
    names = sorted({*names_in(places.themes, ".toml"), *names_in(places.user_themes, ".toml")})
    words = arguments.split()
    name, *surplus = [word for word in words if word != "--save"] or [""]
    refuse("theme", surplus if name else words, "a name, with --save to keep it")
    if not name:
        current = runtime.config.ui.theme
        choices = (Choice(one, one, _about(places, one), current=one == current) for one in names)
        return [Choose("Theme", "theme", tuple(choices))]
    if name not in names:
        return [Say(f"No theme named {name!r}: choose {', '.join(names)}", "error")]
    return [SetTheme(name, lambda: _chosen(runtime, name, keep="--save" in words))]


def _chosen(runtime: Runtime, name: str, *, keep: bool) -> Sequence[Effect]:
    runtime.use_config(runtime.config.with_value("ui.theme", name))
    if not keep:
        return [Say(f"Theme: {name}. /theme {name} --save keeps it.")]
    return [Say(f"Theme: {name}. {kept(runtime, 'ui.theme', name)}")]


def _about(places: Places, name: str) -> str:
    """Return the theme's shade and description; "" if its file cannot be read, which loading the theme reports."""
    file = f"{name}.toml"
    path = places.user_themes / file if os.path.exists(places.user_themes / file) else places.themes / file
    try:
        table = parse_toml(path.read_text("utf-8"), file, path)
    except (ConfigError, OSError, ValueError):
        return ""
    dark = table.get("dark")
    shade = "" if dark is None else "dark" if dark else "light"
    return " · ".join(filter(None, [shade, str(table.get("description", ""))]))
