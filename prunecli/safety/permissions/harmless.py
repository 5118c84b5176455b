"""Decides whether a shell line plainly only reads, so that it may run without asking and without a sandbox.

Each command of the line must pass on its own: its name and options are listed, and it reads only from places that
need no approval. Listed commands never change the environment or files, so one part cannot affect another; a `cd`
inside the workspace is followed.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, product
from pathlib import Path

from prunecli.model.shell import Doubt, Glob, Line, Open
from prunecli.safety.permissions.git import read_git
from prunecli.safety.permissions.harm import UNLISTED, described, of_line
from prunecli.safety.permissions.harmless_commands import (
    FORMS,
    QUERIES,
    TEXTS,
    Form,
    Given,
    Words,
    check_counts,
    pattern_first,
    read_options,
    sed_doubt,
)
from prunecli.safety.permissions.path_patterns import braces, chooses_secrets, component_regex, expand
from prunecli.safety.permissions.places import Place, TooMany, Unresolvable, real_path, resolve, set_of
from prunecli.safety.permissions.scope import CommandScope, Reading, files_below
from prunecli.tools.files.secret_paths import folded
from prunecli.tools.searching.secrets import MAX_ENTRIES
from prunecli.util.programs import program_doubt
from prunecli.util.regular import read_regular

_BUILTINS = frozenset({"<", "echo", "pwd", ":", "true", "false", "type", "command", "cd", "printf", "test"})
_ENTERED = frozenset({".git", ".prunecli"})
"""Folders that no `cd` may enter without asking."""
_LOOKS_UP = frozenset({"which", "type", "command"})
_READS_CWD = frozenset({"ls", "du", "tree"})
_RECURSIVE = frozenset({"-r", "-R", "--recursive"})
_SELECTS = frozenset({"--include", "-g", "--glob", "--iglob"})
_HIDDEN = set_of("-u --unrestricted --hidden -. --no-ignore --no-ignore-vcs -t --type")
"""Options with which ripgrep shows hidden files, or may: those of a type that is asked for."""
_IGNORES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_MAX_FOLDERS = 4
"""Maximum folders that a command may run in, if that depends on the success of an earlier `cd`."""


def read_line(line: Line, around: CommandScope) -> tuple[Reading, ...]:
    """Return the reads of a harmless command line. Raises Doubt if it is not harmless, with the reasons for all its
    commands, the riskiest first."""
    readings, doubts = list[Reading](), list[tuple[Words, Doubt]]()
    parts = located(line, around)
    while True:
        words: Words = ()
        try:
            words, places = next(parts)
            readings += [read_command(words, place) for place in places]
        except StopIteration:
            break
        except Doubt as doubt:
            doubts.append((words, described(words, doubt, around)))
    if doubts:
        raise Doubt(of_line(line, doubts))
    return tuple(readings)


def located(line: Line, around: CommandScope) -> Iterator[tuple[Words, Sequence[CommandScope]]]:
    """Yield each command of a line with the surroundings that it may run in; `cd` is left out.

    Raises Doubt for a `cd` that leaves the workspace or that can't be followed.
    """
    unsure = not line.flat or any(join in (";", "||") for join in line.joins)
    joins = ("&&", *line.joins, "&&")
    places = [around]
    for index, words in enumerate(line.commands):
        if words[0] != "cd":
            feed = line.commands[index - 1][0] if joins[index] == "|" else ""
            yield words, [replace(place, feed=feed) for place in places]
            continue
        if "|" in (joins[index], joins[index + 1]):
            raise Doubt("it changes the working directory inside a pipe")
        entered = [replace(place, cwd=_entered(words, place)) for place in places]
        places = list(dict.fromkeys([*entered, *(places if unsure else ())]))
        if len(places) > _MAX_FOLDERS:
            raise Doubt("it changes the working directory too often")


def _entered(words: Words, around: CommandScope) -> Path:
    """Return the folder that a `cd` leads to, inside the workspace and without links. Raises Doubt."""
    text = words[-1]
    if len(words) != 2 or text.startswith("-") or isinstance(text, Glob | Open):
        raise Doubt("it changes the working directory")
    try:
        place = resolve(text, around.cwd, around.home)
        folder = around.folder_of(place) or around.workspace
        parts = map(folded, os.path.relpath(place.real, real_path(folder)).split("/"))
        plain = os.path.normpath(os.path.join(real_path(around.cwd), text))
    except Unresolvable as error:
        raise Doubt(f"it uses a path that can't be resolved ({error})") from None
    if not around.holds(place) or place.ends != (plain,) or not _ENTERED.isdisjoint(parts):
        raise Doubt(f"it changes the working directory to {text!r}")
    if not os.path.isdir(plain):
        raise Doubt(f"it changes the working directory to {text!r}, which does not exist")
    return Path(plain)


def read_command(words: Words, around: CommandScope, *, by_rule: bool = False) -> Reading:
    """Return the reads of one harmless command. Raises Doubt if it is not harmless.

    `by_rule`: a user's rule allows the command, so the repository's git configuration does not matter.
    """
    try:
        if not around.holds(resolve(".", around.cwd, around.home)):
            raise Doubt("it would run outside the workspace")
        if any(isinstance(word, Open) for word in words):
            raise Doubt("it uses a variable or substitution")
        if words[0] == "[":
            words = ("test" if words[-1] == "]" else "[", *words[1:-1])
        words = _expanded(words, around)
        plain = not any(isinstance(word, Glob) or " " in word for word in words)
        query = plain and re.fullmatch(QUERIES, " ".join(words))
        if not query and not is_listed(words[0]):
            raise Doubt(UNLISTED)
        _check_programs(words, around)
        if query:
            return Reading()
        if words[0] == "git":
            return read_git(words, around, by_rule=by_rule)
        if words[0] == "find":
            return _find(words, around)
        form = FORMS[words[0]]
        given = read_options(form, words[1:], only_operands=words[0] == "echo")
        check_counts(words[0], form, given)
        return _listed(words[0], form, given, around)
    except Unresolvable as error:
        raise Doubt(f"it uses a path that can't be resolved ({error})") from None
    except TooMany:
        raise Doubt("it searches too many files to check for secrets") from None


def is_listed(program: str) -> bool:
    return program in FORMS or program in ("git", "find")


def _expanded(words: Words, around: CommandScope) -> Words:
    """Return the words with globs replaced by their matches, each of which must be readable without asking."""
    found: list[str] = []
    for word in words:
        if not isinstance(word, Glob):
            found.append(word)
            continue
        try:
            matches = expand(word, around.cwd)
        except TooMany:
            raise Doubt(f"the wildcard {word} matches too many files") from None
        hides = chooses_secrets(word) or word.rpartition("/")[2].startswith(("?", "["))
        if not matches and hides:
            raise Doubt(f"the wildcard {word} matches no file")
        if not matches and word.startswith("-"):
            found.append(str(word))  # bash leaves it unchanged: `--include=*.py`
            continue
        form = FORMS.get(found[0])
        for match in matches or [word]:
            if match.startswith("-"):
                raise Doubt(f"the wildcard {word} matches {match!r}, which looks like an option")
            around.readable(match, names_only=bool(form and (form.names_only or found[0] == "echo")))
            found.append(Glob(match))
    return tuple(found)


def _check_programs(words: Words, around: CommandScope) -> None:
    """Raise Doubt if the program, or one that the command looks up, would be found in the workspace."""
    if not around.path:
        return
    names = [] if words[0] in _BUILTINS else [words[0]]
    if words[0] in _LOOKS_UP:
        names += [word for word in words[1:] if not word.startswith("-")]
    for name, folder in product(names, around.folders):
        if doubt := program_doubt(around.path, name, str(folder)):
            raise Doubt(doubt)


def _listed(name: str, form: Form, given: Given, around: CommandScope) -> Reading:
    operands = given.operands
    if form.operands == "text first" and pattern_first(given):
        operands = operands[1:]
    _check_texts(name, given)
    if form.operands == "texts":
        return Reading()
    searches = (name == "rg" and "--files" not in given.options) or (
        name == "grep" and given.options & _RECURSIVE
    )
    if name == "rg" and not searches and given.options & {"--json", "-c", "--count"}:
        raise Doubt("`rg` may search instead of listing files")  # some versions do
    if not operands and name == "rg" and searches and around.feed not in ("", "<"):  # not a folder or device
        return Reading()
    if not operands and (name in _READS_CWD or name == "rg" or searches):
        operands = (".",)
    places = tuple(around.readable(word, names_only=form.names_only) for word in operands if word != "-")
    for word in given.suspects:
        around.readable(word)
    if name in ("diff", "cmp") and any(os.path.isdir(place.real) for place in places):
        raise Doubt("it compares folders and follows their links")
    if not searches:
        return Reading(places)
    if "-R" in given.options and any(map(_holds_links, places)):
        raise Doubt("it follows links, which may lead out of the workspace")
    shown = tuple(_searched(name, given, tuple(end for place in places for end in place.ends)))
    around.check(shown)
    return Reading(places, shown)


def _check_texts(name: str, given: Given) -> None:
    """Raise Doubt if a script or format may do more than print."""
    scripts = [value for option, value in given.values if option in ("-e", "--expression")]
    for text in scripts or given.operands[:1]:
        if name == "sed" and (doubt := sed_doubt(text)):
            raise Doubt(doubt)
        if name in TEXTS and (isinstance(text, Glob) or not re.fullmatch(TEXTS[name], text)):
            raise Doubt(f"{text!r} may do more than print")
    if name == "awk" and any("=" in word for word in given.operands[1:]):
        raise Doubt("it assigns a variable")


def _searched(name: str, given: Given, roots: Words) -> Iterator[str]:
    """Yield the files that a search below the roots may show: rather too many than too few, since ignored files count
    too. Raises Doubt, TooMany."""
    chosen = list[re.Pattern[str]]()
    for option, value in given.values:
        for word in braces(value) if option in _SELECTS and not value.startswith("!") else ():
            if not re.fullmatch(r"[\w./@+*?-]+", word) or chooses_secrets(word):
                raise Doubt(f"{value!r} may select files that contain secrets")
            last = word.rstrip("/").rpartition("/")[2]
            chosen.append(re.compile(component_regex(last).pattern, re.IGNORECASE | re.DOTALL))
    if name == "grep" and any(option == "--exclude" for option, _ in given.values):
        chosen = []  # which of the two wins depends on their order
    every = name == "grep" or bool(given.options & _HIDDEN)
    for root in roots:
        for path in files_below(root):
            parts = [part for part in path[len(root) :].split("/") if part]
            if chosen and parts:
                if any(regex.fullmatch(part) for regex in chosen for part in parts):
                    yield path
            elif every or not any(part.startswith(".") for part in parts) or _is_brought_back(path, parts):
                yield path


def _holds_links(place: Place) -> bool:
    walked = (os.path.join(inside, name) for inside, *lists in os.walk(place.real) for name in chain(*lists))
    return any(map(os.path.islink, islice(walked, MAX_ENTRIES))) or next(walked, None) is not None


def _is_brought_back(path: str, parts: Sequence[str]) -> bool:
    """Return whether an ignore file may include the path with `!`, even if it is hidden."""
    while (path := os.path.dirname(path)) != "/":
        for name in _IGNORES:
            try:
                text = read_regular(os.path.join(path, name)).decode("utf-8", "replace")
            except OSError:
                continue
            wanted = [
                line.strip("! \r").rstrip("/").rpartition("/")[2]
                for line in text.split("\n")
                if line[:1] == "!"
            ]
            if any(component_regex(one).fullmatch(part) for one in wanted for part in parts):
                return True
    return False


_FIND_ALONE = set_of(
    "-print -print0 -empty -prune -not -a -o -and -or ! ( ) , -true -false -mount -xdev -depth -daystart -ls"
)
_FIND_WITH_VALUE = set_of(
    "-name -iname -path -ipath -wholename -type -size -mtime -mmin -ctime -cmin -atime -amin -maxdepth "
    "-mindepth -perm -user -group -regex -iregex -regextype -newermt -newer -links"
)


def _find(words: Words, around: CommandScope) -> Reading:
    """Judge `find`: start folders, tests and printing are harmless; actions that run, write or delete are not."""
    at = 1
    while at < len(words) and not words[at].startswith(("-", "(", "!", ",")):
        at += 1
    places = tuple(around.readable(word, names_only=True) for word in words[1:at] or (".",))
    while at < len(words):
        word = words[at]
        if word in _FIND_WITH_VALUE:
            at += 1
            if at >= len(words) or words[at] in _FIND_ALONE | _FIND_WITH_VALUE:
                raise Doubt(f"the option {word} needs a value")
            if word == "-newer":
                around.readable(words[at], names_only=True)
        elif word not in _FIND_ALONE:
            raise Doubt(f"the option {word} may do more than read")
        at += 1
    return Reading(places)
