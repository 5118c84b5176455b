"""A workspace with things to trip over, and a short way to judge calls in it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prunecli.model.touches import Touches
from prunecli.safety.permissions.judge import judge
from prunecli.safety.permissions.verdict import Rules, Verdict
from prunecli.tools.inputs import not_read as keys_not_read
from prunecli.tools.inputs import parse, schema
from prunecli.tools.registry import load, names
from prunecli.tools.tool import touches_of

HERE = Path(__file__).parent
TOOLS = names()


@dataclass(frozen=True)
class Scene:
    """A workspace in a folder of its own; `outside` lies beside it, `home` is empty."""

    workspace: Path
    outside: Path
    home: Path

    def judge(self, tool: str, given: dict[str, Any], **changed: Any) -> Verdict:
        """Judges a call of a tool of the program, or of one that declares nothing."""
        if tool not in TOOLS:
            return self.judge_touches(tool, None, **changed)
        not_read = keys_not_read(load(tool).Input, given)
        return self.judge_touches(tool, declared(tool, given), not_read=not_read, **changed)

    def judge_touches(self, tool: str, touches: Touches | None, **changed: Any) -> Verdict:
        settings: dict[str, Any] = {
            "mode": "ask",
            "rules": Rules(),
            "trusted": True,
            "workspace": self.workspace,
            "cwd": self.workspace,
            "home": self.home,
        }
        return judge(tool, touches, **{**settings, **changed})

    def bash(self, command: str, **changed: Any) -> Verdict:
        return self.judge("bash", {"command": command}, **changed)

    def read(self, path: str, **changed: Any) -> Verdict:
        return self.judge("read", {"path": path}, **changed)

    def edit(self, path: str, **changed: Any) -> Verdict:
        return self.judge("edit", {"path": path}, **changed)


def declared(tool: str, given: dict[str, Any]) -> Touches | None:
    """What a tool of the program declares of a call; texts that are not given are empty."""
    one = load(tool)
    missing = {key: "" for key in schema(one.Input)["required"] if key not in ("tokens", "entry")}
    return touches_of(one, parse(one.Input, {**missing, **given}))


def scene(folder: Path) -> Scene:
    """Makes the workspace that the corpora speak of."""
    workspace, outside, home = folder / "ws", folder / "outside", folder / "home"
    for path in (workspace / "src", workspace / "deploy", workspace / ".prunecli", outside, home / ".ssh"):
        path.mkdir(parents=True)
    for name in (
        *("src/a.py", "src/b.py", "README.md", "package.json", ".env", "deploy/server.pem", "deploy/id_rsa"),
    ):
        (workspace / name).write_text("{}\n")
    (outside / "x").write_text("outside\n")
    (home / ".ssh" / "id_rsa").write_text("key\n")
    os.symlink(outside, workspace / "out")
    os.symlink(home / ".ssh" / "id_rsa", workspace / "key")
    os.symlink("loop", workspace / "loop")
    return Scene(workspace, outside, home)


def corpus(name: str) -> list[str]:
    """The lines of a corpus; one that starts with @ is a JSON string."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and (not line.startswith("# ") and line != "#")]
    return [json.loads(line[1:]) if line.startswith("@") else line for line in kept]
