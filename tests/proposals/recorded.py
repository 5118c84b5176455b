"""How many recorded commands run without a question, by kind: `python -m tests.proposals.recorded [SESSIONS] [-v]`.

Each command of the recorded sessions runs once, in ask mode, in a small repository that is rebuilt from what its
session names and shows, so that paths exist. Every question is answered with Yes. Only calls whose exit status is as
recorded count, and only those whose program is on this machine. Three judgments are compared: without a sandbox, with
one but without proposals, and with both.
"""

import asyncio
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prunecli.agent.asking import Answer, Asked
from prunecli.agent.execute import Executor
from prunecli.agent.gatekeeper import SessionGatekeeper
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SessionStarted, ToolResult
from prunecli.model.messages import ToolUse, plain_text
from prunecli.runtime.workbench import SandboxWorkbench
from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules
from prunecli.safety.sandbox.canary import choose
from prunecli.safety.sandbox.sandbox import Chosen
from prunecli.session.session import Session
from prunecli.tools.bash import ConfinedBash
from prunecli.tools.tool import ToolContext, ToolLimits
from tests.sandbox.confining import Box, boxed
from tests.sessions import SESSIONS

SECONDS = 8.0
_TOOLS = frozenset({"Bash", "bash", "exec", "exec_command", "run_shell_command"})
_IN_SCRIPT = re.compile(r"""cmd\s*:\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)""")
_STATUS = re.compile(r'(?:Exit [Cc]ode:?|exited with code|"exit_code\\?":)\s*(-?\d+)')
_PATH = re.compile(r"(?<![\w/.~$*{-])((?:[\w@+.-]+/)+[\w@+.-]*|[\w@+-][\w@+.-]*\.[a-z]{1,5})(?![\w/*{])")
_MATCH = re.compile(r"^([\w@+./-]+\.\w+):(\d+):(.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)[:\t](.*)$", re.MULTILINE)
_PAGE = re.compile(r"sed -n ['\"]?(\d+),(\d+)p['\"]? ([\w@+./-]+)")
_WRAPPER = re.compile(r"^(?:cd \S+ *(?:&&|;) *|\w+=\S+ +|timeout \S+ +|set -\w+;? *)*")


@dataclass
class Recorded:
    command: str
    output: str
    status: int | None
    """The exit status; None if only known to be a failure."""


@dataclass
class Scene:
    """What one session says about its repository."""

    cwd: str
    calls: list[Recorded] = field(default_factory=list)
    files: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    folders: set[str] = field(default_factory=set)


def scene_of(path: Path) -> Scene:
    head, *lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    scene, open_calls = Scene(head["cwd"] or "/nowhere"), dict[str, Any]()
    for message in lines:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_use":
                open_calls[block["id"]] = block
            elif block.get("type") == "tool_result" and (call := open_calls.get(block["tool_use_id"])):
                _take(scene, call, block)
    return scene


def _take(scene: Scene, call: dict[str, Any], result: dict[str, Any]) -> None:
    content = result["content"]
    text = content if isinstance(content, str) else "\n".join(str(one.get("text", "")) for one in content)
    given = call["input"]
    if call["name"] in _TOOLS:
        found = _STATUS.findall(text)
        status = int(found[-1]) if found else None if result.get("is_error") else 0
        for command in _commands(given):
            scene.calls.append(Recorded(command, text, status))
            _show(scene, command, text)
        return
    named = given.get("file_path") or given.get("filePath") or given.get("path")
    if isinstance(named, str) and (name := _inside(scene, named)):
        for number, line in _NUMBERED.findall(text.replace("→", "\t").replace("     ", "")):
            scene.files[name].setdefault(int(number), line)
        scene.files[name].setdefault(1, "first")


def _commands(given: dict[str, Any]) -> Iterator[str]:
    command = given.get("command") or given.get("cmd")
    if isinstance(command, str):
        yield command
    for quoted in _IN_SCRIPT.findall(str(given.get("input", ""))):
        text = quoted[1:-1]
        yield (
            json.loads(f'"{text}"', strict=False)
            if quoted[0] == '"'
            else text.replace("\\" + quoted[0], quoted[0])
        )


