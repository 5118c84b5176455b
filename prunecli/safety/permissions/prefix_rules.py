"""Checks the words that a prefix rule leaves open: `bash(git log *)` must not cover `--output=/etc/x`, secrets or
paths outside.

The words in the rule are the user's decision. The other words must not execute, write, or lead to places that need
approval. A program that only reads must stay within its harmless options.
"""

import os
import re

from prunecli.model.shell import Doubt, Glob, Open
from prunecli.safety.permissions.git import GIT_FORMS, git_leads_elsewhere
from prunecli.safety.permissions.harmless import is_listed, read_command
from prunecli.safety.permissions.harmless_commands import CHANGING, Words, sed_doubt
from prunecli.safety.permissions.path_patterns import expand
from prunecli.safety.permissions.places import Place, TooMany, Unresolvable, is_system, resolve, set_of
from prunecli.safety.permissions.scope import CommandScope

_CHANGING_GIT = frozenset({"branch", "tag", "remote", "stash", "worktree", "config"})
"""git commands whose harmless forms only list; a rule that names one allows the other forms on purpose."""
_GIT_TO_NAME = set_of(
    "archive bisect bundle citool config cvsserver daemon difftool filter-branch for-each-repo gui hook "
    "imap-send instaweb maintenance merge-index mergetool p4 rebase request-pull send-email shell submodule "
    "svn var web--browse"
)
"""git commands that start programs; `bash(git *)` does not cover them."""
_GIT_HELPER = re.compile(r"credential.*|remote-.+|.+--.+")
"""Helpers of git that print credentials, or run what the words after them or the input say."""
_GIT_VALUES = set_of("-C -c --git-dir --work-tree --namespace --config-env --attr-source")
"""Options before the subcommand of git whose value is the next word."""
_STARTS = frozenset({("python", "-m"), ("uv", "run"), ("poetry", "run"), ("pnpm", "exec"), ("npm", "exec")})
"""Commands whose next word is the program that they start."""
_CHANGES = CHANGING | {"sed"}
_PACKS = frozenset({"tar", "zip"})
_COPIES = frozenset({"cp", "install", "ln", "rsync"})
"""Programs that read the files they are given, except for the last one of `_COPIES`."""
_TARGET = re.compile(r"^(?:-[a-zA-Z]*t(?=[./~])|--target-directory=)")
"""What precedes the folder in an option of these programs."""
_EXPRESSION = re.compile(r"(?:-[nErsuz]*e|--e[a-z]*=)(.+)", re.DOTALL)
"""An option of sed with its script."""
_STARTERS = frozenset({"env", "xargs", "timeout", "nice", "nohup", "stdbuf", "setsid", "sudo", "doas"})
"""Programs whose words after options, durations and variables are another command."""
_BEFORE_PROGRAM = re.compile(r"-.*|[.\d]+[smhd]?|\w+=.*", re.DOTALL)
_PARTS = re.compile(r"[=@<,;]")
"""Separators before a path: `--file=x`, `-d @x`, `-F name=<x`, `src=/,dst=/x`."""
_LANGUAGES = re.compile(r"(?:python|node|ruby|perl|lua|php|bash|sh|zsh|dash|ksh|fish)[\d.]*")
"""Programs that run their input, unless they are given a file."""
_READS_INPUT = re.compile(r"-|-\w*[is]\w*|--interactive")
"""The options of these programs that make them run their input anyway."""
_RUN_INPUT = frozenset({"sqlite3", "psql", "mysql", "mariadb", "gdb", "ed"})
"""Programs whose input may contain commands that run programs, whatever their operands."""
_NUMBER = re.compile(r"\w+=\d*")
"""An assignment that changes no program. make reads any other word with `=` as one, and `X!=id` runs a command."""


def open_doubt(words: Words, left_open: Words, around: CommandScope, *, fed: bool) -> str:
    """Return the reason why a rule does not cover a command, or "": the words that it leaves open, or its input.

    `fed`: the command may have an input.
    """
    if 0 < (at := _started(words)) < len(words) - len(left_open):
        return open_doubt(words[at:], left_open, around, fed=fed)
    if fed and _runs_input(words, around):
        return f"`{words[0]}` runs its input"
    if words[0] == "git" and (doubt := git_leads_elsewhere(words, around)):
        return doubt
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
    if why := _unnamed(words, named):
        return why
    program = _program(words)
    if program == "tar" and len(named) == 1 and re.fullmatch(r"[A-Za-z]*[FIP][A-Za-z]*", left_open[0]):
        return f"the option {left_open[0]} may execute or write"  # the old style, without a dash
    try:
        doubts = (
            sed_doubt(script, edits=True)
            if (script := _sed_script(program, word, words, around))
            else _word_doubt(program, word, around)
            or _change_doubt(program, word, around, last=word is left_open[-1])
            for word in left_open
        )
        return next(filter(None, doubts), "") or _landing_doubt(program, left_open, around)
    except (Unresolvable, TooMany) as error:
        return f"it uses a path that can't be checked ({error})"


