"""Says what a command may do, for the person who is asked: what it reads, changes, or needs from outside.

A statement is a predicate such as "deletes files". Nothing here decides: a command that nothing is known about "can
change files".
"""

import re
from collections.abc import Iterable, Sequence

from prunecli.model.shell import MAX_LINE, Doubt, Line
from prunecli.safety.permissions.git import GIT_FORMS
from prunecli.safety.permissions.harmless_commands import CHANGING, FORMS, Form, Words
from prunecli.safety.permissions.places import Unresolvable, resolve, set_of
from prunecli.safety.permissions.scope import CommandScope, Harm
from prunecli.util.sanitize import one_line, shortened

UNLISTED = "it may do more than read"
"""The doubt about a program that is on no list of harmless ones."""
CHANGES, RUNS, CODE, DELETES = "can change files", "runs project code", "runs code", "deletes files"
_INSTALLS = "installs packages, which can run scripts"
_NETWORK = "needs network"
_SHOWN_CHARS = 60
_MOST_WORDS = 100

_KNOWN = {
    **dict.fromkeys(("rm", "rmdir", "shred", "unlink"), DELETES),
    **dict.fromkeys(("kill", "killall", "pkill"), "ends other programs"),
    **dict.fromkeys(("doas", "su", "sudo"), "runs as another user"),
    **dict.fromkeys(("alias", "declare", "export", "set", "unset"), "changes variables"),
    **dict.fromkeys(("docker", "podman"), "runs containers"),
    **dict.fromkeys(
        set_of(
            "ant bazel bun bundle cargo cmake composer ctest deno dotnet go gradle gradlew hatch jest just "
            "lua make gmake meson mix mocha mvn ninja node nox npm npx pdm perl php phpunit pipenv pnpm "
            "poetry pytest python rake rspec ruby sbt swift tox tsx uv vitest yarn bash sh zsh dash ksh fish "
            "source ."
        ),
        RUNS,
    ),
    **dict.fromkeys(
        set_of("aws az curl dig ftp gcloud gh glab helm kubectl nc nslookup ping scp sftp ssh telnet wget"),
        _NETWORK,
    ),
}
"""What programs do, by name without digits. All others can change files."""
_PRINTS = set_of(
    "[ awk expr fold gofmt hexdump jq lsof nm objdump od pgrep popd ps pushd readelf size ss strings top type "
    "ulimit which"
)
"""Programs that print, unless an option makes them do more."""
_CODE = re.compile(r"-\w*[ce]|--eval|-|-p")
_INSTALLERS = set_of("brew bun bundle cargo gem npm pdm pip pipenv pnpm poetry uv yarn")
_INSTALL = frozenset({"add", "ci", "i", "install", "sync", "update", "upgrade", "up"})
_GIT = {
    **dict.fromkeys(("clean", "rm"), DELETES),
    **dict.fromkeys(("clone", "fetch", "ls-remote", "pull", "push"), _NETWORK),
}
"""What git's subcommands do. All others that do more than read change the repository."""
_STARTERS = set_of("command env exec ionice nice nohup parallel setsid stdbuf time timeout watch xargs")
_BEFORE = re.compile(r"-.*|[.\d]+[smhd]?|\w+=.*|\{\}", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(?:.*\n)*?\s*\2(?=\s|$)")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_OPERATORS = re.compile(
    r"&&|\|\||[;\n|&(){}`!]|\$\(|\b(?:then|do|else|elif|if|while|until)\s|\b\w+=\S*(?=\s)"
)
_OUTPUT = re.compile(r"(?<![<>&=-])>{1,2}\|?\s*([^\s;&|<>()]+)")
_REDIRECTION = re.compile(r"\d?[<>]{1,3}[&|]?\s*[^\s;&|()]+")
_NO_PROGRAMS = frozenset({"for", "case", "in", "fi", "done", "esac", "''", "cd", "[", "[["})
"""First words of parts of a line that can't be parsed which say nothing about harm."""
_IN_PLACE = re.compile(r"-[nErsuz]*i.*|--in-place.*")


def described(words: Words, doubt: Doubt, around: CommandScope) -> Doubt:
    """Return why a command needs approval: what it may do if that is known, else the doubt about it."""
    if isinstance(doubt, Harm) or not words:
        return doubt
    known = (
        (doubt.reason == UNLISTED and _of(words))
        or (words[0] == "sed" and any(map(_IN_PLACE.fullmatch, words[1:])) and CHANGES)
        or (words[0] == "find" and _find(words))
        or (words[0] == "git" and _git(words))
    )
    return Harm(_here(known, around)) if known and known != UNLISTED else doubt


