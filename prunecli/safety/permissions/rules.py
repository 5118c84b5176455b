"""Permission rules: `bash(npm run test:*)`, `edit(src/**)`, `read(~/.ssh/**)`, `write`, `*`.

| rule | names |
|---|---|
| `*` | every call |
| `grep`, `write`, `mcp__x__y` | every call to that tool |
| `read`, `edit`, `bash` | every call that reads files, changes files, or runs a command, by any tool |
| `bash(git status)` | a command of exactly these words |
| `bash(npm run test:*)` | a command that begins with these words; `bash(npm run test *)` says the same |
| `bash(python3 tests/*)` | a word may be a path with wildcards, which match within one folder |
| `read(~/.ssh/**)`, `edit(src/**)` | paths, see path_patterns.py |
| `mcp`, `mcp(github:*)`, `mcp(github:create_issue)` | calls to MCP servers; `*` stands for any characters |
| `web_fetch(docs.python.org)`, `web_fetch(*.python.org)` | requests to a host, or to every host below it |
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from prunecli.model.shell import Doubt, Glob, Line, Open, parse
from prunecli.safety.permissions import path_patterns
from prunecli.safety.permissions.places import set_of
from prunecli.tools.registry import names
from prunecli.tools.searching.glob import without_backtracking
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.hosts import is_allowed
from prunecli.util.hosts import problem as host_problem

FETCH = "web_fetch"
PORT = re.compile(r":\d{1,5}$")
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]")
_FORM = re.compile(r"(?P<tool>\*|[A-Za-z_][\w.-]*)(?:\((?P<body>.*)\))?", re.DOTALL)
_SPEAKS_FOR = {"read": "read", "edit": "edit", "run": "bash", "fetch": FETCH}
"""The rule name that matches every call with this effect, by any tool."""
_HINT = "write it like bash(git status), bash(npm run test:*), edit(src/**), read(~/.ssh/**), write or *"

_HIDE_COMMANDS = set_of(
    "sh bash dash zsh ksh fish eval source . alias trap xargs parallel ssh su script busybox toybox"
)
"""Programs that can start commands from a file or a pipe, which their arguments do not show."""
_NAME_COMMANDS = set_of(
    "sudo doas runuser chroot env command exec builtin nohup timeout time nice ionice stdbuf setsid find fd "
    "watch strace flock unshare npx awk gawk mawk perl ruby python python3 node php lua"
)
"""Programs whose arguments name the command they start."""
_RUNS_IN_GIT = frozenset({"-c", "-x", "--exec", "foreach", "run"})
"""Words of git that may stand before a command that it runs."""
_MAX_BETWEEN = 50
"""Maximum words to search for the next word of a rule, so that even a line of a megabyte is judged quickly."""


@frozen
class Rule:
    """One rule, parsed. `line` and `prefix` belong to a bash rule, `pattern` to one with a path, `target` to
    mcp and web_fetch."""

    text: str
    tool: str
    line: Line | None = None
    prefix: bool = False
    pattern: str | None = None
    target: str = ""

    @property
    def is_bare(self) -> bool:
        """Whether the rule covers every call to its tool."""
        return self.line is None and self.pattern is None and not self.target

    def names(self, effect: str, tool_name: str) -> bool:
        """Return whether the rule can apply to a part of a call with this effect, by this tool."""
        return self.tool in ("*", tool_name.lower(), _SPEAKS_FOR.get(effect))

    def names_host(self, host: str) -> bool:
        """Return whether the rule names this host. A rule without a port names every port."""
        name, _, port = host.rpartition(":") if PORT.search(host) else (host, "", "")
        wanted, _, of_port = (
            self.target.rpartition(":") if PORT.search(self.target) else (self.target, "", "")
        )
        return of_port in ("", port) and (wanted in ("", "*", name) or is_allowed(name, (wanted,)))

    def names_call(self, target: str) -> bool:
        """Return whether the rule names this `server:tool`. Names are compared exactly; `*` stands for any
        characters."""
        parts = [".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", self.target or "*")]
        wanted = without_backtracking(parts, ".*")
        return self.tool == "mcp" and re.fullmatch(wanted, target, re.DOTALL) is not None


@lru_cache(maxsize=512)
def parse_rule(text: str) -> Rule:
    """Parse a rule. Raises a ConfigError that quotes the rule and explains the error."""
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise _wrong(text, "it must start with a tool name and close its parenthesis")
    tool, body = match["tool"].lower(), match["body"]
    if body is None:
        return Rule(text, tool)
    if not body.strip():
        raise _wrong(text, "its parentheses are empty")
    if tool == "mcp":
        if body.strip() != "*" and ":" not in body:
            raise _wrong(
                text,
                "it must name a server and a tool",
                "write it like mcp(github:create_issue) or mcp(github:*)",
            )
        return Rule(text, tool, target=body.strip())
    if tool == FETCH:
        return _fetch_rule(text, body.strip())
    if tool == "bash":
        return _bash_rule(text, body.strip())
    if tool not in names():
        raise _wrong(text, f"no tool named {match['tool']} takes paths")
    if flaw := path_patterns.flaw(body.strip()):
        raise _wrong(text, flaw, "start the path at /, ~/ or the workspace")
    return Rule(text, tool, pattern=body.strip())


def _bash_rule(text: str, body: str) -> Rule:
    prefix = body.endswith((":*", " *"))
    words = body[:-2].strip() if prefix else body
    if words in ("", "*"):
        return Rule(text, "bash")
    try:
        line = parse(words)
        if any(isinstance(word, Glob) and "/" not in word for command in line.commands for word in command):
            raise Doubt("it uses a wildcard")
    except Doubt as doubt:
        why = f"a command in a rule must be plain words, but {doubt.reason}"
        raise _wrong(text, why, "end it with :* to match all commands that start with its words") from None
    if prefix and len(line.commands) > 1:
        raise _wrong(text, "a prefix must be a single command")
    return Rule(text, "bash", line, prefix)


def _fetch_rule(text: str, body: str) -> Rule:
    """Return a rule for a host, accepting Claude Code's form too: `web_fetch(domain:docs.python.org)`."""
    host = body.removeprefix("domain:").lower()
    if host == "*":
        return Rule(text, FETCH)
    name = PORT.sub("", host)
    wrong = host_problem(name)
    if wrong and not ADDRESS.fullmatch(name):
        raise _wrong(text, wrong, "write it like web_fetch(docs.python.org) or web_fetch(*.python.org)")
    return Rule(text, FETCH, target=host)


