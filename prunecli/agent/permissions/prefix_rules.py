"""Checks the words that a prefix rule leaves open: `bash(git log *)` must not cover `--output=/etc/x`, secrets or
paths outside.

The words in the rule are the user's decision. The other words must not execute, write, or lead to places that need
approval. A program that only reads must stay within its harmless options.
"""

import os
import re

from prunecli.agent.permissions.globs import TooMany, expand
from prunecli.agent.permissions.harmless import is_listed, read_command
from prunecli.agent.permissions.harmless_commands import Words
from prunecli.agent.permissions.harmless_git import GIT_FORMS
from prunecli.agent.permissions.places import Place, Unresolvable, is_system, resolve
from prunecli.agent.permissions.surroundings import Surroundings
from prunecli.model.shell import Doubt, Glob, Open

_CHANGING_GIT = frozenset({"branch", "tag", "remote", "stash", "worktree", "config"})
"""git commands whose harmless forms only list; a rule that names one allows the other forms on purpose."""
_GIT_TO_NAME = frozenset(
    {
        *(
            "archive",
            "bisect",
            "bundle",
            "citool",
            "config",
            "cvsserver",
            "daemon",
            "difftool",
            "filter-branch",
            "for-each-repo",
            "gui",
        ),
        *(
            "hook",
            "imap-send",
            "instaweb",
            "maintenance",
            "merge-index",
            "mergetool",
            "p4",
            "rebase",
            "request-pull",
            "send-email",
            "shell",
            "submodule",
        ),
        *("svn", "var", "web--browse"),
    }
)
"""git commands that start programs; `bash(git *)` does not cover them."""
_GIT_HELPER = re.compile(r"credential.*|remote-.+|.+--.+")
"""Helpers of git that print credentials, or run what the words after them or the input say."""
_GIT_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"}
)
"""Options before the subcommand of git whose value is the next word."""
_LONG_NAMES = (
    "exec exec-path execute eval command cmd call init-command to-command hook hooks hookspath plugin "
    "plugins loader require import preload pager editor shell script script-shell info-script "
    "new-volume-script program prog pre rsh rsync-path runner launcher wrapper linker toolexec vettool "
    "upload-pack receive-pack open-files-in-pager ext-diff textconv template checkpoint-action "
    "use-compress-program compress-program filter python-executable rulesdir global-?setup makefile "
    "output out outfile out-?file out-?dir output-?dir output-directory output-document output-?file "
    "write save dump dump-header in-place log-?file report-?file report-?log junit-?xml target-dir "
    "prefix directory-prefix basetemp pastebin remote-name cookie-jar trace-ascii libcurl stderr "
    "ts-?build-?info-?file config config-?file config-env override-ini rcfile init-file userconfig "
    "globalconfig node-options inspect inspect-brk git-dir work-tree unzip-command pre-glob hostname-bin "
    "proxy-command ask-?pass use-askpass remote-name-all save-cookies absolute-names warc-file rejected-log "
    "hsts hsts-file alt-svc kubeconfig split-string"
)
"""Long options that execute something or write to a named file; words may precede them (`--script-shell`)."""
_EXECUTES_OR_WRITES = re.compile(rf"--(?:[\w-]*-)?(?:{_LONG_NAMES.replace(' ', '|')})", re.IGNORECASE)
_LONG = tuple(_LONG_NAMES.replace("-?", "-").split())
_ABBREVIATES = frozenset({"git", "npm", "tar", "curl", "wget", "make", "gmake", "man", "rsync", "zip", "gdb"})
"""Programs that accept abbreviated long options."""
_SHORT = {
    **dict.fromkeys(("python", "python3", "bash", "sh", "zsh", "dash", "ksh", "fish"), "c"),
    **dict.fromkeys(("node", "deno", "bun", "tsx"), "epr"),
    **dict.fromkeys(("ruby", "perl", "lua", "php"), "eErn"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), "oB"),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync"), "oFSe"),
    **dict.fromkeys(("vim", "vi", "nvim", "emacs", "gdb", "lldb", "psql", "mysql", "sqlite3"), "ceoSsfx"),
    "git": "cOx",
    "git clone": "cu",
    "tar": "IFP",
    "curl": "oOKTDc",
    "wget": "OoPeia",
    "make": "fE",
    "man": "PH",
    "less": "oO",
    "fd": "xX",
    "zip": "T",
    "unzip": "d",
    "pytest": "cop",
    "py.test": "cop",
    "npx": "cp",
    "eslint": "cfo",
    "prettier": "w",
    "jest": "c",
    "vitest": "c",
    "tree": "o",
    "strace": "o",
    "tcpdump": "zw",
    "xxd": "r",
    "env": "S",
    "docker": "v",
    "sort": "oT",
    "sed": "i",
    "tee": "",
}
"""Letters of short options that execute something or write to a named file."""
_FIRST = r"^(?:-\S+ (?:[^\s-]\S* )?)*"
"""The options before a subcommand."""
_TO_NAME = {
    program: re.compile(_FIRST + rf"(?:{pattern})\b" if anchored else pattern, re.IGNORECASE)
    for programs, anchored, pattern in (
        (
            "gh glab hub",
            True,
            "auth|api|alias|ext|extensions?|secret|ssh-key|gpg-key|config|cs|codespace|variable|token|copilot",
        ),
        (
            "aws",
            True,
            "configure|sts|secretsmanager|sso|iam create|ssm (?:get|start)-\\S*|[\\w-]+ (?:decrypt|generate-\\S+"
            "|get-\\S*(?:login|token|credentials?|password|secret|authorization)\\S*)",
        ),
        (
            "gcloud",
            True,
            "(?:(?:alpha|beta|preview) )?(?:auth|secrets|config|compute (?:ssh|scp|config-ssh)"
            "|\\S.* (?:get-credentials|generate-login-token|keys create|ssh))",
        ),
        (
            "az",
            True,
            "account get-access-token|keyvault|login|ad sp|ssh|\\S.*(?:keys? |credentials?|expose-token)",
        ),
        (
            "kubectl oc",
            True,
            "exec|cp|config|debug|plugin|edit|attach|rsh|login|extract|whoami|create token|proxy|run|port-forward"
            "|(?:get|describe)\\b.*\\bsecrets?",
        ),
        ("helm", True, "get|plugin|registry"),
        (
            "docker podman",
            True,
            "(?:(?:container|image|builder|buildx|service|stack|pod|machine|system) )?(?:run|exec|cp|create|login"
            "|commit|build|bake|compose|config|plugin|context|secret|deploy|kube|unshare|ssh)",
        ),
        (
            "npm pnpm yarn bun",
            True,
            "exec|x|dlx|create|init|innit|config|c|get|set|token|login|adduser|publish|profile|pack|explore|edit",
        ),
        ("cargo", True, "login|publish|owner|yank"),
        ("go", True, "env .*-w|generate|tool"),
        ("pip pip3", True, "config|download|wheel"),
        ("uv poetry", True, "publish|config|auth|self"),
        ("terraform tofu", True, "console|output|show|state|login"),
        ("pulumi", True, "config|console|login|stack"),
        (
            "heroku fly flyctl vercel netlify railway",
            True,
            "config|auth|env|secrets?|variables|ssh|run|tokens?|console|pull|\\w+:(?:credentials|exec|psql|console)",
        ),
        ("vault op pass security", True, "\\w+"),
        ("ansible-vault", True, "view|decrypt|edit"),
        (
            "redis-cli",
            True,
            ".*\\b(?:eval|config|module|script|function|shutdown|acl|migrate|replicaof|slaveof|debug)",
        ),
        (
            "sqlite3",
            False,
            r"(?:^|\s)\.(?!(?:tables?|schema|headers?|mode|index(?:es)?|databases|dump|show|help|version)\b)[a-z]"
            r"|(?:file|extension|edit|fsdir)\b|\battach\b|\bvacuum\b|--(?:extract|create|insert|update)",
        ),
        ("psql", False, r"\\(?:!|o|copy|i|g|w|e|s)|\b(?:program|copy|pg_read\w*|lo_\w*)\b"),
        (
            "mysql mariadb",
            False,
            r"\\[!TP.]|\b(?:system|source|(?:out|dump|in)file|load_file|tee|pager)\b",
        ),
        (
            "cmake ctest",
            False,
            r"(?:^|\s)-[PECS]\b|--install|(?:COMPILER|LAUNCHER|PROGRAM|COMMAND|INCLUDE|FILE)\w*(?::\w+)?=",
        ),
        ("gpg", False, r"secret|(?:^|\s)-\w*d|--decrypt|--exec|-program"),
        (
            "openssl",
            False,
            r"^(?:enc|pkey|rsa|dsa|ec|pkcs\d+|engine|gen\w+|s_\w+)\b|(?:^|\s)-(?:out|engine|provider)",
        ),
        ("vim vi nvim view less more most", False, r"(?:^|\s)\+"),
        (
            "env xargs timeout nice nohup stdbuf setsid time watch parallel sudo doas strace",
            False,
            r"(?:^|\s)(?![.\d]+[smhd]?(?:\s|$)|\w+=)[^-\s]",
        ),
    )
    for program in programs.split()
}
"""The words with which a program runs commands, writes files or prints credentials; a rule covers them if it names
them, as in `bash(gh auth status)`. They include the program that another one starts."""
_STARTS = frozenset({("python", "-m"), ("uv", "run"), ("poetry", "run"), ("pnpm", "exec"), ("npm", "exec")})
"""Commands whose next word is the program that they start."""
_ONLY_FIRST = frozenset({"gcc", "g++", "cc", "c++", "clang", "clang++"})
"""Programs that do not accept several option letters in one word."""
_MORE = re.compile(
    r"\S.* -(?:exec|toolexec|vettool|wrapper|out|ex|cmd|modfile|overlay|fplugin|specs|outputdir|trace|o|init"
    r"|\w*profile)(?:=.*)?|.*-extld\b.*|g?make --fi.*|unzip -.*:.*|pip3? --log.*"
)
"""Long options with one dash, and options that mean something else to other programs."""
_PARTS = re.compile(r"[=@<,;]")
"""Separators before a path: `--file=x`, `-d @x`, `-F name=<x`, `src=/,dst=/x`."""
_LANGUAGES = re.compile(r"(?:python|node|ruby|perl|lua|php|bash|sh|zsh|dash|ksh|fish)[\d.]*")
"""Programs that run their input, unless they are given a file."""
_RUN_INPUT = frozenset({"sqlite3", "psql", "mysql", "mariadb", "gdb", "ed"})
"""Programs whose input may contain commands that run programs, whatever their operands."""
_NUMBER = re.compile(r"\w+=\d*")
"""An assignment that changes no program. make reads any other word with `=` as one, and `X!=id` runs a command."""