def _started(words: Words) -> int:
    """Return the index of the program that a program such as `timeout` starts, 0 if there is none."""
    if words[0].rpartition("/")[2] not in _STARTERS:
        return 0
    return next((at for at, word in enumerate(words) if at and not _BEFORE_PROGRAM.fullmatch(word)), 0)


def _runs_input(words: Words, around: CommandScope) -> bool:
    """Return whether a command may run its input as a program: `echo 'code' | python3`."""
    program = _program(words)
    if not _LANGUAGES.fullmatch(program):
        return program in _RUN_INPUT
    for word in _after(program, words):
        if not word.startswith("-"):
            return not os.path.isfile(around.cwd / word)
        if _READS_INPUT.fullmatch(word):
            return True
    return True


def _only_reads(words: Words) -> bool:
    """Return whether the program only reads, unless an option makes it do more."""
    if words[0] == "git":
        subcommand = "".join(words[_subcommand(words) :][:1])
        return subcommand in GIT_FORMS and subcommand not in _CHANGING_GIT
    return is_listed(words[0])


def _may_be_harmless(begin: Words, around: CommandScope) -> bool:
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


def _after(program: str, words: Words) -> Words:
    """Return the words after a program, which may be named by its path."""
    at = next(index for index, word in enumerate(words) if word.rpartition("/")[2] == program)
    return words[at + 1 :]


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


def _word_doubt(program: str, word: str, around: CommandScope) -> str:
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
    if ("::" in word.partition("/")[0] or "://-" in word) and program.startswith("git "):
        return f"{word!r} may start a program"
    attached = word[2:] if re.match(r"-[A-Za-z][@<./~]", word) else ""
    for text in {word, *_PARTS.split(word), attached, *_PARTS.split(attached)} - {""}:
        if reason := _place_doubt(text, around):
            return f"{text!r} {reason}"
    return ""


def _change_doubt(program: str, word: str, around: CommandScope, *, last: bool) -> str:
    """Return why a program that changes files needs approval for a word, or "": it controls other programs."""
    if program not in _CHANGES:
        return ""
    bare = re.sub(r"^-[A-Za-z]+(?=[./])", "", word)  # `-t.git/hooks`
    for text in expand(word, around.cwd) if isinstance(word, Glob) else _PARTS.split(bare):
        reads = program in _PACKS or (program in _COPIES and not last)
        if not text or (reads and os.path.isfile(around.cwd / text)):
            continue
        if around.keeps_unchanged(resolve(text, around.cwd, around.home)):
            return f"{text!r} controls other programs"
    return ""


def _landing_doubt(program: str, words: Words, around: CommandScope) -> str:
    """Return why a program that puts files into a folder needs approval, or "": one of them would control other
    programs there."""
    if program not in _COPIES | {"mv", "scp", "wget"}:
        return ""
    places = [
        text
        for word in words
        for text in (
            map(str, expand(word, around.cwd)) if isinstance(word, Glob) else [_TARGET.sub("", word)]
        )
    ]
    for folder in (
        ["."] if program == "wget" else [text for text in places if os.path.isdir(around.cwd / text)]
    ):
        for name in (name for text in places for name in _names(text, around)):
            if around.keeps_unchanged(resolve(f"{folder}/{name}", around.cwd, around.home)):
                return f"{name!r} controls other programs in {folder!r}"
    return ""


def _names(source: str, around: CommandScope) -> list[str]:
    """Return the names that a file or folder has after it is copied into a folder. A slash at the end may stand for
    the content: it does for rsync, and for cp on macOS."""
    if not source.endswith(("/.", "/")):
        return [re.split("[/:]", source)[-1]]
    try:
        return os.listdir(around.cwd / source)
    except OSError:
        return []


