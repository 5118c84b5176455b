"""A workspace with things to trip over, and a short way to judge calls in it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prunecli.agent.permissions import Rules, Verdict, judge

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Scene:
    """A workspace in a folder of its own; `outside` lies beside it, `home` is empty."""

    workspace: Path
    outside: Path
    home: Path

    def judge(self, effect: str, tool: str, given: dict[str, Any], **changed: Any) -> Verdict:
        settings: dict[str, Any] = {
            "effect": effect,
            "mode": "ask",
            "rules": Rules(),
            "trusted": True,
            "workspace": self.workspace,
            "cwd": self.workspace,
            "home": self.home,
        }
        return judge(tool_name=tool, given=given, **{**settings, **changed})

    def bash(self, command: str, **changed: Any) -> Verdict:
        return self.judge("run", "bash", {"command": command}, **changed)

    def read(self, path: str, **changed: Any) -> Verdict:
        return self.judge("read", "read", {"path": path}, **changed)

    def edit(self, path: str, **changed: Any) -> Verdict:
        return self.judge("edit", "edit", {"path": path, "old": "a", "new": "b"}, **changed)


def scene(folder: Path) -> Scene:
    """Makes the workspace that the corpora speak of."""
    workspace, outside, home = folder / "ws", folder / "outside", folder / "home"
    for path in (workspace / "src", workspace / "deploy", workspace / ".prunecli", outside, home / ".ssh"):
        path.mkdir(parents=True)
    for name in (
        "src/a.py",
        "src/b.py",
        "README.md",
        "package.json",
        ".env",
        "deploy/server.pem",
        "deploy/id_rsa",
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
