"""Whether one call may run: allowed, asked about, or denied. A judgement without memory; it reads the disk only.

The order is the policy: deny rules; an untrusted directory and plan mode are ceilings that no rule lifts; ask
rules; allow rules; the mode. What can't be told for certain is asked about, a path that can't be followed is denied.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from prunecli.agent.judging.calls import Call, read_call
from prunecli.agent.judging.harmless import Surroundings
from prunecli.agent.judging.offers import offered_rule
from prunecli.agent.judging.places import Unresolvable, is_inside, is_protected, is_secret, reading_doubt
from prunecli.agent.judging.rule_checks import allowing_rule, naming_rule
from prunecli.agent.judging.rules import Rule, parse_rule
from prunecli.model.messages import Json
from prunecli.tools.tool import Effect

Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force, as their texts. Raises ConfigError that quotes the first one that can't be read."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in (*self.allow, *self.ask, *self.deny):
            parse_rule(text)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may happen and why, in plain words. `rule` is what "allow for this session" would add to the allow
    rules, "" where no narrow rule can be offered."""

    kind: Literal["allow", "ask", "deny"]
    reason: str
    rule: str = ""


def judge(
    effect: Effect,
    tool_name: str,
    given: Mapping[str, Json],
    *,
    mode: Mode,
    rules: Rules,
    trusted: bool,
    workspace: Path,
    cwd: Path,
    home: Path | None = None,
    secrets: tuple[Path, ...] = (),
    denied_are_skipped: bool = False,
) -> Verdict:
    """The judgement of one call, from its raw input.

    `workspace` and `cwd` are absolute; `home` is what `~` means (by default the account's); `secrets` are files
    and folders of this program that hold credentials. `denied_are_skipped`: the search tools leave out the files
    that deny rules name, so that a search around them needs no question.
    """
    around = Surroundings(workspace, cwd, home or Path(os.path.expanduser("~")), secrets)
    try:
        call = read_call(effect, tool_name, given, around)
        deny, ask, allow = (_parsed(texts) for texts in (rules.deny, rules.ask, rules.allow))
        named, certain = naming_rule(call, deny, around, denied_are_skipped)
        if named and certain:
            return Verdict("deny", f"the rule {named.text} denies it")
        if effect == "context":
            return Verdict("allow", "it changes only the working context")
        if ceiling := _above_ceiling(call, mode, trusted):
            return ceiling
        if call.malformed:
            return Verdict("ask", call.malformed)
        if named:
            return Verdict("ask", f"whether the rule {named.text} denies it can't be told")
        asking, _ = naming_rule(call, ask, around, False)
        if asking:
            return Verdict("ask", f"the rule {asking.text} asks")
        if allowing := allowing_rule(call, allow, around):
            return Verdict("allow", f"the rule {allowing} allows it")
        return _by_mode(call, mode if trusted else "ask", around)
    except Unresolvable as error:
        return Verdict("deny", f"a path can't be followed to its end: {error}")


def is_harmless(
    tool_name: str,
    given: Mapping[str, Json],
    workspace: Path,
    home: Path | None = None,
    secrets: tuple[Path, ...] = (),
) -> bool:
    """Whether a command only reads what may be read; in any doubt it is not. Arguments as of `judge`."""
    around = Surroundings(workspace, workspace, home or Path(os.path.expanduser("~")), secrets)
    try:
        return read_call("run", tool_name, given, around).is_harmless
    except Unresolvable:
        return False


def _parsed(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(parse_rule(text) for text in texts)


def _above_ceiling(call: Call, mode: Mode, trusted: bool) -> Verdict | None:
    """The denial of what goes beyond reading in an untrusted directory (CFG-09) or in plan mode."""
    if call.effect == "read":
        return None
    if not trusted:
        return Verdict(
            "deny",
            "this directory is not trusted, so it is only read; `prunecli trust` lifts that, --trust for one run",
        )
    if mode == "plan" and not call.is_harmless:
        why = f": {call.doubt}" if call.effect == "run" and call.doubt else ""
        return Verdict("deny", f"plan mode changes nothing{why}; another mode may (Shift+Tab)")
    return None


def _by_mode(call: Call, mode: Mode, around: Surroundings) -> Verdict:
    if mode == "auto":
        return Verdict("allow", "auto mode allows what no rule denies")
    if call.effect == "run":
        if call.is_harmless:
            return Verdict("allow", "the command only reads")
        return Verdict("ask", call.doubt or "it can change anything", offered_rule(call, around))
    if call.effect == "edit":
        return _edit_by_mode(call, mode, around)
    for place in call.places:
        if doubt := reading_doubt(place, around.workspace, around.secrets):
            return Verdict("ask", f"{place.real}: {doubt}", offered_rule(call, around))
    return Verdict("allow", "it reads, inside of the workspace")


def _edit_by_mode(call: Call, mode: Mode, around: Surroundings) -> Verdict:
    rule = offered_rule(call, around)
    for place in call.places:
        if not is_inside(place, around.workspace):
            return Verdict("ask", f"{place.real}: it lies outside of the workspace", rule)
        if is_protected(place, around.workspace):
            return Verdict("ask", f"{place.real}: programs are started from what is written there", rule)
        if is_secret(place, around.secrets):
            return Verdict("ask", f"{place.real}: secrets may be in it", rule)
        if _has_other_names(place.real):
            return Verdict("ask", f"{place.real}: the file has another name, which would change too")
    if mode == "edits":
        return Verdict("allow", "edits mode allows changes inside of the workspace")
    return Verdict("ask", "it changes files", rule)


def _has_other_names(path: str) -> bool:
    try:
        return not os.path.isdir(path) and os.stat(path).st_nlink > 1
    except OSError:
        return False
