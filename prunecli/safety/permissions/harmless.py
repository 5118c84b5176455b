"""Decides whether a shell line only reads, so that it may run without asking.

Each command of the line must pass on its own: its name and options are listed, and it reads only from places that
need no approval. Listed commands never change the environment or files, so one part cannot affect another; a `cd`
inside the workspace is followed.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from pathlib import Path

from prunecli.model.shell import Doubt, Glob, Line, Open, Value
from prunecli.safety.permissions.command_options import Given, check_counts, read_options
from prunecli.safety.permissions.git_reading import read_git
from prunecli.safety.permissions.globs import TooMany, chooses_secrets, expand
from prunecli.safety.permissions.harm import UNLISTED, described, of_line
from prunecli.safety.permissions.harmless_commands import (
    FORMS,
    INSIDE_QUERIES,
    QUERIES,
    SHOWS_PROCESSES,
    Form,
    Words,
)
from prunecli.safety.permissions.listings import check_reader, command_of_xargs, listed
from prunecli.safety.permissions.places import Place, Unresolvable, real_path, resolve
from prunecli.safety.permissions.scope import CommandScope, Harm, Reading
from prunecli.safety.permissions.sweeps import Sweep, files_below, links_below, sweep_of_grep, sweep_of_rg
from prunecli.safety.permissions.variables import TAKES_TEXT, TESTS, check_unknown, tested, variants
from prunecli.tools.files.secret_paths import folded
from prunecli.util.programs import program_doubt

_BUILTINS = frozenset({"<", "echo", "pwd", *TESTS, ":", "true", "false", "type", "command", "cd", "printf"})
_ENTERED = frozenset({".git", ".prunecli"})
"""Folders that no `cd` may enter without asking."""
_LOOKS_UP = frozenset({"which", "type", "command"})
_FOLLOWS = frozenset({"-R", "--dereference-recursive"})
_SELECTS = frozenset({"--include", "-g", "--glob", "--iglob"})
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
            for place in places:
                readings += [read_command(each, place) for each in variants(words, place)]
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
    places, feed = [around], tuple[Words, ...]()
    for index, words in enumerate(line.commands):
        if words[0] != "cd":
            feed = (*feed, line.commands[index - 1]) if joins[index] == "|" else ()
            if index - 1 in line.merged:
                feed = (("2>&1",),)  # error messages are no file names
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
        feed = _feed(words[-1])
        if (feed and words[0] not in TAKES_TEXT) or words[0] == "xargs":
            return _on_files(words, feed, around)
        check_unknown(words)
        words = _expanded(words, around)
        query = _is_query(words, around)
        if not query and not is_listed(words[0]):
            raise Doubt(UNLISTED)
        _check_programs(words, around)
        if words[0] in SHOWS_PROCESSES and not (around.walled or by_rule):
            raise Harm("shows the arguments of other programs, which may contain secrets")
        if query:
            return Reading()
        if words[0] == "git":
            return read_git(words, around, by_rule=by_rule)
        if words[0] == "find":
            return _find(words, around)
        if words[0] in TESTS:
            return Reading(tuple(around.readable(path, names_only=True) for path in tested(words)))
        form = FORMS[words[0]]
        return _listed(words[0], form, read_options(form, words[1:]), around)
    except Unresolvable as error:
        raise Doubt(f"it uses a path that can't be resolved ({error})") from None


def _feed(word: str) -> tuple[Words, ...]:
    """Return the pipeline whose output a word stands for, if it is nothing else."""
    only = word.parts[0] if isinstance(word, Open) and len(word.parts) == 1 else ""
    return only.feed if isinstance(only, Value) and not only.name else ()


def _on_files(words: Words, feed: tuple[Words, ...], around: CommandScope) -> Reading:
    """Judge a command on the files that a pipeline lists, as its last words or through xargs.

    Only a sandbox makes this harmless: a listing that was misread could name secrets, which a sandbox hides.
    """
    if not around.walled:
        raise Doubt("it passes on a list of files, which needs a sandbox")
    if words[0] == "xargs":
        command, feed = command_of_xargs(words), around.feed
    else:
        command = words[:-1]
    if not feed or any(isinstance(word, Glob | Open) for word in command):
        raise Doubt("it passes on an unknown list of files")
    check_reader(command)
    _check_programs(words, around)
    files = listed(feed, around)
    sample = os.path.relpath(files.paths[0], around.cwd) if files.paths else "none"
    reading = read_command((*command, sample), replace(around, feed=()))
    return Reading(reading.places, files)


def _is_query(words: Words, around: CommandScope) -> bool:
    """Return whether the command only prints versions or what is installed."""
    text = " ".join(words)
    if any(isinstance(word, Glob) or " " in word for word in words):
        return False
    return bool(re.fullmatch(QUERIES, text) or (around.walled and re.fullmatch(INSIDE_QUERIES, text)))


def is_listed(program: str) -> bool:
    return program in FORMS or program in ("git", "find") or program in TESTS


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
        if not matches and _is_hidden_choice(word):
            raise Doubt(f"the wildcard {word} matches no file")
        if not matches:
            matches = [str(word)]  # bash leaves it unchanged: `--include=*.py`
            if word.startswith("-"):
                found += matches
                continue
        form = FORMS.get(found[0])
        for match in matches:
            if match.startswith("-"):
                raise Doubt(f"the wildcard {word} matches {match!r}, which looks like an option")
            around.readable(match, names_only=bool(form and (form.names_only or form.all_text)))
        found.extend(map(Glob, matches))
    return tuple(found)


def _is_hidden_choice(glob: str) -> bool:
    """Return whether a glob obscures the name that it matches, or selects secrets."""
    return chooses_secrets(glob) or glob.rpartition("/")[2].startswith(("?", "["))


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
    check_counts(name, form, given)
    if doubt := form.doubt(given.operands):
        raise Doubt(doubt)
    if form.operands == "texts":
        return Reading()
    drop = form.operands == "text first" and not given.options & form.no_text
    operands = given.operands[1:] if drop else given.operands
    texts = (
        given.operands[:1] if drop else [value for option, value in given.values if option in form.no_text]
    )
    for text in texts:
        if doubt := form.scripts(text):
            raise Doubt(doubt)
    sweeps = bool(form.sweeps & (given.options | {""})) and not given.options & form.no_contents
    piped = around.feed and around.feed[-1][0] != "<"  # rg searches no input that is a folder or device
    if not operands and name == "rg" and piped and not given.options & form.no_contents:
        return Reading()  # it searches its input
    if not operands and (form.reads_cwd or sweeps):
        operands = (".",)
    places = tuple(around.readable(word, names_only=form.names_only) for word in operands if word != "-")
    for word in given.suspects:
        around.readable(word)
    if form.no_folders and any(os.path.isdir(place.real) for place in places):
        raise Doubt("it compares folders and follows their links")
    if form.follows:
        return Reading(places, _followed(form.follows, places, around))
    if not sweeps:
        return Reading(places)
    _check_globs(name, given)
    roots = tuple(end for place in places for end in place.ends)
    if given.options & _FOLLOWS and _has_links(roots):
        raise Doubt("it follows links, which may lead out of the workspace")
    sweep = sweep_of_rg(roots, given) if name == "rg" else sweep_of_grep(roots, given)
    around.check(sweep)
    return Reading(places, sweep)


def _check_globs(name: str, given: Given) -> None:
    for option, value in given.values:
        if option in _SELECTS and value.startswith("="):
            raise Doubt(f"`{name}` may ignore the first character of {value!r}")  # `-g=x` is `-g x`
        if option in _SELECTS and not value.startswith("!") and chooses_secrets(value):
            raise Doubt(f"{value!r} selects files that may contain secrets")


def _has_links(roots: tuple[str, ...]) -> bool:
    try:
        return any(True for _ in links_below(roots))
    except TooMany:
        return True


def _followed(ending: str, places: tuple[Place, ...], around: CommandScope) -> Sweep:
    """Return the files with this ending below places, whose links lead to files that may be read. Raises Doubt."""
    roots = tuple(end for place in places for end in place.ends)
    try:
        for link in links_below(roots):
            if link.endswith(ending):
                around.readable(link)
    except TooMany:
        raise Doubt("it reads too many files to check their links") from None
    sweep = Sweep(lambda: chain.from_iterable(map(files_below, roots)), lambda path: path.endswith(ending))
    around.check(sweep)
    return sweep


_FIND_ALONE = frozenset(
    {
        *("-print", "-print0", "-empty", "-prune", "-not", "-a", "-o", "-and", "-or", "!", "(", ")", ","),
        *("-true", "-false", "-mount", "-xdev", "-depth", "-daystart", "-ls"),
    }
)
_FIND_WITH_VALUE = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-type", "-size", "-mtime", "-mmin", "-ctime"),
        *("-cmin", "-atime", "-amin", "-maxdepth", "-mindepth", "-perm", "-user", "-group", "-regex"),
        *("-iregex", "-regextype", "-newermt", "-newer", "-links"),
    }
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
