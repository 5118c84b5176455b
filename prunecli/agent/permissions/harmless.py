"""Whether a shell line only reads, so that it may run without asking.

Each command of the line must pass on its own: its name and options are listed, and it reads only from
places that need no approval. Nothing listed changes directory, environment or files, so the parts can't help
each other.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from prunecli.agent.permissions.git_config import repository_doubt
from prunecli.agent.permissions.harmless_commands import CHANGING, FORMS, RUNNING, Form, Words
from prunecli.agent.permissions.harmless_git import (
    GIT_FORMS,
    READS_WORKTREE,
    git_doubt,
    operand_paths,
    split_git,
)
from prunecli.agent.permissions.options import Given, read_options
from prunecli.agent.permissions.places import (
    Place,
    Unresolvable,
    is_inside,
    looks_secret,
    reading_doubt,
    real_path,
    resolve,
)
from prunecli.agent.permissions.shell import Doubt, Line

_SECRET_SAMPLES = (
    ".env",
    ".env.local",
    "prod.env",
    "id_rsa",
    "id_ed25519",
    "server.pem",
    "server.key",
    ".netrc",
)
_MAX_SEARCHED = 3000
"""Directory entries checked for secrets before a recursive search is allowed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context a call is judged in: absolute folders, and prunecli's own files and folders with secrets."""

    workspace: Path
    cwd: Path
    home: Path
    secrets: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a harmless command reads: places it names, and whether it shows contents of files below them."""

    places: tuple[Place, ...] = ()
    sweeps: bool = False


def read_line(line: Line, around: Surroundings) -> tuple[Reading, ...]:
    """What each command of a harmless line reads. Raises Doubt if the line is not harmless."""
    if any(join not in ("|", "&&") for join in line.joins):
        raise Doubt("it joins commands with something other than | and &&")
    return tuple(read_command(words, around) for words in line.commands)


def read_command(words: Words, around: Surroundings) -> Reading:
    """What one harmless command reads. Raises Doubt if it is not harmless."""
    try:
        if not is_inside(resolve(".", around.cwd, around.home), around.workspace):
            raise Doubt("it would run outside the workspace")
        if words[0] == "git":
            return _git(words, around)
        if words[0] == "find":
            return _find(words, around)
        form = FORMS.get(words[0])
        if form is None:
            raise Doubt(_unlisted(words[0]))
        return _listed(words[0], form, read_options(form, words[1:]), around)
    except Unresolvable as error:
        raise Doubt(f"it uses a path that can't be resolved ({error})") from None


def _unlisted(program: str) -> str:
    name = program.rpartition("/")[2]
    if CHANGING.fullmatch(name):
        return f"`{program}` can change files"
    return f"`{program}` {'runs another program' if RUNNING.fullmatch(name) else 'may do more than read'}"


def is_listed(program: str) -> bool:
    """Whether the program is one of those that can be harmless."""
    return program in FORMS or program in ("git", "find")


def _listed(name: str, form: Form, given: Given, around: Surroundings) -> Reading:
    _check_counts(name, form, given)
    if doubt := form.doubt(given.operands):
        raise Doubt(doubt)
    _check_globs(form, given)
    if form.operands == "texts":
        return Reading()
    drop = form.operands == "text first" and not given.options & form.no_text
    operands = given.operands[1:] if drop else given.operands
    sweeps = bool(form.sweeps & (given.options | {""}))
    if not operands and (form.reads_cwd or sweeps):
        operands = (".",)
    places = tuple(_readable(word, around) for word in operands if word != "-")
    for word in given.suspects:
        _readable(word, around)
    if form.no_folders and any(os.path.isdir(place.real) for place in places):
        raise Doubt("it compares folders and follows their links")
    if given.options & form.sweeps_all:
        for place in places:
            if secret := _secret_below(place.real):
                raise Doubt(f"it would search {secret}, which may contain secrets")
    return Reading(places, sweeps)


def _check_counts(name: str, form: Form, given: Given) -> None:
    if form.needs and not form.needs & given.options:
        raise Doubt(f"`{name}` without {' or '.join(sorted(form.needs))} may do more than read")
    if len(given.operands) > form.most:
        if "version" in form.long:
            raise Doubt(f"`{name}` can change files")
        raise Doubt(f"`{name}` with {given.operands[form.most]!r} may do more than read")
    if len(given.operands) < form.least:
        raise Doubt(f"`{name}` needs more arguments")
    if not form.least and not form.most and not given.options and "version" in form.long:
        raise Doubt(f"`{name}` can change files")


def _check_globs(form: Form, given: Given) -> None:
    for option, value in given.values:
        if option in form.globs and not value.startswith("!") and _chooses_secrets(value):
            raise Doubt(f"{value!r} selects files that may contain secrets")


def _chooses_secrets(glob: str) -> bool:
    """Whether a glob is about secrets: it looks like one, or matches some and not just everything."""
    name = glob.rstrip("/").rpartition("/")[2]
    if looks_secret(glob):
        return True
    return not fnmatch("main.c", name) and any(fnmatch(sample, name) for sample in _SECRET_SAMPLES)


def _readable(text: str, around: Surroundings, cwd: Path | None = None) -> Place:
    place = resolve(text, cwd or around.cwd, around.home)
    if doubt := reading_doubt(place, around.workspace, around.secrets):
        raise Doubt(f"{text!r} {doubt}")
    return place


def _secret_below(folder: str) -> str:
    """The first file below the folder that may contain secrets, or "". Bounded; links are not followed."""
    for count, path in enumerate(_files(folder)):
        if count >= _MAX_SEARCHED:
            break
        if looks_secret(path):
            return os.path.relpath(path, folder)
    return ""


def _files(folder: str) -> Iterator[str]:
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {".git", "node_modules"})
        for name in sorted(names):
            yield os.path.join(inside, name)


# git and find ------------------------------------------------------------------------------------------------


def _git(words: Words, around: Surroundings) -> Reading:
    folder, subcommand, rest = split_git(words)
    cwd = around.cwd
    if folder:
        place = _readable(folder, around)
        if len(place.ends) > 1:
            raise Doubt(f"the folder {folder!r} is ambiguous")
        cwd = Path(place.real)
    form = GIT_FORMS[subcommand]
    given = read_options(form, rest)
    _check_counts(f"git {subcommand}", form, given)
    if doubt := git_doubt(subcommand, given):
        raise Doubt(doubt)
    drop = form.operands == "text first" and not given.options & form.no_text
    operands = given.operands[1:] if drop else given.operands
    paths = [path for operand in operands for path in operand_paths(operand)]
    places = [_readable(path, around, cwd) for path in paths if subcommand != "config"]
    if doubt := repository_doubt(Path(real_path(cwd)), reads_worktree=subcommand in READS_WORKTREE):
        raise Doubt(doubt)
    return Reading((resolve(".", cwd, around.home), *places), bool(form.sweeps))


_FIND_ALONE = frozenset(
    {
        *("-print", "-print0", "-empty", "-prune", "-not", "-a", "-o", "-and", "-or", "!", "(", ")", ","),
        *("-true", "-false", "-mount", "-xdev", "-depth", "-daystart", "-ls"),
    }
)
_FIND_WITH_VALUE = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-type", "-size", "-mtime", "-mmin", "-ctime"),
        *(
            "-cmin",
            "-atime",
            "-amin",
            "-maxdepth",
            "-mindepth",
            "-perm",
            "-user",
            "-group",
            "-regex",
            "-iregex",
        ),
        *("-regextype", "-newermt", "-links"),
    }
)


def _find(words: Words, around: Surroundings) -> Reading:
    """Judge `find`: start folders, tests and printing pass; actions that run, write or delete don't."""
    at = 1
    while at < len(words) and not words[at].startswith(("-", "(", "!", ",")):
        at += 1
    places = tuple(_readable(word, around) for word in words[1:at] or (".",))
    while at < len(words):
        word = words[at]
        if word in _FIND_WITH_VALUE:
            at += 1
            if at >= len(words):
                raise Doubt(f"the option {word} needs a value")
        elif word == "-newer" and at + 1 < len(words):
            at += 1
            _readable(words[at], around)
        elif word not in _FIND_ALONE:
            raise Doubt(f"the option {word} may do more than read")
        at += 1
    return Reading(places)
