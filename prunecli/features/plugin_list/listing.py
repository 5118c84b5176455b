"""Features and plugins as rows: what each brings, where it comes from, how long installing took, and what failed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prunecli.config.effective import Config
from prunecli.plugins.app import Brought, Installed
from prunecli.plugins.installing import DISABLED
from prunecli.providers.registry import Finding

HEADINGS = ("name", "kind", "state", "ms", "brings", "from")
RIGHT = (3,)

_IN_WORDS: Mapping[str, Callable[[Brought], str]] = {
    "tool": lambda one: one.name,
    "command": lambda one: f"/{one.name}",
    "subcommand": lambda one: f"prunecli {one.name}",
    "part": lambda _: "sessions",
    "options": lambda one: f"[{one.name}]",
    "strategy": lambda one: f"strategy {one.name}",
    "provider": lambda one: f"provider {one.name}",
    "importer": lambda one: f"importer {one.name}",
    "status": lambda _: "status bar",
    "moment": lambda one: f"on {one.facts['verb']}",
    "check": lambda _: "doctor",
}
_PLACES = {kind: place for place, kind in enumerate(_IN_WORDS)}


def rows(installed: Installed) -> list[tuple[str, ...]]:
    """Return a row for each, plugins of others first."""
    found = sorted(installed.plugins, key=lambda one: one.is_ours)
    return [
        (
            one.name,
            one.kind,
            one.off or "on",
            f"{one.ms:.1f}" if one.ms else "",
            ", ".join(dict.fromkeys(_brings(installed, one.name))),
            one.source,
        )
        for one in found
    ]


def _brings(installed: Installed, owner: str) -> Iterator[str]:
    for kind, one in sorted(installed.by(owner), key=lambda found: _PLACES.get(found[0], len(_PLACES))):
        in_words = _IN_WORDS.get(kind)
        yield in_words(one) if in_words else kind


def as_json(installed: Installed) -> list[dict[str, Any]]:
    return [dict(zip(HEADINGS, row, strict=True)) for row in rows(installed)]


def findings(config: Config) -> list[Finding]:
    """Return what `prunecli doctor` says of plugins; nothing if there are none."""
    others = [plugin for plugin in config.installed.plugins if not plugin.is_ours]
    failed = [f"{other.name}: {other.off}" for other in others if other.off not in ("", DISABLED)]
    if failed:
        return [Finding("plugins", "problem", "; ".join(failed), "`prunecli plugins list` shows all")]
    return [Finding("plugins", "ok", ", ".join(other.name for other in others))] if others else []
