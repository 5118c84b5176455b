"""Judges whether one call may run: allow, ask or deny. Stateless; reads the disk but never writes.

The order is the policy: deny rules; an untrusted directory and plan mode, which no rule overrides; ask rules; allow
rules; the mode. When in doubt, the user is asked; a path that cannot be resolved is denied.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prunecli.model.touches import Touches
from prunecli.safety.permissions.calls import Call, parts_of
from prunecli.safety.permissions.harm import of_line
from prunecli.safety.permissions.offers import offered_rules
from prunecli.safety.permissions.places import Unresolvable
from prunecli.safety.permissions.rule_checks import allowing_rule, naming_rule, uncovered
from prunecli.safety.permissions.rules import Rule, parse_rule
from prunecli.safety.permissions.sandboxed import (
    NO_SANDBOX,
    SandboxedCommands,
    harm_inside,
    leaves,
    may_be_tried,
)
from prunecli.safety.permissions.scope import CommandScope
from prunecli.safety.permissions.verdict import Mode, Rules, Verdict


def judge(
    tool_name: str,
    touches: Touches | None,
    *,
    mode: Mode,
    rules: Rules,
    trusted: bool,
    workspace: Path,
    cwd: Path,
    home: Path | None = None,
    secrets: tuple[Path, ...] = (),
    not_read: tuple[str, ...] = (),
    inside: SandboxedCommands = NO_SANDBOX,
    search_path: str | None = None,
    readable: tuple[str, ...] = (),
    added: tuple[Path, ...] = (),
) -> Verdict:
    """Judge one call by the files, commands and hosts that its tool declares (None: the tool may do anything).

    `workspace` and `cwd` are absolute; `home` stands for `~` (default: the account's); `secrets` are prunecli's own
    files and folders with credentials. `not_read` are inputs that the tool does not know; a command with such an
    input is not harmless. `inside` is the sandbox around commands, `search_path` their PATH (default: this
    process's). `readable` are real folders outside the workspace that may be read; `added` are other folders that
    belong to the workspace.
    """
    path = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    user = home or Path(os.path.expanduser("~"))
    around = CommandScope(
        workspace,
        cwd,
        user,
        secrets,
        path,
        walled=inside.closed and trusted,
        readable_folders=readable,
        added=added,
    )
    try:
        parts = parts_of(tool_name, touches, around, not_read)
        verdict = _strictest([_of_part(part, mode, rules, trusted, around, inside) for part in parts])
    except Unresolvable as error:
        return Verdict("deny", f"can't resolve a path: {error}")
    trial = verdict.trial and len(parts) == 1
    return replace(verdict, may_change_files=any(part.may_change_files for part in parts), trial=trial)


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the strictest verdict of a call's parts. If several parts need a question, no rule is offered."""
    for kind in ("deny", "ask"):
        found = [verdict for verdict in verdicts if verdict.kind == kind]
        if len(found) > 1:
            reason = "; ".join(dict.fromkeys(one.reason for one in found))
            return Verdict(kind, reason, firm=any(one.firm for one in found))
        if found:
            return found[0]
    return verdicts[0]


def _of_part(
    call: Call, mode: Mode, rules: Rules, trusted: bool, around: CommandScope, inside: SandboxedCommands
) -> Verdict:
    deny, ask, allow = (_parsed(texts) for texts in (rules.deny, rules.ask, rules.allow))
    named, certain = naming_rule(call, deny, around)
    if named and certain:
        return Verdict("deny", f"denied by the rule {named.text}")
    if call.effect == "context" and not named:
        return Verdict("allow", "it changes only the working context")
    asking, _ = naming_rule(call, ask, around)
    free = trusted and not named and not asking
    if ceiling := _above_ceiling(call, mode, trusted):
        return _tried(ceiling, call, mode, around, inside) if free else ceiling
    if named:
        return Verdict("ask", f"the deny rule {named.text} may apply", firm=True)
    if why := leaves(call, inside):
        return Verdict("ask", why, firm=True)
    if asking:
        return Verdict("ask", f"the ask rule {asking.text} applies", firm=True)
    if allowing := allowing_rule(call, allow, around):
        return Verdict("allow", f"allowed by the rule {allowing}", granted=True)
    inner = harm_inside(call, mode, inside, lambda: uncovered(call, (), around)) if trusted else None
    if inner == "":
        return Verdict("allow", "the sandbox keeps its effects in the workspace")
    verdict = _by_mode(call, mode if trusted else "ask", allow, around, inner or "")
    return _tried(verdict, call, mode, around, inside) if free and verdict.kind == "ask" else verdict


def _tried(
    verdict: Verdict, call: Call, mode: Mode, around: CommandScope, inside: SandboxedCommands
) -> Verdict:
    return replace(verdict, trial=may_be_tried(call, mode, inside, lambda: uncovered(call, (), around)))


def _parsed(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(parse_rule(text) for text in texts)


def _above_ceiling(call: Call, mode: Mode, trusted: bool) -> Verdict | None:
    """Deny a call that does more than read in an untrusted directory or in plan mode, which may fetch pages."""
    if call.effect in ("read", "context"):
        return None
    if not trusted:
        return Verdict(
            "deny",
            "this directory is not trusted, so tools can only read; use /trust, `prunecli trust` or --trust",
        )
    if mode == "plan" and not call.is_harmless and call.effect != "fetch":
        why = f" ({call.doubt})" if call.doubt else ""
        return Verdict("deny", f"plan mode is read-only{why}; leave plan mode first")
    return None


def _by_mode(call: Call, mode: Mode, allow: tuple[Rule, ...], around: CommandScope, why: str) -> Verdict:
    if mode == "auto":
        return Verdict("allow", "auto mode allows everything that no rule denies", granted=True)
    if call.is_harmless:
        return Verdict("allow", "the command only reads")
    if call.effect in ("run", "fetch", "unknown"):
        return Verdict("ask", why or _harm(call, allow, around), offered_rules(call, allow, around))
    if call.effect == "edit":
        return _edit_by_mode(call, mode, offered_rules(call, allow, around), around)
    for place in call.places:
        if harm := around.reading_harm(place):
            return Verdict("ask", harm, offered_rules(call, allow, around))
    return Verdict("allow", "it only reads inside the workspace")


def _harm(call: Call, allow: tuple[Rule, ...], around: CommandScope) -> str:
    """Return what the commands of a line that no rule covers may do."""
    parts = [(words, doubt) for words, doubt in uncovered(call, allow, around) if doubt.reason]
    return of_line(call.line, parts) if call.line and parts else call.doubt


def _edit_by_mode(call: Call, mode: Mode, rules: tuple[str, ...], around: CommandScope) -> Verdict:
    for place in call.places:
        name = around.shown(place.real)
        if not around.holds(place):
            return Verdict("ask", f"changes {name}, outside the workspace", rules)
        if around.protects(place):
            return Verdict("ask", f"changes {name}, which controls other programs", rules)
        if around.keeps_secrets(place):
            return Verdict("ask", f"changes {name}, which may contain secrets", rules)
        if _has_other_names(place.real):
            return Verdict("ask", f"changes another file too: {name} has another hard link")
    if mode == "edits":
        return Verdict("allow", "edits mode allows changes inside the workspace")
    return Verdict("ask", "changes files of the workspace; edits mode would not ask", rules)


def _has_other_names(path: str) -> bool:
    try:
        return not os.path.isdir(path) and os.stat(path).st_nlink > 1
    except OSError:
        return False
