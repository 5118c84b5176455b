"""The main command's flags, in one table that is read without a parser library.

Every startup waits for this module, and importing typer alone would take a third as long as opening the screen. So
the flags are parsed here, and the Typer application (`prunecli.cli`) derives help and completion from the same table.
argparse and getopt support neither a flag with an optional value nor a first word that is a subcommand or a prompt.
"""

import json
import math
import re
import shlex
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prunecli.cli.installed import installed
from prunecli.util.errors import UsageError
from prunecli.util.launch_options import PICKER, Launch

OWN_COMMANDS: Mapping[str, str] = {
    "sessions": "List, search, show, verify, audit and remove sessions, and more.",
    "config": "Show, check and create configuration.",
    "login": "Save an API key.",
    "trust": "Trust a directory, or stop trusting it.",
    "demo": "Take a guided tour with the built-in demo model.",
}
"""The subcommands in `prunecli.cli`, in the order of `--help`. Features bring more."""


def commands() -> dict[str, str]:
    """Return the help of each subcommand, in the order of `--help`."""
    more = installed().of("subcommand").items()
    return {**OWN_COMMANDS, **{name: one.facts["help"] for name, one in more if " " not in name}}


_WORKTREE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""The name of a worktree, which is a folder's and the end of a branch's."""


class Flag(NamedTuple):
    """One flag.

    `field` is the attribute of `Launch` that it sets: "flags" for a configuration key, "" for an instant flag.
    `value` is the metavariable, "" for a switch. `read` parses the value.
    """

    names: tuple[str, ...]
    help: str
    field: str
    value: str = ""
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] = str

    @property
    def name(self) -> str:
        return self.names[-1]


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise ValueError(f"expected an integer of at least 1, got {text!r}")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ValueError(f"expected a number of at least 0, got {text!r}")
    return amount


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("expected some text")
    return text


def _name(text: str) -> str:
    return " ".join(_words(text).split())


def _id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", text):
        raise ValueError("expected a UUID, or 1 to 64 letters, digits, - and _")
    if re.search(r"-t[0-9]+$", text):
        raise ValueError(f"{text}: ids that end like -t1 are reserved for tasks")
    return text


def _worktree(text: str) -> str:
    if text and not _WORKTREE.fullmatch(text):
        raise ValueError(f"expected letters, digits, - and _, got {text!r}")
    return text


def _rules(text: str) -> str:
    """Split rules at commas outside parentheses and return them as a JSON list."""
    rules, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            rules.append("")
        else:
            rules[-1] += char
    return json.dumps([rule.strip() for rule in rules if rule.strip()])


EFFORTS = ("default", "low", "medium", "high", "xhigh", "max")
FORMATS = ("text", "json", "stream-json")

FLAGS = (
    Flag(("-p", "--print"), "Run without the interface, print the answer and exit.", "headless"),
    Flag(("--output-format",), "Output format for --print.", "output_format", "FORMAT", FORMATS),
    Flag(("--input-format",), "Input format for --print.", "input_format", "FORMAT", FORMATS[::2]),
    Flag(
        ("--include-partial-messages",),
        "With stream-json, print text as it arrives.",
        "partial_messages",
    ),
    Flag(
        ("--json-schema",),
        "Require an answer in JSON under this schema.",
        "json_schema",
        "FILE|JSON",
        (),
        _words,
    ),
    Flag(("--max-turns",), "Stop after N turns.", "max_turns", "N", (), _at_least_one),
    Flag(("--max-cost",), "Stop at this cost, in US dollars.", "max_cost", "USD", (), _amount),
    Flag(("-c", "--continue"), "Continue the last session of this directory.", "continue_last"),
    Flag(
        ("-r", "--resume"),
        "Resume a session{others}; omit ID to choose.",
        "resume",
        "ID",
        (),
        _words,
    ),
    Flag(("--fork",), "Continue in a copy; -r ID@17 copies up to entry 17.", "fork"),
    Flag(("--session-id",), "Id of the new session or copy, such as a UUID.", "session_id", "ID", (), _id),
    Flag(("-n", "--name"), "Name the session, like /rename.", "name", "NAME", (), _name),
    Flag(("-m", "--model"), "Model name or alias: opus, sonnet, haiku, demo.", "flags", "NAME"),
    Flag(("--effort",), "How hard the model tries.", "flags", "LEVEL", EFFORTS),
    Flag(("--base-url",), "Server that speaks the Messages API.", "flags", "URL"),
    Flag(("--config",), "Use FILE instead of the user's config.toml.", "config_file", "FILE", (), Path),
    Flag(("--set",), "Set a configuration key; can be repeated.", "sets", "KEY=VALUE"),
    Flag(("--theme",), "Theme of the terminal interface.", "flags", "NAME"),
    Flag(
        ("--permission-mode",),
        "What may run without asking.",
        "flags",
        "MODE",
        ("ask", "edits", "plan", "auto"),
    ),
    Flag(("--sandbox",), "Sandbox for shell commands.", "flags", "MODE", ("auto", "off", "require")),
    Flag(("--allowed-tools",), "Rules to allow: 'bash(git status),edit'.", "flags", "RULES", (), _rules),
    Flag(("--disallowed-tools",), "Rules to deny.", "flags", "RULES", (), _rules),
    Flag(("-w", "--worktree"), "Work in a new git worktree, or in NAME.", "worktree", "NAME", (), _worktree),
    Flag(("--add-dir",), "Also work in this directory; can be repeated.", "add_dirs", "DIR", (), _words),
    Flag(
        ("--append-system-prompt",),
        "Add TEXT to a new session's system prompt.",
        "append_prompt",
        "TEXT",
        (),
        _words,
    ),
    Flag(
        ("--append-system-prompt-file",),
        "Add FILE to a new session's system prompt.",
        "append_prompt_file",
        "FILE",
        (),
        Path,
    ),
    Flag(("--no-session",), "Do not save the session.", "no_session"),
    Flag(("--trust",), "Trust this directory for this run.", "trust"),
    Flag(("--inline",), "Run below the shell prompt, keeping the scrollback.", "inline"),
    Flag(("--plain",), "Plain text output.", "plain"),
    Flag(("-v", "--version"), "Show the version.", ""),
    Flag(("-h", "--help"), "Show this message.", ""),
    Flag(("--install-completion",), "Install completion for this shell.", ""),
    Flag(("--show-completion",), "Print the completion script for this shell.", ""),
)

INSTANT = tuple(flag.name for flag in FLAGS if not flag.field)
"""Flags that act at once and override everything else."""

_REPEATED = ("sets", "add_dirs")
"""The fields that keep each value."""
_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}
LOADING = frozenset(("--config", "--set", "--trust"))
CONFIGURING = LOADING | {flag.name for flag in FLAGS if flag.field == "flags"}
_BEFORE: Mapping[str, frozenset[str]] = {
    "config show": CONFIGURING,
    "config check": CONFIGURING,
    "config path": frozenset(("--config",)),
    "sessions audit": LOADING,
    "demo": frozenset(("--config", "--set", "--theme", "--plain", "--inline")),
}
"""The flags with an effect before one of our subcommands; others are rejected there. Features declare their own."""

_GROUPS = ("sessions", "config")
"""The subcommands with subcommands of their own."""

_AUTO = "--permission-mode auto runs everything except what deny rules block"
_SERVE = "prunecli acp for an editor, or prunecli proxy for another agent"
_TOOLS = """use --set 'tools.enabled=["read","grep"]'; --allowed-tools says what needs no question"""
_OFF = """use --set 'plugins.disabled=["hooks","mcp","skills_and_memory"]'"""
_HINTS: Mapping[str, str] = {
    "--dangerously-skip-permissions --allow-dangerously-skip-permissions --full-auto --yolo -y --auto "
    "--approve-for-me": _AUTO,
    "--dangerously-bypass-approvals-and-sandbox": "--permission-mode auto --sandbox off does the same",
    "--mode": "use --permission-mode, or --output-format with -p",
    "--approval-mode --ask-for-approval -a": "use --permission-mode",
    "-s": "use --sandbox MODE, or --resume ID for a session",
    "--allowedTools": "use --allowed-tools",
    "--disallowedTools": "use --disallowed-tools",
    "--tools --no-tools --no-builtin-tools -t": _TOOLS,
    "--search": """web_search is a tool: add it to [tools] enabled""",
    "--provider": "use --model NAME, with --base-url URL for another server",
    "--models --list-models": "/model in prunecli lists them",
    "--oss --local-provider": "/model in prunecli offers the model servers of this machine",
    "--fallback-model": "there is one model at a time: /model in prunecli changes it",
    "--thinking --variant": "use --effort",
    "--api-key": "prunecli login saves a key",
    "--prompt --prompt-interactive -i --interactive": 'write it without a flag: prunecli "fix it"',
    "--command": 'write it as the prompt: prunecli "/NAME"',
    "--image --file -f": "name it in the prompt: @FILE",
    "--cd -C --dir": "change the directory first: cd DIR && prunecli",
    "--from-pr": "check it out first: gh pr checkout N && prunecli",
    "--skip-git-repo-check": "not needed: any directory will do",
    "--include-directories": "use --add-dir",
    "--json --verbose": "use -p --output-format stream-json",
    "-o --format": "use --output-format",
    "--output-schema": "use -p --json-schema FILE",
    "--output-last-message": "prunecli -p PROMPT > FILE",
    "--max-budget-usd": "use --max-cost",
    "--color": "set NO_COLOR=1 for none",
    "--debug -d --debug-file --print-logs --log-level": "prunecli doctor checks the setup",
    "-V": "use --version",
    "--last": "use --continue",
    "--session": "use --resume ID",
    "--fork-session": "use --fork",
    "--title": "use --name",
    "--ephemeral --no-session-persistence": "use --no-session",
    "--session-dir": "set PRUNECLI_HOME",
    "--session-file": "prunecli sessions import FILE",
    "--list-sessions": "prunecli sessions list",
    "--delete-session": "prunecli sessions rm ID",
    "--export --share": "prunecli sessions export ID",
    "--bg --background": "prunecli -p PROMPT & runs it in the background",
    "--tmux": "start tmux first, then prunecli --worktree",
    "--settings --setting-sources --profile --ignore-user-config": "use --config FILE or --set KEY=VALUE",
    "--enable --disable": "use --set KEY=VALUE",
    "--system-prompt --system-prompt-file": "use --append-system-prompt, or /output-style in prunecli",
    "--mcp-config": "prunecli mcp add-json NAME JSON",
    "--strict-mcp-config --allowed-mcp-server-names": "prunecli mcp list shows the servers, and remove takes one out",
    "--chrome --no-chrome": "prunecli mcp add NAME -- COMMAND adds a server for a browser",
    "--agent --agents": "/agents in prunecli lists them",
    "--extension --extensions -e -l --list-extensions": "prunecli plugins list",
    "--plugin-dir --plugin-url": "prunecli plugins add PATH|URL",
    "--bare --safe-mode --pure --no-extensions --no-skills": _OFF,
    "--offline": "use --set updates.notice=false",
    "--skip-trust": "use --trust",
    "--mini --no-alt-screen": "use --inline",
    "--screen-reader --ax-screen-reader": "use --plain",
    "--port --hostname --mdns --cors": _SERVE,
    "--ide --acp --experimental-acp": "prunecli acp serves an editor",
}
_OTHER_AGENTS = {name: hint for names, hint in _HINTS.items() for name in names.split()}
"""Hints for flags that people know from other agents."""
_THEIR_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("agent", "agents"), "/agents in prunecli"),
    "apply": "git apply",
    **dict.fromkeys(("archive", "delete"), "prunecli sessions rm ID"),
    "auto-mode": "prunecli --permission-mode auto",
    "chat": "prunecli",
    "completion": "prunecli --show-completion",
    "debug": "prunecli doctor",
    "exec": "prunecli -p PROMPT",
    "export": "prunecli sessions export ID",
    "extensions": "prunecli plugins",
    "features": "prunecli config show",
    "fork": "prunecli --resume ID --fork",
    "hooks": "/hooks in prunecli",
    "import": "prunecli sessions import",
    "init": "/init in prunecli",
    "install": "pip install prunecli, or uv tool install prunecli",
    **dict.fromkeys(("list", "ls"), "prunecli sessions list, or prunecli plugins list"),
    "models": "prunecli config show model, or /model in prunecli",
    "logout": "prunecli login, which replaces the key",
    "plugin": "prunecli plugins",
    "pr": "gh pr checkout N, then prunecli",
    "remove": "prunecli plugins remove NAME, or prunecli sessions rm ID",
    "resume": "prunecli resume",
    **dict.fromkeys(("review", "ultrareview"), "/review in prunecli"),
    "run": "prunecli -p PROMPT",
    "sandbox": "prunecli --sandbox MODE",
    **dict.fromkeys(("serve", "web", "app-server", "mcp-server", "remote-control"), _SERVE),
    "session": "prunecli sessions",
    **dict.fromkeys(("auth", "providers", "setup", "setup-token"), "prunecli login"),
    "skills": "/skills in prunecli",
    **dict.fromkeys(("stats", "usage"), "prunecli sessions stats"),
    "uninstall": "pip uninstall prunecli, or uv tool uninstall prunecli",
    "upgrade": "prunecli update",
    "version": "prunecli --version",
}
"""What stands here for the subcommands of other agents."""
_INSIDE: Mapping[str, str] = {
    **dict.fromkeys(("config get", "config list"), "prunecli config show"),
    "config set": "prunecli --set KEY=VALUE for one run, or /config in prunecli, which opens the file",
    "mcp add-from-claude-desktop": "prunecli mcp add-json NAME JSON",
    **{f"mcp {one}": f"/mcp {one} NAME in prunecli" for one in ("login", "logout", "enable", "disable")},
    **dict.fromkeys(("plugins install", "plugins marketplace"), "prunecli plugins add PATH|URL"),
    **dict.fromkeys(("plugins disable", "plugins enable"), "/config in prunecli and its [plugins] disabled"),
    "plugins uninstall": "prunecli plugins remove NAME",
    **dict.fromkeys(("sessions delete", "sessions remove"), "prunecli sessions rm ID"),
    "sessions ls": "prunecli sessions list",
    "sessions resume": "prunecli --resume ID",
}
"""What stands here for those that have no command of their own here, in a group of ours."""
_SETTING = re.compile(r"[a-z_]+(\.[\w-]+)*=\S+")
_SECOND = (
    *("list", "login", "logout", "install", "create", "status", "add", "remove", "get", "set", "delete"),
    *("bash", "fish", "zsh"),
)
"""What follows such a subcommand and does not begin a prompt."""


class CommandLine(NamedTuple):
    """A parsed command line: a start, an instant flag (`at_once`) or a subcommand with its words."""

    launch: Launch
    at_once: str = ""
    command: tuple[str, ...] = ()


def read(words: Sequence[str]) -> CommandLine:
    """Parse the words after `prunecli`. Raises UsageError.

    Flags may come before and after the words of a prompt. If the first word names a subcommand, it runs; after `--`,
    it starts a prompt. `help`, alone or before a subcommand, means `--help`.
    """
    prompt = list[str]()
    given = dict[str, Any]()
    seen = list[str]()
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word == "--":
            prompt += rest
            return CommandLine(_launch(given, " ".join(prompt)))
        if not word.startswith("-") or word == "-":
            if word == "help" and not (prompt or seen) and (not rest or rest[0] in commands()):
                rest.append("--help")
                continue
            if word == "resume" and not (prompt or "headless" in given) and _at_most_one_word(rest):
                _take(_BY_NAME["--resume"], _value(_BY_NAME["--resume"], rest), given)
                continue
            if not prompt and word in commands():
                command = (word, *rest)
                _check_before(command, seen)
                return CommandLine(_launch(given, ""), command=command)
            prompt.append(word)
            continue
        for flag, text in _flags_in(word, rest):
            if flag.name in INSTANT:
                return CommandLine(Launch(), at_once=flag.name)
            seen.append(flag.name)
            _take(flag, text, given)
    made = _launch(given, " ".join(prompt))
    if prompt and not made.headless:
        _check_words(prompt)
    return CommandLine(made)


def _at_most_one_word(rest: Iterable[str]) -> bool:
    return sum(not each.startswith("-") for each in rest) <= 1


def _check_words(words: Sequence[str]) -> None:
    """Raise UsageError for words that are meant for a command: a typing error must not go to a model.

    These are a single word, another agent's command before a quoted prompt (`exec "fix it"`) or a word such as
    `list`, and a setting, which Codex takes after its `-c`. Others are a prompt: `run the tests`.
    """
    known = {**_THEIR_COMMANDS, **{name: f"prunecli {name}" for name in commands()}}
    word, meant = words[0], ""
    if _SETTING.fullmatch(word):
        meant = f"--set {shlex.quote(word)}"
    elif len(words) == 1:
        close = (known[name] for name in known if _is_close(word, name) and not word.startswith("/"))
        meant = known.get(word) or next(close, "")
    elif len(words) <= 3 and (" " in words[1] or words[1] in _SECOND):
        meant = _THEIR_COMMANDS.get(word, "")
    if meant:
        hint = f"to send it as a prompt: prunecli -- {shlex.join(words)}"
        raise UsageError(f"No command {word!r}. Did you mean {meant}?", hint)


def unknown(group: str, word: str, known: Sequence[str]) -> UsageError:
    """Return the error for a command that a group such as `sessions` does not have."""
    near = next((f"prunecli {group} {one}" for one in known if _is_close(word, one)), "")
    meant = _INSIDE.get(f"{group} {word}") or near
    hint = f"Did you mean {meant}?" if meant else f"it has {', '.join(known)}"
    return UsageError(f"prunecli {group}: no command {word!r}", hint)


def _is_close(word: str, name: str) -> bool:
    """Return whether a word is a command's name but for two letters (one, if it is short): wrong, missing, added or
    exchanged with the next."""
    most = 2 if len(word) > 4 else 1
    if word == name or abs(len(word) - len(name)) > most:
        return False
    rows = [list(range(len(name) + 1))]
    for at, letter in enumerate(word, 1):
        row = [at]
        for to, other in enumerate(name, 1):
            least = min(rows[-1][to] + 1, row[-1] + 1, rows[-1][to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == name[to - 2] and word[at - 2] == other:
                least = min(least, rows[-2][to - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1] <= most


def _flags_in(word: str, rest: deque[str]) -> Iterator[tuple[Flag, str]]:
    """Yield the flags in a word (`-cp` holds two), each with the text of its value."""
    if word.startswith("--"):
        name, equals, text = word.partition("=")
        flag = _known(name)
        if equals and not flag.value:
            raise UsageError(f"{name}: takes no value, got {text!r}")
        yield flag, text if equals else _value(flag, rest)
        return
    for at, letter in enumerate(word[1:], 2):
        flag = _known(f"-{letter}")
        if flag.value and word[at:]:
            yield flag, word[at:]
            return
        yield flag, _value(flag, rest)


def _value(flag: Flag, rest: deque[str]) -> str:
    """Return the next word, for a flag that takes one. `--resume` without a value means the picker, and `--worktree`
    before a prompt a new one."""
    if not flag.value:
        return ""
    if flag.field == "worktree" and not (rest and _WORKTREE.fullmatch(rest[0])):
        return ""
    if flag.field == "resume" and (not rest or rest[0].startswith("-")):
        return PICKER
    if not rest:
        raise UsageError(f"{flag.name}: missing {flag.value}")
    return rest.popleft()


def _known(name: str) -> Flag:
    if flag := _BY_NAME.get(name):
        return flag
    if hint := _OTHER_AGENTS.get(name):
        raise UsageError(f"{name}: no such flag", hint)
    found = next((one for one in _BY_NAME if _is_meant(name, one)), "")
    raise UsageError(f"{name}: no such flag", f"did you mean {found}?" if found else "see prunecli --help")


def _is_meant(name: str, flag: str) -> bool:
    """Return whether an unknown flag is a known one with a typing error, or its beginning."""
    return name.startswith("--") and (flag.startswith(name) or _is_close(name[2:], flag[2:]))


def _take(flag: Flag, text: str, given: dict[str, Any]) -> None:
    """Store a flag's value. The last one wins, except for flags that may be repeated."""
    try:
        value = flag.read(text) if flag.value else True
        if flag.field != "flags" and flag.choices and value not in flag.choices:
            raise ValueError(f"expected one of {', '.join(flag.choices)}, got {text!r}")
    except ValueError as error:
        raise UsageError(f"{flag.name}: {error}") from None
    if flag.field == "flags":
        given["flags"] = {**given.get("flags", {}), flag.name: value}
    elif flag.field in _REPEATED:
        given[flag.field] = (*given.get(flag.field, ()), value)
    else:
        given[flag.field] = value