def _inside(scene: Scene, path: str) -> str:
    """The path below the session's folder, "" for another."""
    path = path.removeprefix(f"{scene.cwd}/").removeprefix("./")
    return "" if path.startswith(("/", "~", "..", "-")) or ".." in path.split("/") or ".git" in path else path


def _show(scene: Scene, command: str, output: str) -> None:
    """Learn paths from a command, and lines of files from its output."""
    local = command.replace(f"{scene.cwd}/", "")
    for word in _PATH.findall(local):
        if "://" not in local[max(0, local.find(word) - 8) : local.find(word)] and (
            name := _inside(scene, word)
        ):
            leaf = name.rstrip("/").rpartition("/")[2]
            if "." in leaf.strip("."):
                scene.files[name].setdefault(1, "first")
            else:
                scene.folders.add(name.rstrip("/"))
    for name, number, line in _MATCH.findall(output):
        if inside := _inside(scene, name):
            scene.files[inside][int(number)] = line
    named = [name for word in _PATH.findall(local) if (name := _inside(scene, word)) in scene.files]
    if re.match(r"(?:cd \S+ && )?(?:rg|grep)\b", local) and len(set(named)) == 1:
        for number, line in _NUMBERED.findall(output):
            scene.files[named[0]][int(number)] = line
    if found := _PAGE.search(local):
        shown = output.partition("Output:\n")[2] or output
        for number, line in enumerate(shown.split("\n")[: int(found[2]) - int(found[1]) + 1], int(found[1])):
            if name := _inside(scene, found[3]):
                scene.files[name].setdefault(number, line)


