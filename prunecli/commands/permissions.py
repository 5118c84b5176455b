"""/permissions: choose the permission mode; shows the rules in effect."""

from collections.abc import Sequence

from prunecli.commands.command import Choice, Choose, Effect, Say
from prunecli.runtime import Runtime
from prunecli.runtime.added_folders import in_words
from prunecli.safety.permissions.sandboxed import PROPOSED, RULES
from prunecli.safety.permissions.verdict import MODES
from prunecli.util.errors import ConfigError

_WHAT = {
    "ask": "runs reads and harmless commands, asks about the rest",
    "edits": "also runs edits inside the workspace",
    "plan": "runs reads only",
    "auto": "runs everything except what deny rules block",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Choose what may run without asking: ask, edits, plan or auto."""
    keeper = runtime.gatekeeper
    if arguments == "auto" and keeper.mode != "auto":
        # A question of its own, so that one key press or word does not turn off all questions.
        answers = (
            Choice("auto yes", "Yes", "until you change the mode"),
            Choice(keeper.mode, "No", f"stay in {keeper.mode} mode", current=True),
        )
        return [Choose("Run everything without asking (auto mode)?", "permissions", answers, grave=True)]
    for mode in MODES:
        if arguments in (mode, "auto yes" if mode == "auto" else mode):
            keeper.mode = mode
            return [Say(f"Mode {mode}: {_WHAT[mode]}.")]
    word, _, rule = arguments.partition(" ")
    if word == "remove":
        return [_removed(runtime, rule.strip())]
    if arguments:
        return [Say(f"No mode named {arguments!r}: choose {', '.join(MODES)}", "error")]
    rules, kept = keeper.rules, keeper.kept()
    allow = tuple(rule for rule in rules.allow if rule not in kept)
    lines = [f"{kind}: {', '.join(texts)}" for kind, texts in _rules(allow, rules.ask, rules.deny) if texts]
    if runtime.setup.added.paths:
        lines.append(f"Also works in {in_words(runtime.setup)}, with the same rules")
    if problem := runtime.project_rules.problem:
        lines.append(f"{problem}, so no rules of this project are in effect")
    if kept:
        ignored = "" if keeper.trusted else ", ignored until you trust it"
        lines.append(f"allow in this project{ignored}: {', '.join(kept)}")
    if kept or keeper.granted:
        lines.append("/permissions remove RULE removes one")
    choices = tuple(Choice(mode, mode, _WHAT[mode], mode == keeper.mode) for mode in MODES)
    if sandbox := runtime.sandbox.line():
        inside = runtime.sandbox.inside()
        about = (*PROPOSED * inside.proposes, *(RULES if inside.closed else RULES[-1:] * inside.there))
        lines += [sandbox, *(f"- {line}" for line in about)]
    said: list[Effect] = [Say("\n".join(lines))] if lines else []
    return [*said, Choose("Permission mode", "permissions", choices)]


def _removed(runtime: Runtime, rule: str) -> Say:
    if not rule:
        return Say("No rule given: /permissions lists those that /permissions remove RULE removes", "error")
    try:
        kept = runtime.project_rules.remove(runtime.setup.cwd, rule)
    except ConfigError as error:
        return Say(f"{error.message}: {error.hint}", "error")
    if runtime.gatekeeper.forget(rule) or kept:
        return Say(f"Removed {rule}. You will be asked again.")
    return Say(f"No rule {rule!r} was added here; rules of the configuration are in its files", "error")


def _rules(*groups: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return list(zip(("allow", "ask", "deny"), groups, strict=True))
