"""Repairs cut Markdown: the end of a growing text, or the rest of an overlong line."""

import re

BLOCK_START = re.compile(r"[-+*>#=`~|_]|\d{1,9}[.)]")
"""A line start that begins another kind of block."""

_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*$")


def escaped(line: str) -> str:
    """Escape the rest of a cut line so that it does not begin a block."""
    line = line.lstrip(" ")
    if not BLOCK_START.match(line):
        return line
    digits = len(line) - len(line.lstrip("0123456789"))
    return f"{line[:digits]}\\{line[digits:]}"


def mend(text: str) -> str:
    """Close the markup that the last line of a growing text leaves open, so that it is not shown raw."""
    start = text.rfind("\n") + 1
    head, line = text[:start], text[start:]
    closing = ""
    if line.count("`") % 2:
        if line.endswith("`"):
            line = line[:-1]
        else:
            closing = "`"
    elif found := _OPEN_LINK.search(line):
        line = f"{line[: found.start()]}[{found[1]}]()"
    if line.count("**") % 2:
        opened = line.rfind("**") + 2
        if opened == len(line):
            line = line[:-2]
        elif line[opened] != " ":
            line = f"{line}{closing}" if closing else line.rstrip(" *")
            return f"{head}{line}**"
    return f"{head}{line}{closing}"
