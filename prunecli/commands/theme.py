"""/theme: how the screen looks."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, SetTheme
from prunecli.config.save import save
from prunecli.paths import names_in
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose a theme, with a preview; --save keeps it."""
    places = runtime.setup.places
    names = sorted({*names_in(places.themes, ".toml"), *names_in(places.user_themes, ".toml")})
    words = arguments.split()
    name = next((word for word in words if not word.startswith("--")), "")
    if not name:
        current = runtime.config.ui.theme
        return [Choose("Theme", "theme", tuple(Choice(one, one, current=one == current) for one in names))]
    if name not in names:
        return [Say(f"There is no theme {name!r}: {', '.join(names)}", "error")]
    runtime.use_config(runtime.config.with_value("ui.theme", name))
    effects: list[Effect] = [SetTheme(name)]
    if "--save" in words:
        note = save(places, runtime.config, "ui.theme", name)
        effects.append(Say(f"Theme {name}, saved" + (f"; {note}" if note else "")))
    return effects
