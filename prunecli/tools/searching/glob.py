"""Matches globs: `*`, `?`, `[...]`, `**` between slashes and, in typed globs, `{a,b}`.

Opens no files. The search process imports this module too, so it imports only fast modules.
"""

import re

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class PathGlob:
    """A glob from the user or the model: without a slash it matches names, otherwise whole paths.

    A leading `!` negates it.
    """

    __slots__ = ("_about_names", "_negated", "_pattern")

    def __init__(self, glob: str) -> None:
        self._negated = glob.startswith("!")
        glob = glob.removeprefix("!").removeprefix("./")
        self._about_names = "/" not in glob.rstrip("/")
        self._pattern = re.compile(regex_of(glob.strip("/"), braces=True), re.DOTALL)

    def matches(self, path: str) -> bool:
        """Return whether the glob matches a path, relative to the start of the search and without a slash at the
        end."""
        subject = path.rpartition("/")[2] if self._about_names else path
        return (self._pattern.fullmatch(subject) is not None) != self._negated


def regex_of(glob: str, *, braces: bool) -> str:
    """Return the regular expression whose full matches are those of the glob."""
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
            parts.append("(?:")
        elif braces and char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        else:
            parts.append(re.escape(char))
        at += 1
    if depth:  # the apparent closing brace was inside brackets
        return regex_of(glob, braces=False)
    return "".join(parts)


def _stars(glob: str, at: int, end: int) -> tuple[str, int]:
    """Translate one or more stars. Two or more that make up a whole component match across slashes."""
    begins = at == 0 or glob[at - 1] == "/"
    if end - at >= 2 and begins and glob[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    if end - at >= 2 and begins and end == len(glob):
        return ".*" if at == 0 else ".+", end
    return "[^/]*", end


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """Translate a set of characters, which never includes the slash. An unclosed bracket is a plain character."""
    start = at + 1
    negated = glob[start : start + 1] in ("!", "^")
    start += negated
    items, here = list[str](), start
    while here < len(glob) and (glob[here] != "]" or here == start):
        if glob.startswith("[:", here) and (close := glob.find(":]", here)) > 0:
            items.append(_POSIX.get(glob[here + 2 : close], ""))
            here = close + 2
        elif glob[here] == "\\" and here + 1 < len(glob):
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
