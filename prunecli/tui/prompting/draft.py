"""What is typed and not sent yet, kept in a file, so that a crash does not lose it.

Imported before the first frame: what only reading and writing needs is imported there.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

NO_PASTES: Mapping[int, str] = MappingProxyType({})


class Draft(NamedTuple):
    """The text of the prompt with its marks, and the pastes that these stand for."""

    text: str = ""
    pastes: Mapping[int, str] = NO_PASTES


def path_of(history: Path, cwd: Path) -> Path:
    """Where the draft of a directory lies: beside the history."""
    from prunecli.paths import slug

    return history.with_name("drafts") / f"{slug(cwd)}.json"


def save(path: Path, draft: Draft) -> None:
    """Keeps a draft, or removes it where it is blank. What is there is replaced whole. Raises OSError."""
    if not draft.text.strip():
        path.unlink(missing_ok=True)
        return
    import json

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = path.with_suffix(f".{os.getpid()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    data = json.dumps({"text": draft.text, "pastes": {str(n): text for n, text in draft.pastes.items()}})
    with open(os.open(kept, flags, 0o600), "w", encoding="ascii") as file:
        file.write(data)
    kept.replace(path)


def load(path: Path) -> Draft:
    """The kept draft; an empty one where there is none or it can't be read."""
    import json

    try:
        found = json.loads(path.read_bytes())
        pastes = {int(number): str(text) for number, text in found["pastes"].items()}
        return Draft(str(found["text"]), pastes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Draft()
