"""Checks the words that a prefix rule leaves open: `bash(git log *)` must not cover `--output=/etc/x`, secrets or
paths outside.

The words in the rule are the user's decision. The other words must not execute, write, or lead to places that need
approval. A program that only reads must stay within its harmless options.
"""

import re

from prunecli.agent.permissions.globs import TooMany, expand
from prunecli.agent.permissions.harmless import is_listed, read_command
from prunecli.agent.permissions.harmless_commands import FORMS, Words
from prunecli.agent.permissions.harmless_git import GIT_FORMS
from prunecli.agent.permissions.places import Place, Unresolvable, is_system, resolve
from prunecli.agent.permissions.surroundings import Surroundings
from prunecli.model.shell import Doubt, Glob

_CHANGING_GIT = frozenset({"branch", "tag", "remote", "stash", "worktree", "config"})
"""git commands whose harmless forms only list; a rule that names one allows the other forms on purpose."""
_GIT_TO_NAME = frozenset(
    {
        *(
            "archive",
            "bisect",
            "bundle",
            "config",
            "credential",
            "daemon",
            "difftool",
            "filter-branch",
            "gui",
        ),
        *(
            "hook",
            "instaweb",
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
_EXECUTES_OR_WRITES = re.compile(
    r"""--(?:[\w-]*-)?(?: exec | exec-path | execute | eval | command | cmd | init-command | to-command | hooks?
    | hooksPath | plugins? | loader | require | import | preload | pager | editor | shell | script-shell | program
    | prog | pre | rsh | runner | launcher | wrapper | linker | toolexec | upload-pack | receive-pack
    | open-files-in-pager | ext-diff | textconv | template | checkpoint-action | use-compress-program
    | compress-program | filter
    | output | out | outfile | out-?file | out-?dir | output-?dir | output-?file | write | save | dump | in-place
    | log-?file | report-?file | junit-?xml | target-dir | prefix | directory-prefix | config | config-?file
    | config-env | rcfile | init-file | userconfig | globalconfig | node-options | inspect | inspect-brk | git-dir
    | work-tree | unzip-command | pre-glob | hostname-bin | proxy-command | ask-?pass | use-askpass )""",
    re.VERBOSE,
)
_SHORT = {
    **dict.fromkeys(("python", "python3", "bash", "sh", "zsh", "dash", "ksh", "fish"), "c"),
    **dict.fromkeys(("node", "deno", "bun", "tsx"), "epr"),
    **dict.fromkeys(("ruby", "perl", "lua", "php"), "eErn"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), "oB"),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync"), "oFSe"),
    **dict.fromkeys(("vim", "vi", "nvim", "emacs", "gdb", "lldb", "psql", "mysql", "sqlite3"), "ceoSsfx"),
    "git": "cOx",
    "tar": "IF",
    "curl": "oOKTDc",
    "wget": "OoPei",
    "make": "f",
    "man": "PH",
    "less": "oO",
    "fd": "xX",
    "zip": "T",
    "unzip": "d",
    "pytest": "cop",
    "py.test": "cop",
    "go": "o",
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
_LONG_WITH_ONE_DASH = frozenset(
    {"-exec", "-toolexec", "-wrapper", "-out", "-ex", "-cmd", "-modfile", "-overlay"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*[:?+]?=(?!\d*$)")


def open_doubt(words: Words, left_open: Words, around: Surroundings) -> str:
    """Return the reason why a prefix rule does not cover the rest of a command, or ""."""
    if not left_open:
        return ""
    named = words[: len(words) - len(left_open)]
    if _only_reads(words):
        try:
            read_command(words, around, by_rule=True)
            return ""
        except Doubt as doubt:
            if len(named) <= (2 if words[0] == "git" else 1) or _is_harmless(named, around):
                return doubt.reason
    if words == ("git", *left_open) and (doubt_of := _git_doubt(left_open)):
        return doubt_of
    try:
        return next((reason for word in left_open if (reason := _word_doubt(words[0], word, around))), "")
    except (Unresolvable, TooMany) as error:
        return f"it uses a path that can't be checked ({error})"


def _only_reads(words: Words) -> bool:
    """Return whether the program only reads, unless an option makes it do more."""
    if words[0] == "git":
        subcommand = next((word for word in words[1:] if not word.startswith("-")), "")
        return subcommand in GIT_FORMS and subcommand not in _CHANGING_GIT
    form = FORMS.get(words[0])
    return is_listed(words[0]) and not (form and "version" in form.long and not form.most)


def _is_harmless(words: Words, around: Surroundings) -> bool:
    try:
        read_command(words, around, by_rule=True)
    except Doubt:
        return False
    return True


def _git_doubt(left_open: Words) -> str:
    subcommand = next((word for word in left_open if not word.startswith("-")), "")
    return f"`git {subcommand}` can start programs" if subcommand in _GIT_TO_NAME else ""


def _word_doubt(program: str, word: str, around: Surroundings) -> str:
    program = program.rpartition("/")[2]
    if isinstance(word, Glob):
        for match in (*expand(word, around.cwd), word.partition("*")[0].partition("?")[0].partition("[")[0]):
            if match and (reason := _word_doubt(program, str(match), around)):
                return reason
        return ""
    name, _, value = word.partition("=")
    if word.startswith("-") and len(word) > 1:
        letters = "" if word.startswith("--") else re.sub(r"[^A-Za-z].*", "", word[1:])
        listed = _SHORT.get(program, "")
        if (
            _EXECUTES_OR_WRITES.fullmatch(name)
            or name in _LONG_WITH_ONE_DASH
            or set(letters[:4]) & set(listed)
        ):
            return f"the option {word} may execute or write"
    elif program in ("make", "gmake", "env") and _ASSIGNMENT.match(word):
        return f"{word!r} changes what it runs"
    if "::" in word.partition("/")[0] and program == "git":
        return f"{word!r} may start a program"
    for text in {word, value, word.lstrip("@"), word[2:] if re.match(r"-[A-Za-z][./~]", word) else ""} - {""}:
        if reason := _place_doubt(text, around):
            return f"{text!r} {reason}"
    return ""


def _place_doubt(text: str, around: Surroundings) -> str:
    if "://" in text or "\0" in text or text.startswith("-"):
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
