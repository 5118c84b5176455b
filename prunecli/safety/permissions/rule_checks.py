"""Matches rules with a call: the first deny or ask rule that matches any part, and the allow rules that cover all
parts."""

import contextlib
import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path

from prunecli.model.shell import Doubt, Glob, Line, Open
from prunecli.safety.permissions import path_patterns
from prunecli.safety.permissions.calls import Call, rough_words
from prunecli.safety.permissions.harm import UNLISTED, described
from prunecli.safety.permissions.harmless import is_listed, located, read_command
from prunecli.safety.permissions.harmless_commands import Words
from prunecli.safety.permissions.path_patterns import braces, expand, is_glob
from prunecli.safety.permissions.places import Place, TooMany, Unresolvable, is_inside, resolve, set_of
from prunecli.safety.permissions.prefix_rules import open_doubt
from prunecli.safety.permissions.rules import Rule, command_allowed, line_named, text_named
from prunecli.safety.permissions.scope import CommandScope

_MAX_WORDS = 400
"""Maximum words of a line to check as paths. The user is asked about longer lines."""
_CHANGES_STATE = set_of(
    "cd pushd popd export set unset shopt alias unalias source . eval declare typeset local readonly read "
    "mapfile readarray trap exec enable hash builtin umask ulimit getopts printf let dirs shift env disown"
)
"""Builtins that change the meaning of later commands in the line. A `cd` inside the workspace is followed."""
_MAX_FOLDERS = 8


