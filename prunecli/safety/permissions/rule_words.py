"""Describes in one line what a rule covers, for the user who is asked whether to keep it."""

import os
from pathlib import Path

from prunecli.safety.permissions.globs import TooMany, expand
from prunecli.safety.permissions.rules import FETCH, Rule, parse_rule

_MOST_EXAMPLES = 2
_EXCEPT = "except options that execute or write, secrets, and paths outside the workspace"


def covers(text: str, workspace: Path) -> str:
    """Return a description of the rule's coverage, with examples of existing files; "" if the rule's text is
    clear."""
    rule = parse_rule(text)
    if rule.line is not None:
        return _of_command(rule, text, workspace)
    if rule.tool == FETCH and rule.target:
        return f"every page of {rule.target}"
    if rule.pattern is None:
        return f"every call to {rule.tool}" if rule.is_bare else ""
    if rule.pattern.endswith("/**"):
        return f"every file below {rule.pattern[:-3]}, except secrets and protected files"
    if rule.pattern == "./*":
        return "every file at the top of this folder, except secrets and protected files"
    return "this file only"


def _of_command(rule: Rule, text: str, workspace: Path) -> str:
    words = text.partition("(")[2].removesuffix(")").split(" ")
    globs = [word for word in words if "*" in word and word != "*"]
    if not rule.prefix and not globs:
        return ""
    shown = " ".join(words).removesuffix(" *")
    for glob in globs:
        if found := _examples(glob, workspace):
            examples = ", ".join(shown.replace(glob, name) for name in found)
            return f"{examples} …, {_EXCEPT}"
    return f"{shown} with any arguments, {_EXCEPT}"


def _examples(glob: str, workspace: Path) -> list[str]:
    """Return the first files that a glob matches, starting with those that look like scripts."""
    try:
        found = [path for path in expand(glob, workspace) if os.path.isfile(workspace / path)]
    except (TooMany, OSError):
        return []
    return sorted(found, key=lambda path: (os.path.basename(path)[0] == "_", path))[:_MOST_EXAMPLES]