def _launch(given: Mapping[str, Any], prompt: str) -> Launch:
    """Return the options. Raises UsageError for flags that cannot be combined."""
    made = Launch(**{"flags": {}, **given}, prompt=prompt)
    resumed = made.continue_last or made.resume
    if made.partial_messages and not (made.headless and made.output_format == "stream-json"):
        raise UsageError("--include-partial-messages: needs -p and --output-format stream-json")
    if made.json_schema and not made.headless:
        raise UsageError("--json-schema: needs -p", "add it, with a prompt")
    if made.append_prompt and made.append_prompt_file:
        raise UsageError("--append-system-prompt and --append-system-prompt-file: only one can be given")
    if made.session_id and resumed and not made.fork:
        raise UsageError(
            "--session-id: a resumed session keeps its id", "add --fork to copy it under this id"
        )
    if made.session_id and made.resume == PICKER:
        raise UsageError("--session-id: needs the session to copy", "name it: --resume ID --fork")
    return made


def _check_before(command: Sequence[str], seen: Sequence[str]) -> None:
    """Reject flags before a subcommand that would have no effect there."""
    path = " ".join(command[: 2 if command[0] in _GROUPS else 1])
    more = installed().of("subcommand").get(path)
    allowed: Container[str] = more.facts["flags"] if more else _BEFORE.get(path, ())
    for name in seen:
        if name not in allowed:
            raise UsageError(f"{name}: has no effect on `prunecli {path}`", "leave it out")
