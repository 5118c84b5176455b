"""Replaces the variables of a command line by their values, if these are known before it runs."""

import re
from collections.abc import Iterator
from itertools import product

from prunecli.model.shell import Doubt, Open, Value
from prunecli.model.words import PLAIN
from prunecli.safety.permissions.globs import TooMany, expand
from prunecli.safety.permissions.harmless_commands import Words
from prunecli.safety.permissions.scope import CommandScope

_MAX_VALUES = 100
"""Maximum commands that one command of a loop over a glob stands for."""
TESTS = frozenset({"[", "[[", "test"})
TAKES_TEXT = TESTS | {"echo", "printf", "basename", "dirname"}
"""Programs that are harmless with any operands."""


def variants(words: Words, around: CommandScope) -> Iterator[Words]:
    """Yield the command with each value of its variables, one for each match of a loop's glob. Raises Doubt.

    Words with an unknown value stay `Open`.
    """
    opened = [word for word in words if isinstance(word, Open)]
    if not opened:
        yield words
        return
    globs = {
        part.name: part.glob
        for word in opened
        for part in word.parts
        if isinstance(part, Value) and part.glob
    }
    try:
        matches = [expand(glob, around.cwd) or [str(glob)] for glob in globs.values()]
    except TooMany:
        raise Doubt("its loop has too many files") from None
    for count, chosen in enumerate(product(*matches)):
        if count >= _MAX_VALUES:
            raise Doubt("its loop has too many files")
        known = {**dict(zip(globs, chosen, strict=True)), "HOME": str(around.home), "PWD": str(around.cwd)}
        known |= {"<(": "/dev/null"}
        yield _with(words, known | ({"HEAD": "HEAD"} if words[0] == "git" else {}))
        if words[0] == "git" and any(part.name == "HEAD" for word in opened for part in _parts(word)):
            yield _with(words, {**known, "HEAD": ""})  # the commands that print the revision may fail


def _with(words: Words, known: dict[str, str]) -> Words:
    """Return the command with its values. As in bash, a word of empty values is dropped."""
    filled = ((word, _filled(word, known) if isinstance(word, Open) else word) for word in words)
    return tuple(text for word, text in filled if text or word is text or any(p.quoted for p in _parts(word)))


def _filled(word: Open, known: dict[str, str]) -> str:
    """Return the word with its values, or unchanged if one is not known."""
    texts = []
    for part in word.parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if part.name not in known:
            return word
        value = known[part.name]
        if value and not part.quoted and not PLAIN.fullmatch(value):
            raise Doubt(f"the value {value!r} would be split or expanded without quotes")
        if value.startswith("-") and not "".join(texts):
            raise Doubt(f"the value {value!r} looks like an option")
        texts.append(value)
    return "".join(texts)


def check_unknown(words: Words) -> None:
    """Raise Doubt if a word with an unknown value stands where it could do more than change text."""
    at = [index for index, word in enumerate(words) if isinstance(word, Open)]
    if not at:
        return
    program = words[0]
    if program not in TAKES_TEXT:
        raise Doubt("it uses a variable or substitution")
    if program == "printf" and (at[0] == 1 or words[1].startswith("-")):
        raise Doubt("its format is not known")
    loose = [words[index] for index in at if any(not part.quoted for part in _parts(words[index]))]
    if program in ("[", "test") and any(isinstance(word, Open) and len(word.parts) > 1 for word in loose):
        raise Doubt("it tests several words")  # one may become `-v a[$(x)]`, which runs x
    parts = [part for word in loose for part in _parts(word) if not part.quoted]
    plain = {"?", "HEAD"} if program in ("[", "test") else {"?", "HEAD", *_NAMES_ONLY}
    if program != "[[" and any(part.name not in plain for part in parts):
        raise Doubt("it uses a variable or substitution without quotes")


_NAMES_ONLY = frozenset(
    {"USER", "LOGNAME", "SHELL", "PATH", "LANG", "TERM", "UID", "EUID", "RANDOM", "SECONDS", "HOSTNAME"}
)


def _parts(word: str) -> Iterator[Value]:
    yield from (part for part in (word.parts if isinstance(word, Open) else ()) if isinstance(part, Value))


_COMPARES = re.compile(r"=|==|!=|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef")


def tested(words: Words) -> tuple[str, ...]:
    """Return the paths that `test`, `[` or `[[` looks at. Raises Doubt unless it is a single plain test."""
    operands = list(words[1:])
    if words[0] != "test" and (not operands or operands.pop() != {"[": "]", "[[": "]]"}[words[0]]):
        raise Doubt(f"`{words[0]}` is not closed")
    while operands[:1] == ["!"]:
        operands = operands[1:]
    match operands:
        case [one] if not one.startswith("-") or isinstance(one, Open):
            return ()
        case ["-n" | "-z", _]:
            return ()
        case ["-f" | "-d" | "-e" | "-r" | "-s" | "-x" | "-L" | "-h" | "-w" | "-k", path] if not isinstance(
            path, Open
        ):
            return (path,)
        case [first, operator, second] if _COMPARES.fullmatch(operator) and not isinstance(operator, Open):
            if operator[0] != "-" or words[0] != "[[":
                return (first, second) if operator in ("-nt", "-ot", "-ef") else ()
            if first.isdigit() and second.isdigit():
                return ()  # `[[ x -eq y ]]` evaluates its operands, which may run a command
    raise Doubt(f"`{words[0]}` may do more than test")
