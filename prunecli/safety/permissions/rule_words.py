"""Describes in one line what rules cover, for the user who is asked whether to keep them."""

from collections.abc import Sequence

from prunecli.safety.permissions.rules import FETCH, parse_rule

_OPTIONS = "; not options that run or write other things"


def in_words(rules: Sequence[str]) -> str:
    """Return the rules as the user reads them: those of commands without `bash(...)`."""
    return ", ".join(
        rule[5:-1] if rule.startswith("bash(") and rule.endswith(")") else rule for rule in rules
    )


def covers(rules: Sequence[str]) -> str:
    """Return a description of what the rules cover, "" if their texts are clear."""
    return "; ".join(dict.fromkeys(filter(None, map(_covers, rules))))


def _covers(text: str) -> str:
    rule = parse_rule(text)
    if rule.line is not None:
        what = ["any such file"] * bool(rule.line.globs) + ["any arguments"] * rule.prefix
        return ", ".join(what) + _OPTIONS if what else ""
    if rule.tool == FETCH and rule.target:
        return f"every page of {rule.target}"
    if rule.pattern is None:
        return f"every call to {rule.tool}" if rule.is_bare else ""
    if rule.pattern.endswith("/**"):
        return f"every file below {rule.pattern[:-3]}, except secrets and protected files"
    if rule.pattern == "./*":
        return "every file at the top of this folder, except secrets and protected files"
    return "this file only"
