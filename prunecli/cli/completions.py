"""Shell completion of values: sessions, strategies, themes and models."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prunecli.util.errors import PrunecliError
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places, names_in

if TYPE_CHECKING:
    import typer

    from prunecli.config import sources
    from prunecli.config import strategies as strategies_of
    from prunecli.providers import models as table
    from prunecli.session import store
else:
    store = lazy("prunecli.session.store")
    strategies_of = lazy("prunecli.config.strategies")
    sources = lazy("prunecli.config.sources")
    table = lazy("prunecli.providers.models")
    typer = lazy("typer")


Offer = tuple[str, str]
"""A value and its description, which some shells show."""


def install() -> None:
    """Install completion for the shell that runs the program."""
    from typer.completion import install as installed  # type: ignore[attr-defined]  # not in its __all__

    shell, path = installed(prog_name="prunecli", complete_var="_PRUNECLI_COMPLETE")
    if shell == "zsh":  # typer's file only defines the function, so the first Tab would do nothing
        with path.open("a") as file:
            file.write('\n_prunecli_completion "$@"\n')
    typer.echo(f"{shell} completion installed in {path}")
    typer.echo("Restart the shell to use it")


def sessions(incomplete: str) -> list[Offer]:
    found = store.Store(Places.of(os.environ).sessions).list(None)
    ids = [(one.id, one.label) for one in found]
    names = [(one.digest.name, one.id) for one in found if one.digest.name]
    return _beginning(incomplete, [*names, *ids])


def strategies(incomplete: str) -> list[Offer]:
    """Return the strategies, even after the last comma of a list."""
    before, comma, last = incomplete.rpartition(",")
    names = strategies_of.Strategies.of(Places.of(os.environ)).names()
    return [(f"{before}{comma}{name}", "") for name, _ in _beginning(last, [(name, "") for name in names])]


def themes(incomplete: str) -> list[Offer]:
    places = Places.of(os.environ)
    names = {*names_in(places.themes, ".toml"), *names_in(places.user_themes, ".toml")}
    return _beginning(incomplete, [(name, "") for name in sorted(names)])


def models(incomplete: str) -> list[Offer]:
    return _beginning(incomplete, [(name, "") for name in dict.fromkeys(_models())])


def _models() -> Iterator[str]:
    places = Places.of(os.environ)
    yield from ("demo", *table.ALIASES)
    try:
        yield from sources.load(places, places.home, os.environ).models
    except PrunecliError:
        pass  # completion cannot show an error; the next start reports problems with the configuration
    yield from table.ModelTable.load(places.shipped_data).names()


def _beginning(incomplete: str, offers: list[Offer]) -> list[Offer]:
    """Return the completions that start with `incomplete`.

    Shells evaluate completions, and a title may come from anywhere: drop every value that is not one plain word, and
    replace special characters in descriptions with spaces.
    """
    return [
        (value, "".join(char if _is_plain(char) else " " for char in about).strip())
        for value, about in offers
        if value.startswith(incomplete) and all(map(_is_plain, value)) and not value.startswith("-")
    ]


def _is_plain(char: str) -> bool:
    return char.isalnum() or char in "-_.+/"
