"""Matches rules with a call: the first deny or ask rule that matches any part, and the allow rules that cover all
parts."""

import os
import re
from collections.abc import Sequence

from prunecli.agent.permissions import path_patterns
from prunecli.agent.permissions.calls import Call
from prunecli.agent.permissions.harmless import Surroundings, is_listed, read_command
from prunecli.agent.permissions.places import Place, Unresolvable, is_inside, is_protected, is_secret, resolve
from prunecli.agent.permissions.rules import Rule, command_allowed, line_named, parse_rule, text_named
from prunecli.model.shell import Doubt

_MAX_WORDS = 400
"""Words of a line to check as paths. The user is asked about longer lines."""
_CHANGES_STATE = frozenset(
    {
        *(
            "cd",
            "pushd",
            "popd",
            "export",
            "set",
            "unset",
            "shopt",
            "alias",
            "unalias",
            "source",
            ".",
            "eval",
        ),
        *(
            "declare",
            "typeset",
            "local",
            "readonly",
            "read",
            "mapfile",
            "readarray",
            "trap",
            "exec",
            "enable",
        ),
        *("hash", "builtin", "umask", "ulimit", "getopts", "printf", "let", "dirs", "shift", "env", "disown"),
    }
)
"""Builtins that change the meaning of later commands in the line."""


def naming_rule(call: Call, rules: Sequence[Rule], around: Surroundings) -> tuple[Rule | None, bool]:
    """The first deny or ask rule that matches the call or a part of it, and whether the match is certain.

    A certain match takes precedence over uncertain ones.
    """
    unsure: Rule | None = None
    for rule in rules:
        answer = _names(rule, call, around)
        if answer:
            return rule, True
        if answer is None and unsure is None:
            unsure = rule
    return unsure, False


def _names(rule: Rule, call: Call, around: Surroundings) -> bool | None:
    if call.text is not None and rule.pattern is not None:
        return _path_in_line(rule, rule.pattern, call, around)
    if not rule.names(call.effect, call.tool):
        return False
    if rule.is_bare:
        return True
    if rule.line is not None:
        if call.line is not None:
            return line_named(rule, call.line)
        return True if text_named(rule, call.text or "") else None
    if not call.places:
        return None  # The call does not name its files.
    answers = [_matches(rule.pattern or "", place, around) for place in call.places]
    if True in answers or None in answers:
        return True if True in answers else None
    return _around_search(rule.pattern or "", call, around)


def _matches(pattern: str, place: Place, around: Surroundings) -> bool | None:
    return path_patterns.matches(pattern, place, around.workspace, around.home)


def _around_search(pattern: str, call: Call, around: Surroundings) -> bool | None:
    below = any(
        path_patterns.named_below(pattern, place, around.workspace, around.home) for place in call.searched
    )
    return None if below else False


def _path_in_line(rule: Rule, pattern: str, call: Call, around: Surroundings) -> bool | None:
    """Whether a shell line reads a path of a read rule, or may change a path of an edit rule."""
    if rule.tool not in ("read", "edit", "write"):
        return None if rule.tool == call.tool.lower() else False
    if call.is_harmless:
        if rule.tool != "read":
            return False
        answers = [_matches(pattern, place, around) for reading in call.readings for place in reading.places]
        return True if True in answers else None if None in answers else _around_search(pattern, call, around)
    named = _path_in_words(pattern, call, around)
    return None if named and rule.tool != "read" else named


def _path_in_words(pattern: str, call: Call, around: Surroundings) -> bool | None:
    """Whether a word of the line is a path that matches the pattern; None if that is uncertain.

    A word without slash and dot may mean anything to an unknown program: if it matches, the answer is None.
    """
    commands = call.line.commands if call.line else (tuple(_rough_words(call, around)),)
    words = [(word, is_listed(command[0])) for command in commands for word in command]
    unsure = len(words) > _MAX_WORDS
    for word, reads in words[:_MAX_WORDS]:
        for text in {word, word.partition("=")[2], word.rpartition(":")[2]} - {""}:
            try:
                place = resolve(text, around.cwd, around.home)
            except Unresolvable:
                continue  # The command itself cannot resolve it either.
            if _matches(pattern, place, around):
                if reads or "/" in text or "." in text:
                    return True
                unsure = unsure or os.path.lexists(place.real)
    return None if unsure else False


def _rough_words(call: Call, around: Surroundings) -> list[str]:
    """The likely words of an unparsable line: home expanded, quotes and escapes removed."""
    text = re.sub(r"\$HOME\b|\$\{HOME\}", str(around.home), call.text or "")
    return re.split(r"[\s|&;<>()`$]+", re.sub(r"""\\\n|['"\\]""", "", text))


# Allowing ----------------------------------------------------------------------------------------------------


def allowing_rule(call: Call, rules: Sequence[Rule], around: Surroundings) -> str:
    """The text of the allow rules that together cover the whole call, or ""."""
    named = [rule for rule in rules if rule.names(call.effect, call.tool)]
    if call.text is not None:
        return _rule_for_line(call, named, around)
    if call.effect == "unknown":
        return next((rule.text for rule in named if rule.is_bare), "")
    found = [
        next((rule.text for rule in named if _covers(rule, call, place, around)), "") for place in call.places
    ]
    return ", ".join(dict.fromkeys(found)) if found and all(found) else ""


def allows_call(text: str, call: Call, around: Surroundings) -> bool:
    """Whether this rule alone, as an allow rule, would cover the call."""
    return bool(allowing_rule(call, (parse_rule(text),), around))


def _covers(rule: Rule, call: Call, place: Place, around: Surroundings) -> bool:
    """Whether an allow rule covers a place. A bare rule covers no secrets, no places that start programs, and edits
    only in the workspace: the rest needs a rule that names it, or auto mode."""
    secret = is_secret(place, around.secrets)
    protected = call.effect == "edit" and is_protected(place, around.workspace)
    if rule.pattern is None:
        outside = call.effect == "edit" and not is_inside(place, around.workspace)
        return not secret and not protected and not outside
    return path_patterns.allows(rule.pattern, place, around.workspace, around.home, secret or protected)


def _rule_for_line(call: Call, rules: Sequence[Rule], around: Surroundings) -> str:
    """Every command of the line needs a rule, except filters without paths.

    If one command changes the meaning of the next, each needs a rule. Rules with words apply only in the workspace
    where they were granted.
    """
    if bare := next((rule for rule in rules if rule.is_bare), None):
        return bare.text
    line = call.line
    if line is None or not is_inside(resolve(".", around.cwd, around.home), around.workspace):
        return ""
    if whole := next((rule for rule in rules if rule.line == line and not rule.prefix), None):
        return whole.text
    filters = not any(words[0] in _CHANGES_STATE for words in line.commands)
    used = [_rule_for_command(words, rules, around, filters) for words in line.commands]
    texts = dict.fromkeys(rule.text for rule in used if isinstance(rule, Rule))
    return ", ".join(texts) if all(used) else ""


def _rule_for_command(
    words: tuple[str, ...], rules: Sequence[Rule], around: Surroundings, filters: bool
) -> Rule | bool:
    if rule := next((rule for rule in rules if command_allowed(rule, words)), None):
        return rule
    return filters and _is_filter(words, around)


def _is_filter(words: tuple[str, ...], around: Surroundings) -> bool:
    """Whether it reads only its input, so that it is harmless whatever ran before it."""
    try:
        reading = read_command(words, around)
    except Doubt:
        return False
    return words[0] != "git" and not reading.places and not reading.sweeps
