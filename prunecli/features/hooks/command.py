"""/hooks: the commands for each event, and their approval."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.commands.command import Choice, Choose, Effect, Say, Table
from prunecli.features.hooks.hooking import Hooking
from prunecli.runtime import Runtime
from prunecli.runtime.host import Host
from prunecli.util.errors import UsageError

if TYPE_CHECKING:
    from prunecli.features.hooks.sources import Source

NONE = (
    "No hooks. Define them in config.toml ([[hooks.EVENT]]), .claude/settings.json or .prunecli/hooks.json; "
    "see docs/hooks_and_skills.md."
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """List hooks and their last runs; /hooks approve allows a project's hooks, /hooks revoke stops them."""
    word, _, rest = arguments.partition(" ")
    if word == "approve":
        return _answered(runtime, rest) if rest else approval(runtime)
    if word == "revoke" and not rest:
        gone = _hooks(runtime).revoke()
        return [Say(f"Hooks off: {', '.join(gone)}." if gone else "No hooks were approved here.")]
    if word:
        raise UsageError(
            f"/hooks {arguments}: unknown argument", "/hooks lists, /hooks approve, /hooks revoke"
        )
    if not runtime.gatekeeper.trusted:
        return [Say("Hooks run only in a trusted directory. /trust to trust this one.")]
    sources = _hooks(runtime).sources
    problems: list[Effect] = [Say(line, "warning") for line in _hooks(runtime).notices(headless=False)]
    rows = tuple(row for source in sources for row in _rows(runtime, source))
    if not rows:
        return problems or [Say(NONE)]
    note = "/hooks approve to let the others run" if _hooks(runtime).pending else ""
    headings = ("event", "matcher", "state", "ms", "last run", "from", "command")
    return [*problems, Table("Hooks", headings, rows, (3,), note)]


def _hooks(runtime: Host) -> Hooking:
    return runtime.parts.of(Hooking)


def reread(hooking: Hooking) -> list[Effect]:
    """Tell of unusable settings, and ask about hooks that need approval."""
    unusable = hooking.notices(headless=False)
    return [*(Say(one, "warning") for one in unusable), *approval(hooking.runtime)]


def approval(runtime: Host) -> Sequence[Effect]:
    """Return the question about the first hooks that wait for approval; nothing if there are none."""
    source = _hooks(runtime).pending
    if source is None:
        return []
    answer = (
        Choice(
            f"approve yes {_digest(source)}", "Yes", "They run with your permissions, outside the sandbox"
        ),
        Choice(f"approve no {_digest(source)}", "No", "They stay off; /hooks approve asks again"),
    )
    about = "\n".join(source.lines())
    return [Choose(f"Run the hooks in {source.label}?", "hooks", answer, grave=True, about=about)]


def _answered(runtime: Runtime, rest: str) -> Sequence[Effect]:
    """Carry out an answer, which applies only to the definition that the question showed."""
    word, _, digest = rest.partition(" ")
    source = _hooks(runtime).pending
    if word not in ("yes", "no") or source is None or digest != _digest(source):
        return approval(runtime) or [Say("No hooks are waiting for approval.")]
    if word == "no":
        _hooks(runtime).refuse(source)
        return [Say(f"The hooks in {source.label} stay off."), *approval(runtime)]
    _hooks(runtime).approve(source)
    return [Say(f"The hooks in {source.label} run from now on. /hooks lists them."), *approval(runtime)]


def _digest(source: "Source") -> str:
    return hashlib.sha256(json.dumps(source.definition, sort_keys=True).encode()).hexdigest()[:16]


def _rows(runtime: Runtime, source: "Source") -> Sequence[tuple[str, ...]]:
    state = "on" if _hooks(runtime).runs(source) else "not approved"
    found = []
    for hook in source.hooks:
        last = _hooks(runtime).last.get((hook.event, hook.command))
        code = ""
        if last and last.exit_code is None:
            code = "failed" if hook.url else "stopped"
        elif last:
            code = "answered" if hook.url else f"exit {last.exit_code}"
        line = f"{code}: {last.line}" if last and last.line else code
        took = f"{last.duration_ms:,}" if last else ""
        found.append((hook.event, hook.matcher, state, took, line, source.label, hook.command))
    return found
