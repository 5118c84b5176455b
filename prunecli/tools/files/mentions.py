"""The files and folders that a prompt mentions as `@path`, `@"path with spaces"` or `@file#L10-40`."""

import os
import re
from typing import NamedTuple

from prunecli.tools.files.workspace import on_disk, seen_from

MAX_MENTIONS = 50
"""Maximum attachments of one prompt."""

_MENTION = re.compile(
    r"""(?:^|(?<=[\s(\[{"'`,]))@(?:"([^"\n]+)(?:"|$)(#L?\d+(?:-L?\d+)?)?|([^\s@"][^\s"]*))""", re.MULTILINE
)
_LINES = re.compile(r"#L?(\d{1,9})(?:-L?(\d{1,9}))?$")
_AFTER = ".,;:!?)]}'`"


class Mention(NamedTuple):
    """An existing path as written, and the requested lines; 0 and 0 for all of it."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def label(self) -> str:
        return f"{self.path} {self.first}-{self.last}" if self.first else self.path


def mentions(text: str, cwd: str) -> list[Mention]:
    """Return the existing paths that a prompt mentions, each once, in order. Other mentions are plain text."""
    if "@" not in text:
        return []
    found = (_existing(match[1] or match[3], match[2] or "", cwd) for match in _MENTION.finditer(text))
    return list(dict.fromkeys(filter(None, found)))


def _existing(written: str, suffix: str, cwd: str) -> Mention | None:
    """Return the mention if its path exists as written, without the lines, or without punctuation after it."""
    forms = dict.fromkeys((written, written.rstrip(_AFTER))) if not suffix else (f"{written}{suffix}",)
    for form in forms:
        if form.strip("/") and (there := _on_disk(form, cwd)):
            return Mention(there)
        lines = _LINES.search(form)
        path = form[: lines.start()] if lines else ""
        if lines and path and (there := _on_disk(path, cwd)):
            first = max(1, int(lines[1]))
            return Mention(there, first, max(first, int(lines[2] or first)))
    return None


def _on_disk(path: str, cwd: str) -> str:
    """Return the path, with its names as the disk has them; "" if there is none."""
    whole = os.path.join(cwd, os.path.expanduser(path))
    try:
        found = on_disk(whole)
        return "" if not os.path.exists(found) else path if found == whole else seen_from(found, cwd)
    except ValueError:
        return ""
