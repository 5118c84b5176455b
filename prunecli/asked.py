"""What a command line asked for, as a value. Imports nothing: every start waits for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PICKER = "?"
"""`--resume` without a value: the user is to choose a session."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What the command line asked for."""

    prompt: str = ""
    headless: bool = False
    output_format: Literal["text", "json", "stream-json"] = "text"
    input_format: str = "text"
    max_turns: int | None = None
    max_cost: float | None = None
    continue_last: bool = False
    resume: str | None = None
    fork: bool = False
    config_file: Path | None = None
    flags: Mapping[str, str] | None = None
    sets: tuple[str, ...] = ()
    no_session: bool = False
    trust: bool = False
    plain: bool = False
    inline: bool = False
    cwd: Path | None = None
    introduction: str = ""
    """What is said before anything else."""
    guide: tuple[str, ...] = ()
    """What Enter on an empty prompt says, one after the other."""
