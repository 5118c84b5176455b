"""/plugins: what is installed, and the approval of a project's plugins."""

import hashlib
from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say, Table
from prunecli.config.plugins import approve, revoke
from prunecli.features.plugin_list.listing import HEADINGS, RIGHT, all_rows
from prunecli.features.plugin_list.part import PluginApprovals
from prunecli.plugins.discovery import Found
from prunecli.runtime import Runtime
from prunecli.util.errors import UsageError
from prunecli.util.sanitize import visible

MOST_LINES = 30
"""Lines of a plugin to show in the question that approves it."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """List plugins and features; /plugins approve allows a project's plugins, /plugins revoke stops them."""
    part = runtime.parts.of(PluginApprovals)
    word, _, rest = arguments.partition(" ")
    if word == "approve":
        return (
            _answered(runtime, part, rest)
            if rest
            else approval(part) or [Say("No plugin is waiting for approval.")]
        )
    if word == "revoke" and not rest:
        gone = revoke(runtime.setup.places, runtime.setup.cwd)
        said = f"No longer approved, from the next start on: {', '.join(gone)}."
        return [Say(said if gone else "No plugins were approved here.")]
    if word:
        raise UsageError(
            f"/plugins {arguments}: unknown argument", "/plugins lists, /plugins approve, /plugins revoke"
        )
    note = "/plugins approve to let this project's plugins run" if part.waiting else ""
    return [
        Table(
            "Plugins and features",
            HEADINGS,
            tuple(all_rows(runtime.setup.places, runtime.config)),
            RIGHT,
            note,
        )
    ]


def approval(part: PluginApprovals) -> Sequence[Effect]:
    """Return the question about the first plugin that waits; nothing if none does."""
    found = next(iter(part.waiting), None)
    if found is None:
        return []
    answers = (
        Choice(f"approve yes {_digest(found)}", "Yes", "It runs with your permissions, outside the sandbox"),
        Choice(f"approve no {_digest(found)}", "No", "It stays off; /plugins approve asks again"),
    )
    text = found.data.decode("utf-8", "replace").splitlines()
    shown = [visible(line) for line in text[:MOST_LINES]]
    if len(text) > MOST_LINES:
        shown.append(f"… {len(text) - MOST_LINES} more lines; read the file before you approve it")
    return [Choose(f"Run the plugin {found.source}?", "plugins", answers, grave=True, about="\n".join(shown))]


def _answered(runtime: Runtime, part: PluginApprovals, rest: str) -> Sequence[Effect]:
    """Carry out an answer, which applies only to the content that the question showed."""
    word, _, digest = rest.partition(" ")
    found = next(iter(part.waiting), None)
    if word not in ("yes", "no") or found is None or digest != _digest(found):
        return approval(part) or [Say("No plugin is waiting for approval.")]
    if word == "no":
        part.refuse(found)
        return [Say(f"{found.source} stays off."), *approval(part)]
    approve(runtime.setup.places, found)
    said = f"{found.source} is approved. It is loaded when prunecli starts again."
    return [Say(said), *approval(part)]


def _digest(found: Found) -> str:
    return hashlib.sha256(found.data).hexdigest()[:16]