def rebuild(scene: Scene, root: Path, home: Path) -> None:
    """Make a small repository with a base on main, a change on a branch, and the session's paths."""
    (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@b.example\n[init]\ndefaultBranch = main\n")
    for name in sorted(scene.folders):
        try:
            (root / name).mkdir(parents=True, exist_ok=True)
            (root / name / "kept.txt").write_text("first\n")
        except OSError:
            pass  # a file and a folder of one name: the first wins
    for name, lines in sorted(scene.files.items()):
        last = min(max(lines, default=1), 20_000)
        text = "\n".join(lines.get(number, "") for number in range(1, last + 1))
        try:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        except OSError:
            pass
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    for line in ("init -q", "add -A", "commit -qm base", "checkout -qb work"):
        subprocess.run(["git", *line.split()], cwd=root, env=env, check=False, capture_output=True)
    (root / "changed.txt").write_text("changed\n")
    for line in ("add changed.txt", "commit -qm work", "update-ref refs/remotes/origin/main main"):
        subprocess.run(["git", *line.split()], cwd=root, env=env, check=False, capture_output=True)
    (root / "open.txt").write_text("open\n")


@dataclass
class Tally:
    """Calls with their recorded status, and those that needed no question, by kind: in each judgment."""

    calls: Counter[str] = field(default_factory=Counter)
    bare: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    proposed: Counter[str] = field(default_factory=Counter)
    all: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def share(self, some: Counter[str]) -> float:
        return 100 * some.total() / max(1, self.calls.total())

    def lines(self) -> Iterator[str]:
        yield f"{self.all} calls, {self.calls.total()} with their recorded exit status. Without a question, in %:"
        yield f"{'':16}{'calls':>7}{'no sandbox':>12}{'sandbox':>9}{'proposals':>11}"
        for kind, count in self.calls.most_common():
            shares = (100 * one[kind] / count for one in (self.bare, self.inside, self.proposed))
            yield f"{kind:16}{count:7}{next(shares):12.0f}{next(shares):9.0f}{next(shares):11.0f}"
        shares = map(self.share, (self.bare, self.inside, self.proposed))
        yield f"{'all':16}{self.calls.total():7}{next(shares):12.1f}{next(shares):9.1f}{next(shares):11.1f}"


class Desk:
    """An executor in ask mode whose questions are counted and answered with Yes."""

    def __init__(self, box: Box, layers: Path, *, seconds: float = SECONDS) -> None:
        self.box, self.asked, self.seconds = box, list[Asked](), seconds
        self.session = Session(
            SessionStarted("t", str(box.context.workspace), "m"), Context(Chars4()), path=None
        )
        workspace = box.context.workspace
        self.inside = SandboxedCommands()
        self.keeper = SessionGatekeeper(
            Rules(), "ask", True, workspace, box.home, asker=self._ask, inside=lambda: self.inside
        )
        self.tool = ConfinedBash()
        bench = SandboxWorkbench(layers, lambda: box.walls)
        self.executor = Executor(
            self.session, {"bash": self.tool}, self._context, self.keeper, workbench=bench
        )
        self._number = 0

    async def _ask(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return Answer("once")

    def _context(self, *, approved: bool, granted: bool, reads: bool) -> ToolContext:
        confine = self.box.walls.confine(granted=granted, reads=reads)
        return replace(
            self.box.context, confine=confine, approved=approved, limits=ToolLimits(100_000, self.seconds)
        )

    def asks(self, command: str, inside: SandboxedCommands) -> bool:
        self.inside = inside
        return self.keeper.judge("bash", self.tool.touches(self.tool.Input(command=command))).kind != "allow"

    async def run(self, command: str) -> tuple[int | None, bool]:
        """Run a command; return its exit status (None without its program), and whether there was a question."""
        self.inside, before = SandboxedCommands(there=True, closed=True, proposes=True), len(self.asked)
        self._number += 1
        await self.executor.execute([ToolUse(f"t{self._number}", "bash", {"command": command})])
        result = next(r.event for r in reversed(self.session.records) if isinstance(r.event, ToolResult))
        status = result.details.get("exit_code")
        if "command not found" in plain_text(result.content):
            status = None
        return status if isinstance(status, int) else None, len(self.asked) > before


def tried_here(folder: Path, only: str = "") -> Chosen:
    """The sandbox of this machine, with overlays if they work below a folder."""
    return choose(str(folder), dict(os.environ), only=only, layers=folder / "layers")


def kind_of(command: str) -> str:
    words = _WRAPPER.sub("", command.strip()).split()
    return words[0].rpartition("/")[2][:15] if words else "?"


async def measure(path: Path, tally: Tally) -> None:
    """Run the commands of one session."""
    scene = scene_of(path)
    if not scene.calls:
        return
    folder = Path(tempfile.mkdtemp(prefix="recorded-"))
    try:
        with boxed(folder, tried_here(folder)) as box:
            root = box.context.workspace
            rebuild(scene, root, box.home)
            desk = Desk(box, folder / "layers")
            for recorded in scene.calls:
                await _count(desk, recorded, recorded.command.replace(scene.cwd, str(root)), tally)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _count(desk: Desk, recorded: Recorded, command: str, tally: Tally) -> None:
    bare, closed = SandboxedCommands(), SandboxedCommands(there=True, closed=True)
    asks = [desk.asks(command, inside) for inside in (bare, closed)]
    status, asked = await desk.run(command)
    tally.all += 1
    same = status == recorded.status if recorded.status is not None else bool(status)
    if status is None or not same:
        return
    kind = kind_of(command)
    tally.calls[kind] += 1
    for counter, was_asked in ((tally.bare, asks[0]), (tally.inside, asks[1]), (tally.proposed, asked)):
        counter[kind] += not was_asked
    if asked:
        tally.asked.append((desk.asked[-1].reason, command))


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "-v"]
    sessions, tally = (
        [path for path in SESSIONS if not words or any(word in path.name for word in words)],
        Tally(),
    )
    for number, path in enumerate(sessions, 1):
        asyncio.run(measure(path, tally))
        print(f"\r{number}/{len(sessions)}", end="", file=sys.stderr, flush=True)
    print(*tally.lines(), sep="\n")
    if "-v" in sys.argv:
        for reason, command in tally.asked:
            print(f"{reason}: {command[:200]!r}")


if __name__ == "__main__":
    main()
