"""A runtime whose user configuration has hooks: what their tests share."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import plain_text
from prunecli.model.notes import notice_parts
from prunecli.model.signals import Notice
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.scripted import Scripted
from tests.starting import start


def group(command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    """A group of one hook, as in settings."""
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


def prints(value: object) -> str:
    """A command that prints an object as JSON."""
    return f"cat <<'END'\n{json.dumps(value)}\nEND"


def special(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


class Hooked:
    """The runtime, and what was said to the user."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.said: list[str] = []
        runtime.session.subscribe(
            lambda event: self.said.append(event.text) if isinstance(event, Notice) else None
        )

    def notices(self) -> list[tuple[str, str]]:
        """The notices to the model, with their titles."""
        events = (record.event for record in self.runtime.session.records)
        found = (notice_parts(event) for event in events if isinstance(event, UserMessage))
        return [parts for parts in found if parts]

    def results(self) -> list[tuple[str, bool]]:
        """The results of calls, with whether they are errors."""
        events = (record.event for record in self.runtime.session.records)
        return [(plain_text(one.content), one.is_error) for one in events if isinstance(one, ToolResult)]


def hooked(
    folder: Path,
    script: Sequence[Scripted] = (),
    hooks: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    *,
    project: Mapping[str, Any] | None = None,
    sets: Sequence[str] = ("permissions.mode=auto",),
    **more: Any,
) -> Hooked:
    """A runtime with hooks in its user's configuration, and in `.claude/settings.json` of its project."""
    own = [f"hooks.{event}={json.dumps(list(groups))}" for event, groups in (hooks or {}).items()]
    if project is not None:
        settings = folder / "work" / ".claude" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(project))
    return Hooked(start(folder, script, sets=(*sets, *own), **more))


async def closed(at: Hooked) -> None:
    """Close the runtime; its log must prove what was sent."""
    path = at.runtime.session.path
    await at.runtime.close()
    assert path is not None
    report = verify_session(path, read_log(path))
    assert report.clean, report.lines
