"""Images and PDF files dropped on the terminal, which pastes their paths quoted, escaped or as file:// addresses."""

import os
import shlex
from typing import TYPE_CHECKING

from prunecli.tools.files.media import is_media_name
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from urllib import parse
else:
    parse = lazy("urllib.parse")

MAX_CHARS = 8_000
_FILE = "file://"


def as_mentions(text: str, cwd: str) -> str | None:
    """Return the mentions for a paste that contains only paths of images and PDF files; None for any other paste."""
    if len(text) > MAX_CHARS or not text.strip() or "\0" in text:
        return None
    paths = next((found for found in _readings(text.strip()) if found and all(map(_is_one, found))), None)
    return None if paths is None else "".join(f"{_mention(path, cwd)} " for path in paths)


def _readings(text: str) -> list[list[str]]:
    lines = [_plain(line.strip()) for line in text.splitlines() if line.strip()]
    try:
        words = [_plain(word) for word in shlex.split(text)]
    except ValueError:
        words = []
    return [lines, words]


def _plain(path: str) -> str:
    if not path.startswith(_FILE):
        return os.path.expanduser(path)

    return parse.unquote("/" + path.removeprefix(_FILE).partition("/")[2])


def _is_one(path: str) -> bool:
    if not os.path.isabs(path) or '"' in path or "\n" in path or not is_media_name(path):
        return False
    return os.path.isfile(path)


def _mention(path: str, cwd: str) -> str:
    shown = os.path.relpath(path, cwd) if path.startswith(os.path.join(cwd, "")) else path
    return f'@"{shown}"' if any(character.isspace() for character in shown) else f"@{shown}"
