"""The options of a command line as a value. Imports little, because every startup waits for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from prunecli.util.frozen import frozen

PICKER = "?"
"""The value of `--resume` without an id: let the user choose a session."""


@frozen
class Launch:
    """The options of one start."""

    prompt: str = ""
    headless: bool = False
    output_format: Literal["text", "json", "stream-json"] = "text"
    input_format: str = "text"
    max_turns: int | None = None
    max_cost: float | None = None
    continue_last: bool = False
    resume: str | None = None
    fork: bool = False
    session_id: str = ""
    name: str = ""
    append_prompt: str = ""
    append_prompt_file: Path | None = None
    add_dirs: tuple[str, ...] = ()
    json_schema: str = ""
    partial_messages: bool = False
    config_file: Path | None = None
    flags: Mapping[str, str] | None = None
    sets: tuple[str, ...] = ()
    no_session: bool = False
    trust: bool = False
    plain: bool = False
    inline: bool = False
    cwd: Path | None = None
    worktree: str | None = None
    """The name of the worktree to work in, "" for a new one."""
    introduction: str = ""
    """Printed before anything else."""
    guide: tuple[str, ...] = ()
    """Prompts that Enter sends one after the other while the prompt is empty."""
