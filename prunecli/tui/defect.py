"""Internal errors: one line for the user, the traceback in a file, the session left intact."""

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.util.paths import Places
from prunecli.util.private_file import make_private
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    from prunecli.runtime import Runtime  # imported late: this may be the broken part

EXIT_DEFECT = 70
"""EX_SOFTWARE from sysexits.h."""


def report(error: BaseException, runtime: "Runtime | None", places: Places) -> int:
    """Report an internal error and how to continue on standard error, and return the exit code."""
    path = _written(error, places.data)
    lines = [f"prunecli: internal error: {type(error).__name__}: {error}"]
    if runtime and runtime.session.records and runtime.session.path:
        lines.append("The session is saved. Continue it with: prunecli --continue")
    if path:
        lines.append(f"Details for a bug report: {path}")
    sys.stderr.write("\n".join(map(visible, lines)) + "\n")
    return EXIT_DEFECT


def _written(error: BaseException, folder: Path) -> Path | None:
    now = datetime.now(UTC)
    path = folder / "defects" / f"{now:%Y%m%d-%H%M%S}.txt"
    try:
        make_private(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return None
    return path