def _wrong(text: str, why: str, hint: str = _HINT) -> ConfigError:
    return ConfigError(f"permission rule {text!r}: {why}", hint)


def command_allowed(rule: Rule, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the words that an allow rule leaves open in a command that it names, or None if it does not name the
    command.

    A rule names a command by exactly its words, or by a prefix of them. The open words are those matched by a
    wildcard of the rule and those that follow the prefix.
    """
    if rule.line is None or len(rule.line.commands) != 1:
        return None
    wanted = rule.line.commands[0]
    if len(words) < len(wanted) or (len(words) > len(wanted) and not rule.prefix):
        return None
    pairs = list(zip(wanted, words, strict=False))
    if not all(_stands_for(want, word) for want, word in pairs):
        return None
    return (*(word for want, word in pairs if isinstance(want, Glob)), *words[len(wanted) :])


def _stands_for(wanted: str, word: str) -> bool:
    if not isinstance(wanted, Glob):
        return wanted == word and not isinstance(word, Glob | Open)
    patterns, parts = wanted.split("/"), str(word).removeprefix("./").split("/")
    return len(patterns) == len(parts) and all(
        part not in ("", "..")
        and not part.startswith((".", "-"))
        and path_patterns.component_regex(pattern).fullmatch(part)
        for pattern, part in zip(patterns, parts, strict=True)
    )


def line_named(rule: Rule, line: Line) -> bool | None:
    """Return whether a deny or ask rule names a command in the line; None if a program hides the commands it starts.

    The program's folder and case are ignored, options may stand between the rule's words, and commands started by
    other programs (`sudo`, `find`) are found.
    """
    if rule.line is None or line == rule.line:
        return True
    if len(rule.line.commands) > 1:
        return False
    wanted = rule.line.commands[0]
    hidden = False
    for words in line.commands:
        program = _program(words[0])
        if _stands_at(0, words, wanted, rule.prefix):
            return True
        if program in _HIDE_COMMANDS | _NAME_COMMANDS and text_named(rule, " ".join(words)):
            return True
        opened = program == _program(wanted[0]) and any(
            isinstance(word, Open) or (program == "git" and "alias." in word) for word in words
        )
        if program == "git" and not _RUNS_IN_GIT.isdisjoint(words) and text_named(rule, " ".join(words[1:])):
            return True
        hidden = hidden or opened or program in _HIDE_COMMANDS
    return None if hidden else False


def text_named(rule: Rule, text: str) -> bool:
    """Return whether the words of a rule seem to occur in an unparsable line, without its quotes and escapes."""
    if rule.line is None:
        return True
    tokens = tuple(re.findall(r"[\w./:@%+,=~^-]+", re.sub(r"""\\\n|['"\\]""", "", text)))
    return any(
        _stands_at(at, tokens, words, True) for words in rule.line.commands for at in range(len(tokens))
    )


def _stands_at(start: int, words: tuple[str, ...], wanted: tuple[str, ...], prefix: bool) -> bool:
    """Return whether the wanted words occur in order, with only options (each with at most one value) between
    them."""
    if _program(words[start]) != _program(wanted[0]):
        return False
    at = start + 1
    for word in wanted[1:]:
        after_option = False
        while at < len(words) and not _may_be(words[at], word):
            if at - start > _MAX_BETWEEN or not (after_option or words[at].startswith("-")):
                return False
            after_option = words[at].startswith("-")
            at += 1
        if at >= len(words):
            return False
        at += 1
    return prefix or at == len(words)


def _may_be(word: str, wanted: str) -> bool:
    """Return whether a word is the wanted one, or a glob that becomes it where a file has this name."""
    if isinstance(word, Glob) and not wanted.startswith("-"):
        return path_patterns.component_regex(word).fullmatch(wanted) is not None
    return word == wanted


def starts_others(program: str) -> bool:
    """Return whether the arguments or the input of a program may name commands that it starts."""
    return _program(program).rstrip("0123456789.") in _HIDE_COMMANDS | _NAME_COMMANDS


def _program(word: str) -> str:
    return word.rpartition("/")[2].casefold()


# In words ----------------------------------------------------------------------------------------------------

_OPTIONS = "; not options that run or write other things"


def in_words(rules: Sequence[str]) -> str:
    """Return the rules as the user reads them: those of commands without `bash(...)`."""
    return ", ".join(
        rule[5:-1] if rule.startswith("bash(") and rule.endswith(")") else rule for rule in rules
    )


def covers(rules: Sequence[str]) -> str:
    """Return a description of what the rules cover, "" if their texts are clear."""
    return "; ".join(dict.fromkeys(filter(None, map(_covered, rules))))


def _covered(text: str) -> str:
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
