"""How Markdown that was cut is made whole: the end of a growing text, the rest of a line that was too long."""

import re

BLOCK_START = re.compile(r"[-+*>#=`~|_]|\d{1,9}[.)]")
"""What a line that begins a block of another kind begins with."""

_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*$")


def escaped(line: str) -> str:
    """The rest of a line that was cut, so that its beginning is not taken for the beginning of a block."""
    line = line.lstrip(" ")
    if not BLOCK_START.match(line):
        return line
    digits = len(line) - len(line.lstrip("0123456789"))
    return f"{line[:digits]}\\{line[digits:]}"


def mend(text: str) -> str:
    """Closes what the last line of a growing text leaves open, so that it is not shown raw until its end comes."""
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
