"""Hostile lines by kind, in every mode, with and without a sandbox: none runs or shows a secret unasked."""

import asyncio
import os
from pathlib import Path

import pytest

from prunecli.safety.permissions.sandboxed import SandboxedCommands
from prunecli.safety.permissions.verdict import Rules
from prunecli.util.errors import ToolError
from tests.agent.judged import Scene, scene
from tests.agent.permissions.test_corpora import EVERYDAY, HOSTILE, HUSKY, committed
from tests.sandbox.confining import boxed, needs_bubblewrap

TABLE = Path(__file__).with_name("hostile_kinds.txt").read_text("utf-8")
KINDS = {
    title: lines.splitlines()
    for title, _, lines in (section.partition("\n") for section in TABLE.split("\n= ")[1:])
}
BARE, OPEN, CLOSED = SandboxedCommands(), SandboxedCommands(True), SandboxedCommands(True, True)
CANARY = "CANARY-51c7"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    here = scene(tmp_path_factory.mktemp("kinds"))
    (here.workspace / ".gitignore").write_text(".env\nout\nkey\nloop\n")
    committed(here, HUSKY)
    return here


def test_there_are_more_than_two_hundred_and_none_is_in_another_corpus() -> None:
    lines = {line for lines in KINDS.values() for line in lines}
    assert len(lines - {*HOSTILE}) >= 200


@pytest.mark.parametrize("rules", [Rules(), EVERYDAY], ids=["no rules", "everyday rules"])
@pytest.mark.parametrize("inside", [BARE, OPEN, CLOSED], ids=["bare", "open sandbox", "closed sandbox"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_line_never_runs_unasked_outside_of_a_closed_sandbox(
    at: Scene, kind: str, inside: SandboxedCommands, rules: Rules
) -> None:
    for line in KINDS[kind]:
        for mode in ("ask", "edits", "plan"):
            verdict = at.bash(line, mode=mode, rules=rules, inside=inside)
            assert at.bash(line, mode=mode, rules=rules, inside=inside, trusted=False).kind == "deny", line
            assert not verdict.granted or (inside == CLOSED and not verdict.may_change_files), (mode, line)
            if inside != CLOSED:
                assert verdict.kind == ("deny" if mode == "plan" else "ask"), (mode, line)
            elif mode == "plan":
                assert verdict.kind == "deny" or not verdict.may_change_files, line


async def test_what_edits_mode_runs_in_a_closed_sandbox_shows_no_secret_and_changes_nothing_outside(
    tmp_path: Path,
) -> None:
    with boxed(tmp_path, needs_bubblewrap()) as box:
        top, outside = Path(box.walls.ground.workspace), box.home / "outside"
        for name in ("src/a.py", "README.md", "package.json"):
            (top / name).parent.mkdir(exist_ok=True)
            (top / name).write_text("{}\n")
        for path in (
            top / ".env",
            top / "deploy/id_rsa",
            top / "deploy/server.pem",
            box.home / ".ssh/id_rsa",
            outside / "x",
        ):
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{CANARY}\n")
        (top / "out").symlink_to(outside)
        (top / "key").symlink_to(box.home / ".ssh/id_rsa")
        here, ran = Scene(top, outside, box.home), 0
        for line in (line for lines in KINDS.values() for line in lines):
            if here.bash(line, mode="edits", inside=CLOSED).kind != "allow":
                continue
            try:
                output = await asyncio.wait_for(box.output("bash", command=line, timeout=5), 60)
                shown = "".join(str(getattr(block, "text", "")) for block in output.content)
            except ToolError as error:
                shown = str(error)
            ran += 1
            assert CANARY not in shown, line
            assert os.listdir(outside) == ["x"], line
            assert (outside / "x").read_text() == f"{CANARY}\n", line
        assert ran > 20
