"""Features and plugins as rows: what each brings, where it comes from, how long installing took, and what failed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prunecli.config import claude_plugins
from prunecli.config.effective import Config
from prunecli.plugins.app import Brought, Installed
from prunecli.plugins.installing import DISABLED
from prunecli.providers.registry import Finding
from prunecli.util.paths import Places

HEADINGS = ("name", "kind", "state", "ms", "brings", "from")
RIGHT = (3,)
CHANGED = "off: its copy differs from what you approved; add it again"
KINDS: tuple[claude_plugins.Kind, ...] = ("commands", "agents", "skills")

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


def all_rows(places: Places, config: Config) -> list[tuple[str, ...]]:
    """Return a row for each plugin and feature, those of Claude Code first."""
    return [*_of_claude(places, config), *rows(config.installed)]


def _of_claude(places: Places, config: Config) -> Iterator[tuple[str, ...]]:
    for one in claude_plugins.installed(places):
        commit = f" {one.commit[:12]}" if one.commit else ""
        off = DISABLED if one.name in config.plugins.disabled else "" if one.is_unchanged else CHANGED
        brings = "" if off == CHANGED else ", ".join(_parts(one))
        yield one.name, "Claude Code", off or "on", "", brings, one.source + commit


def _parts(one: claude_plugins.ClaudePlugin) -> Iterator[str]:
    yield from (kind for kind in KINDS if any(folder.is_dir() for folder in one.folders(kind)))
    if any(path.is_file() for path in one.hook_files()):
        yield "hooks"
    if one.server_table():
        yield "MCP servers"


def as_json(places: Places, config: Config) -> list[dict[str, Any]]:
    return [dict(zip(HEADINGS, row, strict=True)) for row in all_rows(places, config)]


def findings(config: Config) -> list[Finding]:
    """Return what `prunecli doctor` says of plugins; nothing if there are none."""
    others = [plugin for plugin in config.installed.plugins if not plugin.is_ours]
    failed = [f"{other.name}: {other.off}" for other in others if other.off not in ("", DISABLED)]
    if failed:
        return [Finding("plugins", "problem", "; ".join(failed), "`prunecli plugins list` shows all")]
    return [Finding("plugins", "ok", ", ".join(other.name for other in others))] if others else []
