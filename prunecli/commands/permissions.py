"""/permissions: choose the permission mode; shows the rules in force."""

from collections.abc import Sequence

from prunecli.agent.permissions.inside import RULE
from prunecli.agent.permissions.verdict import MODES
from prunecli.commands.command import Choice, Choose, Effect, Say
from prunecli.runtime import Runtime

_WHAT = {
    "ask": "runs reads and harmless commands, asks about the rest",
    "edits": "also runs edits inside the workspace",
    "plan": "runs reads only",
    "auto": "runs everything except what deny rules block",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose what may run without asking: ask, edits, plan or auto."""
    keeper = runtime.gatekeeper
    for mode in MODES:
        if arguments == mode:
            runtime.set_mode(mode)
            return [Say(f"Mode {mode}: {_WHAT[mode]}.")]
    if arguments:
        return [Say(f"No mode named {arguments!r}: choose {', '.join(MODES)}", "error")]
    rules = keeper.rules
    lines = [
        f"{kind}: {', '.join(texts)}" for kind, texts in _rules(rules.allow, rules.ask, rules.deny) if texts
    ]
    choices = tuple(Choice(mode, mode, _WHAT[mode], mode == keeper.mode) for mode in MODES)
    if sandbox := runtime.sandbox.line():
        lines.append(f"{sandbox}. {RULE}" if runtime.sandbox.inside().there else f"{sandbox}.")
    said: list[Effect] = [Say("\n".join(lines))] if lines else []
    return [*said, Choose("Permission mode", "permissions", choices)]


def _rules(*groups: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return list(zip(("allow", "ask", "deny"), groups, strict=True))