def _sed_script(program: str, word: str, words: Words, around: CommandScope) -> str:
    """Return the script of sed that a word contains, or "" if it is an option or names a file."""
    if program != "sed":
        return ""
    if word.startswith("-"):
        match = _EXPRESSION.fullmatch(word)
        return match[1] if match else ""
    first = next((one for one in _after(program, words) if one and not one.startswith("-")), "")
    is_file = isinstance(word, Glob) or os.path.lexists(around.cwd / word)
    return "" if is_file and word is not first else word


def _place_doubt(text: str, around: CommandScope) -> str:
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


def _leads_out(place: Place, around: CommandScope) -> bool:
    return not place.by_name and not around.holds(place)


# What executes, writes or prints credentials ------------------------------------------------------------------

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
_EXECUTES_OR_WRITES = rf"(?i)--(?:[\w-]*-)?(?:{_LONG_NAMES.replace(' ', '|')})"
_LONG = tuple(_LONG_NAMES.replace("-?", "-").split())
_ABBREVIATES = frozenset({"git", "npm", "tar", "curl", "wget", "make", "gmake", "man", "rsync", "zip", "gdb"})
"""Programs that accept abbreviated long options."""
_LETTERS = """\
python, python3, bash, sh, zsh, dash, ksh, fish, jest, vitest: c; node, deno, bun, tsx, ts-node: epr
ruby, lua: eErnl; perl: eErnMmd; php: BEFRrd; gcc, g++, cc, c++, clang, clang++: oB
gdb, lldb, psql, mysql, sqlite3: ceoSsfx; rsync: oFSe; vim, vi, nvim: ceoSsuUwW; emacs: flx; ssh: oFEI
scp, sftp: oFSD; git: cOx; git clone: cu; tar: IFP; curl: oOKTDc; wget: OoPeia; make, gmake: fE; ninja: f
gradle, gradlew: I; man: PHC; less: oO; fd: xX; zip: T; unzip: d; pytest, py.test: cop; npx: cp; eslint: cfo
prettier: w; tree, strace: o; tcpdump: zw; xxd: r; env: S; docker: v; osascript: e; sort: oT; sed: if"""
_SHORT = {
    program: letters.strip()
    for row in re.split("[;\n]", _LETTERS)
    for programs, _, letters in [row.partition(":")]
    for program in map(str.strip, programs.split(","))
}
"""Letters of short options that execute something or write to a named file."""
_FIRST = r"^(?:-\S+ (?:[^\s-]\S* )?)*"
"""The options before a subcommand."""
_NAMES = r"""
gh glab hub: auth|api|alias|ext|extensions?|secret|ssh-key|gpg-key|config|cs|codespace|variable|token|copilot
aws: configure|sts|secretsmanager|sso|iam create|ssm (?:get|start)-\S*|[\w-]+ (?:decrypt|generate-\S+
    |get-\S*(?:login|token|credentials?|password|secret|authorization)\S*)
gcloud: (?:(?:alpha|beta|preview) )?(?:auth|secrets|config|compute (?:ssh|scp|config-ssh)|\S.* (?:get-credentials
    |generate-login-token|keys create|ssh))
az: account get-access-token|keyvault|login|ad sp|ssh|\S.*(?:keys? |credentials?|expose-token)
kubectl oc: exec|cp|config|debug|plugin|edit|attach|rsh|login|extract|whoami|create token|proxy|run|port-forward
    |(?:get|describe)\b.*\bsecrets?
helm: get|plugin|registry
docker podman: (?:(?:container|image|builder|buildx|service|stack|pod|machine|system) )?(?:run|exec|cp|create
    |login|commit|build|bake|compose|config|plugin|context|secret|deploy|kube|unshare|ssh)
npm pnpm yarn bun: exec|x|dlx|create|init|innit|config|c|get|set|token|login|adduser|publish|profile|pack|explore
    |edit|pkg (?:set|delete)
cargo: login|publish|owner|yank
go: env .*-w|generate|tool
pip pip3: config|download|wheel
uv poetry: publish|config|auth|self
terraform tofu: console|output|show|state|login
pulumi: config|console|login|stack
heroku fly flyctl vercel netlify railway: config|auth|env|secrets?|variables|ssh|run|tokens?|console|pull
    |\w+:(?:credentials|exec|psql|console)
vault op pass security: \w+
ansible-vault: view|decrypt|edit
redis-cli: .*\b(?:eval|config|module|script|function|shutdown|acl|migrate|replicaof|slaveof|debug)
sqlite3~ (?:^|\s)\.(?!(?:tables?|schema|headers?|mode|index(?:es)?|databases|dump|show|help|version)\b)[a-z]
    |(?:file|extension|edit|fsdir)\b|\battach\b|\bvacuum\b|--(?:extract|create|insert|update)
psql~ \\(?:!|o|copy|i|g|w|e|s)|\b(?:program|copy|pg_read\w*|lo_\w*)\b
mysql mariadb~ \\[!TP.]|\b(?:system|source|(?:out|dump|in)file|load_file|tee|pager)\b
cmake ctest~ (?:^|\s)-[PECS]\b|--install|(?:COMPILER|LAUNCHER|PROGRAM|COMMAND|INCLUDE|FILE)\w*(?::\w+)?=
gpg~ secret|(?:^|\s)-\w*d|--decrypt|--exec|-program
openssl~ ^(?:enc|pkey|rsa|dsa|ec|pkcs\d+|engine|gen\w+|s_\w+)\b|(?:^|\s)-(?:out|engine|provider)
vim vi nvim view less more most~ (?:^|\s)\+
python python3~ (?:^|\s)-\w*m ?(?:pip|ensurepip|timeit|pdb|code|http\.server)\b
deno: eval|repl
mvn mvnw~ \bexec:|-Dexec\.
curl~ %output\{|--variable[ =]%
env xargs timeout nice nohup stdbuf setsid time watch parallel sudo doas strace~ (?:^|\s)(?![.\d]+[smhd]?(?:\s|$)
    |\w+=)[^-\s]
"""
"""Programs and a pattern of words: after `:` those where a subcommand may stand, after `~` anywhere."""
_TO_NAME = {
    program: _FIRST + rf"(?:{pattern})\b" if anchored == ":" else pattern
    for programs, anchored, pattern in re.findall(
        r"(?m)^([\w -]+?)([:~]) (.*)$", re.sub(r"\n {4}", "", _NAMES)
    )
    for program in programs.split()
}
"""The words with which a program runs commands, writes files or prints credentials; a rule covers them if it names
them, as in `bash(gh auth status)`. They include the program that another one starts."""
_ONLY_FIRST = frozenset({"gcc", "g++", "cc", "c++", "clang", "clang++"})
"""Programs that do not accept several option letters in one word."""
_MORE = (
    r"\S.* -(?:exec|toolexec|vettool|wrapper|out|ex|cmd|modfile|overlay|fplugin|specs|outputdir|trace|o|init"
    r"|\w*profile)(?:=.*)?|.*-extld.*|g?make --fi.*|unzip -.*:.*|pip3? --(?:log|python).*"
    r"|node --print(?:=.*)?|fd --exec-batch.*|java -(?:agent|javaagent|XX:On).*|npm --(?:viewer|browser).*"
    r"|sed --fi.*"
    r"|wget (?:--(?:no-[hd]|cut|trust|content-d).*|-n\w*[Hd].*)"
    r"|(?:pytest|py\.test) --(?:pdbcls.*|cov-report(?:=\w+:.*)?)"
)
"""Long options with one dash, and options that mean something else to other programs."""