def _of(words: Sequence[str]) -> str:
    name = words[0].rpartition("/")[2].rstrip("0123456789.")
    if name in _STARTERS:
        at = next((at for at, word in enumerate(words) if at and not _BEFORE.fullmatch(word)), 0)
        return _of(words[at:]) if at else RUNS
    if name in ("git", "find"):
        return (_git if name == "git" else _find)(words) or CHANGES
    if list(words[1:3]) == ["-m", "pip"]:
        name, words = "pip", words[2:]
    after = [word for word in words[1:3] if word != "pip"]
    if name in _INSTALLERS and ((after[:1] and after[0] in _INSTALL) or words == ("yarn",)):
        return _INSTALLS
    if name in FORMS or name in _PRINTS:
        return UNLISTED
    known = _KNOWN.get(name, "")
    if known == RUNS and len(words) > 1 and _CODE.fullmatch(words[1]):
        return CODE
    return known or (RUNS if re.match(r"[^/].*/", words[0]) else CHANGES)


def _git(words: Sequence[str]) -> str:
    """Return what a git command changes, "" for one that should only read."""
    command = next((word for word in words[1:] if word in _GIT or word in GIT_FORMS or word.isalpha()), "")
    reads = command in GIT_FORMS and command not in ("stash", "worktree", "remote")
    return "" if reads or not command else _GIT.get(command, "changes the repository")


def _find(words: Sequence[str]) -> str:
    """Return what the actions of find do, "" for those that should only print."""
    at = next((at for at, word in enumerate(words) if re.fullmatch("-(exec|ok)(dir)?", word)), 0)
    return DELETES if "-delete" in words else _of(words[at + 1 :]) if 0 < at < len(words) - 1 else ""


def _here(harm: str, around: CommandScope) -> str:
    return f"{harm}: the sandbox has none" if harm == _NETWORK and around.walled else harm


# Lines -------------------------------------------------------------------------------------------------------


def of_line(line: Line, parts: Iterable[tuple[Words, Doubt]]) -> str:
    """Return what the parts of a line may do, the riskiest first. The parts of a compound line are named."""
    found = dict[str, int]()
    for words, doubt in parts:
        clause = doubt.reason
        if words and len(line.commands) > 1:
            name = shortened(one_line(str(Line((words,)))), _SHOWN_CHARS)
            clause = f"`{name}`{'' if isinstance(doubt, Harm) else ':'} {clause}"
        found.setdefault(clause, 2 if not words or doubt.reason == CHANGES else "/" not in words[0])
    return "; ".join(sorted(found, key=found.__getitem__))


def of_text(text: str, doubt: str, words: Sequence[str], around: CommandScope) -> str:
    """Return what a line that can't be parsed seems to do, or why it can't be checked. `words` are its likely
    words."""
    plain = _QUOTED.sub("''", _HEREDOC.sub(r"\3\n", text[:MAX_LINE] + "\n"))
    outputs = [found for found in _OUTPUT.findall(plain) if not found.startswith("/dev/")]
    parts = (part.split() for part in _OPERATORS.split(_REDIRECTION.sub(" ", plain)))
    commands = [part for part in parts if part and part[0] not in _NO_PROGRAMS]
    clauses = list[str]()
    for command in commands:
        if (harm := _of(command)) == UNLISTED or (harm == CHANGES and command[0] not in CHANGING):
            continue
        name = "" if len(commands) == 1 else f"`{' '.join(command[:3])}` "
        clauses.append(f"{name}{_here(harm, around)}")
    clauses += [f"writes to {output.replace(chr(39) * 2, 'a file')}" for output in outputs]
    clauses[:0] = _secrets(words, [FORMS.get(command[0]) for command in commands], around)
    return "; ".join(dict.fromkeys(map(one_line, clauses))) or f"can't be checked: {doubt}"


def _secrets(words: Sequence[str], forms: Sequence[Form | None], around: CommandScope) -> Iterable[str]:
    """Yield a statement about each secret that the words of a line name, if a command in it reads files."""
    readers = [form for form in forms if not form or not (form.names_only or form.operands == "texts")]
    for word in words[:_MOST_WORDS] if readers else ():
        try:
            place = resolve(word, around.cwd, around.home)
        except Unresolvable:
            continue
        if around.keeps_secrets(place):
            yield f"{'reads' if all(readers) else 'may read'} {around.secret_name(place)}"