def open_doubt(words: Words, left_open: Words, around: Surroundings, *, fed: bool) -> str:
    """Return the reason why a rule does not cover a command, or "": the words that it leaves open, or its input.

    `fed`: the command may have an input.
    """
    if fed and _runs_input(words, around):
        return f"`{words[0]}` runs its input"
    if not left_open:
        return ""
    if any(isinstance(word, Open) for word in words):
        return "it uses a variable or substitution"
    named = words[: len(words) - len(left_open)]
    if _only_reads(words):
        try:
            read_command(_without_options(words, named), around, by_rule=True)
            return ""
        except Doubt as doubt:
            if len(named) <= _subcommand(words) + 1 or _may_be_harmless(named, around):
                return doubt.reason
    at = _subcommand(words)
    command = "".join(words[at : at + 1]) if at >= len(named) else ""
    if command in _GIT_TO_NAME or _GIT_HELPER.fullmatch(command):
        return f"`git {command}` can start programs or print credentials"
    if unnamed := _unnamed(words, named):
        return unnamed
    program = _program(words)
    if program == "tar" and len(named) == 1 and re.fullmatch(r"[A-Za-z]*[FIP][A-Za-z]*", left_open[0]):
        return f"the option {left_open[0]} may execute or write"  # the old style, without a dash
    try:
        return next((reason for word in left_open if (reason := _word_doubt(program, word, around))), "")
    except (Unresolvable, TooMany) as error:
        return f"it uses a path that can't be checked ({error})"