def _unnamed(words: Words, named: Words) -> str:
    """Return why a command needs a rule that names more of its words, or ""."""
    program = words[0].rpartition("/")[2]
    if program not in _TO_NAME:
        return ""
    pattern = re.compile(_TO_NAME[program], re.IGNORECASE)  # only when needed: all of them take 13 ms
    match = pattern.search(" ".join(words[1:]))
    if not match or pattern.search(" ".join(named[1:])):
        return ""
    return f"`{program}` with {match[0].strip()!r} may execute, write or print credentials"


def _may_execute_or_write(program: str, option: str) -> bool:
    """Return whether an option of a program is known to execute something or to write to a named file."""
    name = option.partition("=")[0]
    if re.fullmatch(_MORE, f"{program} {option}"):
        return True
    if option.startswith("--"):
        short = program.partition(" ")[0] in _ABBREVIATES and len(name) > 3
        begins = short and any(one.startswith(name[2:].lower()) for one in _LONG)
        return begins or re.fullmatch(_EXECUTES_OR_WRITES, name) is not None
    letters = re.sub(r"[^\w#:].*", "", option[1:], flags=re.DOTALL)  # `ssh -4oProxyCommand=x`
    names = (program, program.partition(" ")[0], program.rstrip("0123456789."))
    listed = next((_SHORT[name] for name in names if name in _SHORT), "")
    given = letters[:1] if program in _ONLY_FIRST else letters
    return not set(listed).isdisjoint(given)
