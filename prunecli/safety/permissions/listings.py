"""Commands that read the files that another command lists: `rg -l x | xargs wc -l`, `cat $(git ls-files)`.

The listing stands for every file that it may print. All their names must be plain, and none may contain secrets or
lead out of the workspace.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from prunecli.model.shell import Doubt, Glob, Open
from prunecli.safety.permissions.command_options import Given, read_options
from prunecli.safety.permissions.git_reading import is_repository, tracked_paths, work_tree
from prunecli.safety.permissions.globs import component_regex
from prunecli.safety.permissions.harmless_commands import FORMS, MANY, Words
from prunecli.safety.permissions.places import real_path
from prunecli.safety.permissions.scope import CommandScope
from prunecli.safety.permissions.sweeps import Sweep, sweep_of_grep, sweep_of_rg

_MAX_ENTRIES = 20_000
_NAME = re.compile(r"(?![-@+~])[\w./@%+,:^-]+", re.ASCII)
"""A path that no program splits, expands, or reads as an option or an assignment."""
_OR = frozenset({"-o", "-or", "(", ","})
_NOT = frozenset({"!", "-not"})
_PRUNED = re.compile(r"(\./|\*/)([\w.-]+)/\*", re.ASCII)
_OTHER_OUTPUT = frozenset({"-ls", "-print0"})
_LISTS = frozenset({"-l", "-L", "--files", "--files-with-matches", "--files-without-match"})
_SEARCHES = {
    "rg": _LISTS | {"-g", "--glob", "-t", "--type", "-i", "-w", "-F", "-S", "-e", "--hidden", "-u", "--sort"},
    "grep": _LISTS
    | {"-r", "-R", "-i", "-w", "-E", "-F", "-n", "-s", "-e", "--include", "--exclude", "--exclude-dir"},
}
"""Searches, with the options that leave them printing file names."""
_FILTER = re.compile(
    r"(?:head|tail)(?: -\d+| -n ?\+?\d+)? ?|sort(?: -[urn]+)?|uniq|grep(?: -[viEFw]+)? (?!-)[^ ]+", re.ASCII
)
"""Commands that select lines of their input and leave them unchanged."""
_XARGS = re.compile(r"-r|--no-run-if-empty|-n\d+|-P\d+|-L\d+")


def listed(pipeline: Sequence[Words], around: CommandScope) -> Sweep:
    """Return the files that a pipeline may list, all with plain names. Raises Doubt if it prints something else."""
    producer, *filters = pipeline
    for words in filters:
        if any(isinstance(word, Glob | Open) or " " in word for word in words) or not _FILTER.fullmatch(
            " ".join(words)
        ):
            raise Doubt(f"`{words[0]}` may print text other than file names")
    paths = [path for path in _printed(producer, around) if os.path.basename(path)]
    for path in paths:
        if not _NAME.fullmatch(path):
            raise Doubt(f"it would pass on the file name {path!r}")
        if os.path.islink(around.cwd / path):
            around.readable(path)
    sweep = Sweep(lambda: [os.path.normpath(around.cwd / path) for path in paths])
    around.check(sweep)
    return sweep


def check_reader(words: Words) -> None:
    """Raise Doubt unless the command would read each file named after these words, and nothing else."""
    form = FORMS.get(words[0])
    if words[0] in ("<", "basename", "dirname", "echo"):
        return
    if not form or form.operands == "texts" or form.most < MANY:
        raise Doubt(f"`{words[0]}` may do more than read the files that it is given")
    given = read_options(form, words[1:])
    if form.sweeps & (given.options | {""}):
        raise Doubt(f"`{words[0]}` may search folders that it is given")
    if form.operands == "text first" and not given.operands and not given.options & form.no_text:
        raise Doubt(f"`{words[0]}` would take a file name as its pattern or script")


def command_of_xargs(words: Words) -> Words:
    at = 1
    while at < len(words) and _XARGS.fullmatch(words[at]):
        at += 1
    if at >= len(words) or words[at].startswith("-"):
        raise Doubt("`xargs` runs another program")
    return words[at:]


def _printed(words: Words, around: CommandScope) -> Iterator[str]:
    """Yield every path that a command may print, as it spells them."""
    if any(isinstance(word, Glob | Open) for word in words):
        raise Doubt("it passes on an unknown list of files")
    if words[0] == "find":
        return _found(words, around)
    if words[:2] == ("git", "ls-files") and not any(word.startswith(("-", ":")) for word in words[2:]):
        top = work_tree(Path(real_path(around.cwd)))
        if top and is_repository(top):
            return (os.path.relpath(path, around.cwd) for path in tracked_paths(top, lambda _: True))
    if words[0] in _SEARCHES:
        given = read_options(FORMS[words[0]], words[1:])
        if given.options <= _SEARCHES[words[0]] and given.options & _LISTS:
            return _searched(words[0], given, around)
    raise Doubt(f"`{words[0]}` may print text other than file names")


def _found(words: Words, around: CommandScope) -> Iterator[str]:
    at = next(
        (index for index, word in enumerate(words[1:], 1) if word.startswith(("-", "(", "!"))), len(words)
    )
    tests = words[at:]
    if not _OTHER_OUTPUT.isdisjoint(tests):
        raise Doubt("`find` may print text other than file names")
    names, left_out = [re.compile("")], []
    for before, test, value in zip(("", *tests), tests, tests[1:], strict=False):
        if before in _NOT and test == "-path" and (pruned := _PRUNED.fullmatch(value)):
            left_out.append((pruned[1] == "./", pruned[2]))
        elif before not in _NOT and test in ("-name", "-iname"):
            names.append(re.compile(component_regex(value).pattern, re.DOTALL | re.IGNORECASE))
    early = "-print" in tests[:-1]  # it does not depend on the tests after it
    if early or not _OR.isdisjoint(tests) or any(one in _NOT and two in _NOT for one, two in pairwise(tests)):
        names, left_out = [], []
    for root in words[1:at] or (".",):
        for path in _below(root, around, left_out):
            if all(name.fullmatch(os.path.basename(path)) for name in names[1:]):
                yield path


def _searched(name: str, given: Given, around: CommandScope) -> Iterator[str]:
    operands = given.operands if given.options & FORMS[name].no_text else given.operands[1:]
    if name == "grep" and not operands and not given.options & {"-r", "-R"}:
        raise Doubt("it passes on the name of its input")
    roots = tuple(end for word in operands or (".",) for end in around.readable(word).ends)
    sweep = sweep_of_rg(roots, given) if name == "rg" else sweep_of_grep(roots, given)
    if name == "rg" and not operands and os.path.lexists(around.cwd / "<stdin>"):
        yield "<stdin>"  # its name for a pipe that it searches instead
    for root in operands or (".",):
        for path in _below(root, around, []):
            if sweep.shows(os.path.normpath(around.cwd / path)):
                yield path if operands else path.removeprefix("./")


def _below(root: str, around: CommandScope, left_out: Sequence[tuple[bool, str]]) -> Iterator[str]:
    """Yield the root and all paths below it. `left_out` are names of folders, at the top or anywhere."""
    yield root
    left = _MAX_ENTRIES
    for inside, folders, names in os.walk(os.path.join(around.cwd, root)):
        shown = os.path.join(root, os.path.relpath(inside, os.path.join(around.cwd, root))).removesuffix("/.")
        top = root == "." and shown == "."
        found = [*folders, *names]
        folders[:] = [
            folder
            for folder in folders
            if not any(folder == name and (top or not first) for first, name in left_out)
        ]
        left -= len(found)
        if left < 0:
            raise Doubt("it passes on too many files to check")
        for name in found:
            yield f"{shown.rstrip('/')}/{name}"