def _runs_input(words: Words, around: Surroundings) -> bool:
    """Return whether a command may run its input as a program: `echo 'code' | python3`."""
    program = _program(words)
    if program in _RUN_INPUT:
        return True
    return _LANGUAGES.fullmatch(program) is not None and not any(
        (around.cwd / word).is_file() for word in words[1:]
    )


def _unnamed(words: Words, named: Words) -> str:
    """Return why a command needs a rule that names more of its words, or ""."""
    program = words[0].rpartition("/")[2]
    pattern = _TO_NAME.get(program)
    found = pattern.search(" ".join(words[1:])) if pattern else None
    if not pattern or not found or pattern.search(" ".join(named[1:])):
        return ""
    return f"`{program}` with {found[0].strip()!r} may execute, write or print credentials"


def _only_reads(words: Words) -> bool:
    """Return whether the program only reads, unless an option makes it do more."""
    if words[0] == "git":
        subcommand = "".join(words[_subcommand(words) :][:1])
        return subcommand in GIT_FORMS and subcommand not in _CHANGING_GIT
    return is_listed(words[0]) and words[0] != "gofmt"  # its harmless forms list, others write


def _may_be_harmless(begin: Words, around: Surroundings) -> bool:
    """Return whether a harmless command can begin with these words."""
    for rest in ((), ("p",), ("{print}",), ("p", "p"), ("--", "p")):
        try:
            read_command((*begin, *rest), around, by_rule=True)
        except Doubt:
            continue
        return True
    return False