def naming_rule(call: Call, rules: Sequence[Rule], around: CommandScope) -> tuple[Rule | None, bool]:
    """Return the first deny or ask rule that matches the call or a part of it, and whether the match is certain.

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


def _names(rule: Rule, call: Call, around: CommandScope) -> bool | None:
    if call.target:
        return _names_target(rule, call)
    if call.host:
        return _names_host(rule, call)
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


def _names_host(rule: Rule, call: Call) -> bool:
    return rule.names(call.effect, call.tool) and (rule.is_bare or rule.names_host(call.host))


def _names_target(rule: Rule, call: Call) -> bool:
    return rule.names_call(call.target) or (rule.names(call.effect, call.tool) and rule.is_bare)


def _matches(pattern: str, place: Place, around: CommandScope) -> bool | None:
    """Return whether a deny or ask rule matches, with its pattern read from each folder of the workspace."""
    answers = [path_patterns.matches(pattern, place, folder, around.home) for folder in around.folders]
    return True if True in answers else None if None in answers else False


def _around_search(pattern: str, call: Call, around: CommandScope) -> bool | None:
    pairs = itertools.product(call.searched, around.folders)
    below = any(path_patterns.named_below(pattern, place, folder, around.home) for place, folder in pairs)
    return None if below else False


def _path_in_line(rule: Rule, pattern: str, call: Call, around: CommandScope) -> bool | None:
    """Return whether a shell line reads a path of a read rule, or may change a path of an edit rule."""
    if rule.tool not in ("read", "edit", "write"):
        return None if rule.tool == call.tool.lower() else False
    if call.is_harmless:
        if rule.tool != "read":
            return False
        answers = [_matches(pattern, place, around) for reading in call.readings for place in reading.places]
        if True in answers or None in answers:
            return True if True in answers else None
        return _in_sweeps(pattern, call, around)
    named = _path_in_words(pattern, call, around)
    return None if named and rule.tool != "read" else named


def _in_sweeps(pattern: str, call: Call, around: CommandScope) -> bool | None:
    """Return None if a harmless line may show a file that the pattern names but the line does not, else False."""
    namers = [path_patterns.namer([pattern], folder, around.home) for folder in around.folders]
    found = any(named(path) for reading in call.readings for path in reading.shown for named in namers)
    return None if found else False


def _path_in_words(pattern: str, call: Call, around: CommandScope) -> bool | None:
    """Return whether a word of the line is a path that matches the pattern; None if that is uncertain.

    Globs and braces stand for every file that they could match. The result is None for a `*` that would match only a
    leading dot, as in `--include=*`. It is also None for a word without slash and dot, which may mean anything to an
    unknown program.
    """
    commands = parsed = call.line.commands if call.line else ()
    if not parsed or any(isinstance(word, Open) for words in parsed for word in words):
        commands = (*parsed, tuple(rough_words(call.text or "", around.home)))
    words = [(word, is_listed(command[0])) for command in commands for word in command]
    folders = _folders(commands, around)
    unsure = len(words) > _MAX_WORDS
    for word, reads in words[:_MAX_WORDS]:
        for text, folder in itertools.product(_meanings(word), folders):
            try:
                paths = expand(text, folder, dots=True) if is_glob(text) else [text]
            except TooMany:
                unsure = True
                continue
            for path in paths:
                try:
                    place = resolve(path, folder, around.home)
                except Unresolvable:
                    continue  # The command itself cannot resolve this path either.
                if _matches(pattern, place, around):
                    named = reads or "/" in text or "." in text or is_glob(text)
                    if named and not (parsed and _is_script(word)) and _says(text, path):
                        return True
                    unsure = unsure or os.path.lexists(place.real)
    return None if unsure else False


def _is_script(word: str) -> bool:
    """Return whether a quoted word with wildcards is rather a script, a sum or the bracket of a test."""
    return is_glob(word) and not isinstance(word, Glob) and (" " in word or not re.search(r"\w", word))


def _says(glob: str, path: str) -> bool:
    """Return whether the glob contains the leading dots of a match, since in a shell `*` matches no hidden file."""
    parts = zip(glob.split("/"), path.split("/"), strict=True)
    return all(part.startswith(".") or not name.startswith(".") for part, name in parts)


def _meanings(word: str) -> set[str]:
    """Return the paths that a word may contain: the word, the part after `=`, `:` or `@`, and each expansion of its
    braces.

    A pattern that a search excludes is not a path.
    """
    if word.startswith(("--exclude=", "--exclude-dir=")):
        return set()
    texts = {word, word.partition("=")[2], word.rpartition(":")[2], word.rpartition("@")[2]} - {""}
    return {made for text in texts for made in braces(text)}


def _folders(commands: Sequence[tuple[str, ...]], around: CommandScope) -> list[Path]:
    """Return the folders that words may be relative to: each folder that a `cd` or an option like `-C` could lead
    to."""
    found = [around.cwd]
    for words in commands:
        for before, word in itertools.pairwise(words):
            if (
                before in ("cd", "pushd", "-C", "--directory", "--prefix", "--cwd")
                and len(found) < _MAX_FOLDERS
            ):
                with contextlib.suppress(Unresolvable):
                    found.append(Path(resolve(word, found[-1], around.home).real))
    return found


# Allowing ----------------------------------------------------------------------------------------------------


def allowing_rule(call: Call, rules: Sequence[Rule], around: CommandScope) -> str:
    """Return the text of the allow rules that together cover the whole call, or ""."""
    if call.target:
        return next((rule.text for rule in rules if _names_target(rule, call)), "")
    if call.host:
        return next((rule.text for rule in rules if _names_host(rule, call)), "")
    named = [rule for rule in rules if rule.names(call.effect, call.tool)]
    if call.text is not None:
        return _rule_for_line(call, named, around)
    if call.effect == "unknown":
        return next((rule.text for rule in named if rule.is_bare), "")
    found = [
        next((rule.text for rule in named if _covers(rule, call, place, around)), "") for place in call.places
    ]
    return ", ".join(dict.fromkeys(found)) if found and all(found) else ""


def _covers(rule: Rule, call: Call, place: Place, around: CommandScope) -> bool:
    """Return whether an allow rule covers a place. A bare rule covers edits only in the workspace, and never covers
    secrets or files that control other programs. These need a rule that names them, or auto mode."""
    secret = around.keeps_secrets(place)
    protected = call.effect == "edit" and around.protects(place)
    if rule.pattern is None:
        outside = call.effect == "edit" and not around.holds(place)
        return not secret and not protected and not outside
    special = secret or protected
    return any(
        path_patterns.allows(rule.pattern, place, folder, around.home, special) for folder in around.folders
    )


def _rule_for_line(call: Call, rules: Sequence[Rule], around: CommandScope) -> str:
    """Return the rules that cover every command of the line that is not harmless, or "".

    If one command changes the meaning of the next, every command needs a rule. Rules with words apply only in the
    workspace where they were granted.
    """
    if bare := next((rule for rule in rules if rule.is_bare), None):
        return bare.text
    line = call.line
    if line is None or not is_inside(resolve(".", around.cwd, around.home), around.workspace):
        return ""
    if whole := next((rule for rule in rules if rule.line == line and not rule.prefix), None):
        return whole.text
    used = _rules_for_parts(line, rules, around)
    texts = dict.fromkeys(found.text for _, found in used if isinstance(found, Rule))
    return ", ".join(texts) if not any(isinstance(found, Doubt) for _, found in used) else ""


def uncovered(call: Call, rules: Sequence[Rule], around: CommandScope) -> list[tuple[Words, Doubt]]:
    """Return the commands of a line that are neither harmless nor covered by a rule, each with the doubt about it,
    whose reason is empty where only the rest of the line needs approval."""
    parts = _rules_for_parts(call.line, rules, around) if call.line else []
    return [(words, found) for words, found in parts if isinstance(found, Doubt)]


def _rules_for_parts(
    line: Line, rules: Sequence[Rule], around: CommandScope
) -> list[tuple[Words, Rule | Doubt | None]]:
    """Return each command except `cd` with the rule that covers it, the doubt about it, or None if it is harmless."""
    try:
        parts = list(located(line, around))
    except (Doubt, Unresolvable) as error:
        parts = [(words, [around]) for words in line.commands]
        if len(parts) > 1:  # after a `cd` that can't be followed, nothing is known
            reasons = ((words, str(error) if words[0] == "cd" else UNLISTED) for words in line.commands)
            return [
                (words, Doubt("") if is_listed(words[0]) else described(words, Doubt(reason), around))
                for words, reason in reasons
            ]
    steady = not any(words[0] in _CHANGES_STATE for words, _ in parts)
    return [
        (
            words,
            _by_rule(words, rules, places, line) or _doubt(words, places) or (None if steady else Doubt("")),
        )
        for words, places in parts
    ]


def _by_rule(words: Words, rules: Sequence[Rule], places: Sequence[CommandScope], line: Line) -> Rule | None:
    """Return the first rule that names the command of a line and covers its remaining words."""
    for rule in rules:
        left_open = command_allowed(rule, words)
        if left_open is not None and not any(
            open_doubt(words, left_open, place, fed=bool(place.feed) or not line.flat) for place in places
        ):
            return rule
    return None


def _doubt(words: Words, places: Sequence[CommandScope]) -> Doubt | None:
    """Return why a command of a line needs approval, None if it is harmless."""
    for place in places:
        try:
            read_command(words, place)
        except Doubt as doubt:
            return described(words, doubt, place)
    return None
