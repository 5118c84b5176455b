"""A proposal made by hand, and the question about it."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any

from prunecli.agent.asking import Answer, Asked
from prunecli.model.messages import ToolUse
from prunecli.model.touches import Touches
from prunecli.safety.proposals.changes import Change
from prunecli.safety.proposals.states import State
from tests.tui.showing_app import Shown

BEFORE = "".join(f"value_{number} = {number}\n" for number in range(12))
TEXTS = {
    "src/gen.py": (BEFORE, BEFORE.replace("= 3", "= 33").replace("= 9", "= 99") + "last = True\n"),
    "tests/out.json": ("", '{"passed": 41}\n'),
    "package.json": ("", '{"scripts": {"test": "pytest"}}\n'),
}


@dataclass(frozen=True)
class Made:
    """What a question needs of a proposal."""

    changes: tuple[Change, ...]
    git: tuple[str, ...] = ("1 commit on main",)

    def content(self, change: Change, most: int, *, new: bool) -> bytes:
        return TEXTS[change.path][new].encode()[:most]


def _state(text: str) -> State:
    return State("file", 0o644, len(text), hashlib.sha256(text.encode()).digest(), (1, 1, 1))


def proposal() -> Any:
    return Made(
        tuple(
            Change("/w", path, _state(old) if old else None, _state(new), controls=path == "package.json")
            for path, (old, new) in TEXTS.items()
        )
    )


def ask(s: Shown, *commands: str, **more: Any) -> "asyncio.Future[Answer]":
    """Ask about commands that ran. The answer comes when a key gives it."""
    call = ToolUse("t1", "bash", {"command": commands[-1]})
    given = {"wall": "bubblewrap, network off", **more}
    return asyncio.ensure_future(
        s.runtime.asker(Asked(call, Touches(runs=commands), "", ("bash(pytest *)",), **given))
    )
