"""Matches globs: `*`, `?`, `[...]`, `**` between slashes and, in typed globs, `{a,b}`.

Opens no files. The search for lines imports this module too, so it imports only fast modules.
"""

import re
from collections.abc import Sequence
from unicodedata import normalize

MAX_WORDS = 256
"""Maximum globs that the braces of one may stand for."""
_STAR = "[^/]*"
_FOLDERS = "(?:[^/]*/)*"
_OPEN, _OR, _CLOSE = "(?:", "|", ")"


class PathGlob:
    """A glob from the user or the model: without a slash it matches names, otherwise whole paths.

    A leading `!` negates it. Unicode normalization makes no difference. Raises ValueError if its braces stand for
    too many globs.
    """

    __slots__ = ("_about_names", "_negated", "_pattern")

    def __init__(self, glob: str) -> None:
        self._negated = glob.startswith("!")
        glob = glob.removeprefix("!").removeprefix("./")
        self._about_names = "/" not in glob.rstrip("/")
        self._pattern = re.compile(regex_of(_composed(glob.strip("/")), braces=True), re.DOTALL)

    def matches(self, path: str) -> bool:
        """Return whether the glob matches a path, relative to the start of the search and without a slash at the
        end."""
        subject = path.rpartition("/")[2] if self._about_names else path
        return (self._pattern.fullmatch(_composed(subject)) is not None) != self._negated


def _composed(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


def without_backtracking(parts: Sequence[str], star: str) -> str:
    """Join the parts of a glob to a regular expression that takes no longer than one star would.

    Between two stars, the first place that matches is as good as any later one, so an atomic group keeps it. Each
    part between two stars must match only one length, or whole components. `star` is a part that ends in `*`.
    """
    pieces = [""]
    for part in parts:
        if part == star:
            pieces.append("")
        else:
            pieces[-1] += part
    first, *between = pieces
    if not between:
        return first
    return first + "".join(f"(?>{star}?{piece})" for piece in between[:-1]) + star + between[-1]


def regex_of(glob: str, *, braces: bool) -> str:
    """Return the regular expression whose full matches are those of the glob. Raises ValueError."""
    parts, at, depth = list[str](), 0, 0
    braces = braces and _balanced(glob)
    while at < len(glob):
        char = glob[at]
        if char == "*":
            end = at
            while end < len(glob) and glob[end] == "*":
                end += 1
            part, at = _stars(glob, at, end)
            parts.append(part)
            continue
        if char == "[":
            part, at = _bracket(glob, at)
            parts.append(part)
            continue
        if char == "\\" and at + 1 < len(glob):
            at += 1
            parts.append(re.escape(glob[at]))
        elif char == "?":
            parts.append("[^/]")
        elif braces and char == "{":
            depth += 1
            parts.append(_OPEN)
        elif braces and char == "}" and depth:
            depth -= 1
            parts.append(_CLOSE)
        elif char == "," and depth:
            parts.append(_OR)
        else:
            parts.append(re.escape(char))
        at += 1
    if depth:  # the apparent closing brace was inside brackets
        return regex_of(glob, braces=False)
    return "|".join(map(_joined, _words(parts)))


def _joined(parts: Sequence[str]) -> str:
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == _FOLDERS:
            runs.append([])
        else:
            runs[-1].append(part)
    joined = [without_backtracking(run, _STAR) for run in runs]
    return without_backtracking([one for run in joined for one in (_FOLDERS, run)][1:], _FOLDERS)


def _words(parts: list[str]) -> list[list[str]]:
    """Return the parts once for each choice of what braces offer."""
    words = [parts]
    while _CLOSE in words[0]:
        chosen = list[list[str]]()
        for word in words:
            end = word.index(_CLOSE)
            start = max(at for at in range(end) if word[at] == _OPEN)
            choices: list[list[str]] = [[]]
            for part in word[start + 1 : end]:
                if part == _OR:
                    choices.append([])
                else:
                    choices[-1].append(part)
            chosen += [[*word[:start], *choice, *word[end + 1 :]] for choice in choices]
        if len(chosen) > MAX_WORDS:
            raise ValueError(f"The glob's braces stand for more than {MAX_WORDS} globs. Use fewer.")
        words = chosen
    return words


def _stars(glob: str, at: int, end: int) -> tuple[str, int]:
    """Translate one or more stars. Two or more that make up a whole component match across slashes."""
    begins = at == 0 or glob[at - 1] == "/"
    if end - at >= 2 and begins and glob[end : end + 1] == "/":
        return _FOLDERS, end + 1
    if end - at >= 2 and begins and end == len(glob):
        return ".*" if at == 0 else ".+", end
    return _STAR, end


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """Translate a set of characters, which never includes the slash. An unclosed bracket is a plain character."""
    start = at + 1
    negated = glob[start : start + 1] in ("!", "^")
    start += negated
    items, here = list[str](), start
    while here < len(glob) and (glob[here] != "]" or here == start):
        if glob[here] == "\\" and here + 1 < len(glob):
            items.append(re.escape(glob[here + 1]))
            here += 2
        else:
            items.append("-" if glob[here] == "-" and _is_range(glob, here, start) else re.escape(glob[here]))
            here += 1
    if here >= len(glob):
        return re.escape("["), at + 1
    members = "".join(items)
    try:
        re.compile(f"[{members}]")
    except re.error:
        return "(?!)", here + 1  # a range that runs backwards matches nothing
    return f"(?!/)[{'^' if negated else ''}{members}]", here + 1


def _is_range(glob: str, here: int, start: int) -> bool:
    return start < here and glob[here + 1 : here + 2] not in ("", "]")


def _balanced(glob: str) -> bool:
    depth, skip = 0, False
    for char in glob:
        if skip:
            skip = False
            continue
        skip = char == "\\"
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0