def _program(words: Words) -> str:
    """Return the program whose options a command gives: `pytest` for `python3 -m pytest`, `tsc` for `npx tsc`."""
    first = words[0].rpartition("/")[2]
    second, third = (*words[1:3], "", "")[:2]
    if (first.rstrip("0123456789."), second) in _STARTS and third and not third.startswith("-"):
        return third.rpartition("/")[2]
    if first in ("npx", "bunx", "uvx") and second and not second.startswith("-"):
        return second.rpartition("/")[2]
    return f"git {''.join(words[_subcommand(words) :][:1])}" if first == "git" else first


def _without_options(words: Words, named: Words) -> Words:
    """Return the words without the options before git's subcommand that the rule names, except its folder."""
    count = min(_subcommand(words), len(named))
    if not count:
        return words
    at = words[:count].index("-C") if "-C" in words[:count] else count
    return ("git", *words[at:count][:2], *words[count:])


def _subcommand(words: Words) -> int:
    """Return the index of git's subcommand, after options and their values; 0 for other programs."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUES else 1
    return at if words[0] == "git" else 0


def _word_doubt(program: str, word: str, around: Surroundings) -> str:
    if isinstance(word, Glob):
        for match in (*expand(word, around.cwd), word.partition("*")[0].partition("?")[0].partition("[")[0]):
            if match and (reason := _word_doubt(program, str(match), around)):
                return reason
        return ""
    if word.startswith("-") and len(word) > 1:
        if _may_execute_or_write(program, word):
            return f"the option {word} may execute or write"
    elif program in ("make", "gmake", "env") and "=" in word and not _NUMBER.fullmatch(word):
        return f"{word!r} changes what it runs"
    elif word.startswith("@") and os.path.lexists(around.cwd / word[1:]):
        return f"{word!r} may stand for options in a file"
    if "::" in word.partition("/")[0] and program.startswith("git "):
        return f"{word!r} may start a program"
    attached = word[2:] if re.match(r"-[A-Za-z][@<./~]", word) else ""
    for text in {word, *_PARTS.split(word), attached, *_PARTS.split(attached)} - {""}:
        if reason := _place_doubt(text, around):
            return f"{text!r} {reason}"
    return ""


def _may_execute_or_write(program: str, option: str) -> bool:
    name = option.partition("=")[0]
    if _MORE.fullmatch(f"{program} {option}"):
        return True
    if option.startswith("--"):
        short = program.partition(" ")[0] in _ABBREVIATES and len(name) > 3
        begins = short and any(one.startswith(name[2:].lower()) for one in _LONG)
        return begins or _EXECUTES_OR_WRITES.fullmatch(name) is not None
    letters = re.sub(r"[^A-Za-z].*", "", option[1:])
    listed = _SHORT.get(program, _SHORT.get(program.partition(" ")[0], ""))
    given = letters[:1] if program in _ONLY_FIRST else letters
    return not set(listed).isdisjoint(given)


def _place_doubt(text: str, around: Surroundings) -> str:
    if "://" in text:
        return "may be a file" if "file" in text.partition("://")[0].lower() else ""
    if "\0" in text or text.startswith("-"):
        return ""
    place = resolve(text, around.cwd, around.home)
    if around.keeps_secrets(place):
        return "may contain secrets"
    is_path = "/" in text or text in ("..", "~") or _leads_out(place, around)
    if is_path and not around.holds(place) and not is_system(place):
        return "is outside the workspace"
    return ""


def _leads_out(place: Place, around: Surroundings) -> bool:
    return not place.by_name and not around.holds(place)
