"""The rules that "allow for this session" would add for a call: narrow, but general enough to be useful."""

import os
import re
from collections.abc import Sequence

from prunecli.model.shell import Line
from prunecli.safety.permissions.calls import Call
from prunecli.safety.permissions.harm import CODE
from prunecli.safety.permissions.harmless_commands import Words
from prunecli.safety.permissions.places import Place, lies_in, real_path, set_of
from prunecli.safety.permissions.rule_checks import allowing_rule, uncovered
from prunecli.safety.permissions.rules import FETCH, Rule, parse_rule
from prunecli.safety.permissions.scope import CommandScope
from prunecli.util.errors import ConfigError

_MAX_RULE = 200
"""Maximum characters of a rule, so that a person can check it before saving it."""
_MAX_RULES = 4
_MAX_WORD = 60
"""Maximum characters of a word that is expected to come again, unlike a message or script."""
_NOT_IN_RULES = frozenset("*?[]()\\")


def offered_rules(call: Call, rules: Sequence[Rule], around: CommandScope) -> tuple[str, ...]:
    """Return the narrowest useful rules that cover the call together with the allow rules in effect; none if there
    are none.

    For a line, there is a rule for each command that is not yet allowed: its first words for a few kinds of commands,
    else its exact words if they may come again. For an edit in the workspace or a read outside it, the rule names the
    folder. For secrets, files that control other programs, and edits outside the workspace, it names the single path.
    """
    texts = _texts(call, rules, around)
    if not texts or any(len(text) > _MAX_RULE or not text.isprintable() for text in texts):
        return ()
    try:
        return texts if allowing_rule(call, (*rules, *map(parse_rule, texts)), around) else ()
    except ConfigError:
        return ()


def _texts(call: Call, rules: Sequence[Rule], around: CommandScope) -> tuple[str, ...]:
    if call.target:
        return () if "*" in call.target else (f"mcp({call.target})",)
    if call.effect == "fetch":
        return (f"{FETCH}({call.host})",)
    if call.effect == "unknown":
        return (call.tool,)
    if call.effect == "run":
        return _command_rules(call, rules, around)
    place = call.places[0]
    pattern = _edit_pattern(place, around) if call.effect == "edit" else _read_pattern(place, around)
    tool = "edit" if call.effect == "edit" else call.tool
    return (f"{tool}({pattern})",) if pattern else ()


def _edit_pattern(place: Place, around: CommandScope) -> str:
    path = _plain(place.real)
    root = real_path(around.workspace)
    if path and not lies_in(path, root) and around.holds(place):
        special = around.protects(place) or around.keeps_secrets(place)
        return path if special else f"{os.path.dirname(path)}/**"
    if not path or not lies_in(path, root):
        return path
    inside = os.path.relpath(path, root)
    if around.protects(place) or around.keeps_secrets(place):
        return f"./{inside}"
    folder = os.path.dirname(inside)
    return f"{folder}/**" if folder else "./*"


def _read_pattern(place: Place, around: CommandScope) -> str:
    path = _plain(place.real)
    if around.keeps_secrets(place) or around.holds(place) or not path:
        return path
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if folder.count("/") < 2 or lies_in(real_path(around.home), folder):
        return "" if folder == path else path
    return f"{folder}/**"


def _plain(path: str) -> str:
    """Return the path if a pattern can spell it literally, else ""."""
    return "" if _NOT_IN_RULES.intersection(path) else path


# Commands ----------------------------------------------------------------------------------------------------

_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "deno"})
_INTERPRETERS = set_of("python python3 node ruby perl php bash sh zsh bun tsx")
_TAKES_PATHS = set_of(
    "pytest ruff mypy pyright eslint tsc jest vitest rspec phpunit shellcheck flake8 pylint tox nox ctest "
    "gofmt golangci-lint prettier black isort"
)
"""Programs that check or test: a rule may leave their arguments open."""
_CREATES = frozenset({"mkdir", "touch"})
"""Programs that only create: a rule may leave open what, inside the workspace."""
_ONLY_ONCE = set_of(
    ". awk chmod chown cp dd eval exec export kill ln mv parallel patch perl sed set source unset xargs"
)
"""Programs whose exact arguments rarely come again, or which do something else each time with the same."""
_SUBCOMMANDS = {
    "git": ("add", "commit", "stash", "fetch", "mv", "branch", "tag"),
    "cargo": ("build", "check", "test", "clippy", "fmt", "doc", "bench", "run"),
    "go": ("build", "test", "vet", "fmt", "run", "list", "mod"),
    "dotnet": ("build", "test", "format"),
    "ruff": ("check", "format"),
    "swift": ("build", "test"),
    "mix": ("test", "compile", "format"),
}
"""Subcommands whose arguments a rule may leave open: none of them deletes, publishes or installs."""


def _command_rules(call: Call, rules: Sequence[Rule], around: CommandScope) -> tuple[str, ...]:
    """Return a rule for each command of the line that is not yet allowed; none if one of them gets none."""
    parts = uncovered(call, rules, around)
    texts = dict.fromkeys(
        _general(words) or _exact(words) if doubt.reason not in ("", CODE) else "" for words, doubt in parts
    )
    found = tuple(f"bash({text})" for text in texts)
    return found if all(texts) and len(found) <= _MAX_RULES else ()


def _exact(words: Words) -> str:
    """Return the words of a command that may come again as they are, or ""."""
    if words[0].rpartition("/")[2] in _ONLY_ONCE or any(len(word) > _MAX_WORD for word in words):
        return ""
    text = str(Line((words,)))
    try:
        rule = parse_rule(f"bash({text})")
    except ConfigError:
        return ""
    return text if rule.line == Line((words,)) and not rule.prefix else ""


def _general(words: Words) -> str:
    """Return a rule with open arguments for a command that is often run with other arguments, or ""."""
    program, *rest = words
    if program in _RUNNERS and len(rest) > 1 and rest[0] == "run":
        return f"{program} run *"
    if program in ("uv", "poetry", "pipenv", "hatch", "pdm", "bundle") and rest[:1] in (["run"], ["exec"]):
        inner = _general(tuple(rest[1:])) if len(rest) > 1 else ""
        return f"{program} {rest[0]} {inner}" if inner else ""
    if program in _INTERPRETERS and rest[:1] == ["-m"] and len(rest) > 1 and rest[1] in _TAKES_PATHS:
        return f"{program} -m {rest[1]} *"
    if program in _INTERPRETERS and rest and not rest[0].startswith("-"):
        return _script(program, rest)
    if program in _SUBCOMMANDS and rest[:1] and rest[0] in _SUBCOMMANDS[program]:
        return f"{program} {rest[0]} *"
    return f"{program} *" if program in _TAKES_PATHS | _CREATES else ""


def _script(program: str, rest: Sequence[str]) -> str:
    """Return a rule such as `python3 tests/*` for a script in a folder of the workspace."""
    folder, _, name = rest[0].removeprefix("./").rpartition("/")
    plain = re.fullmatch(r"[\w./-]+", folder) and not folder.startswith("/") and ".." not in folder.split("/")
    if not plain or not name:
        return ""
    return f"{program} {folder}/*" + (" *" if len(rest) > 1 else "")
