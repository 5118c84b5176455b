"""What runs before an answer changes nothing and shows no secret: hostile lines, run for real, answered with No."""

from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.model.events import ToolResult
from prunecli.model.messages import plain_text
from tests.agent.permissions.test_corpora import EVERYDAY_LINES, HARMLESS, HOSTILE
from tests.proposals.laying import tree
from tests.proposals.recorded import Desk, tried_here
from tests.sandbox.confining import boxed

SECRET = "s3cret-of-a-person"


def filled(home: Path, workspace: Path) -> None:
    for name in ("src/a.py", "README.md", "package.json", "Makefile", "a.txt"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("x\n")
    for path in (
        workspace / ".env",
        workspace / "deploy" / "server.pem",
        home / ".ssh" / "id_rsa",
        home / ".netrc",
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{SECRET}\n")
    (home / "notes").mkdir()
    (home / "notes" / "private.txt").write_text(f"{SECRET}\n")


class Refusing(Desk):
    async def _ask(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return Answer("deny")


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("part", range(8))
async def test_no_hostile_line_changes_anything_or_shows_a_secret_before_an_answer(
    tmp_path: Path, part: int, kind: str
) -> None:
    chosen = tried_here(tmp_path, kind)
    if chosen.kind is None:
        pytest.skip(chosen.why)
    with boxed(tmp_path, chosen) as box:
        filled(box.home, box.context.workspace)
        desk = Refusing(box, tmp_path / "layers", seconds=3.0)
        before = tree(tmp_path / "home")
        for line in HOSTILE[part::8]:
            await desk.run(line)
            assert tree(tmp_path / "home") == before, line
        shown = [plain_text(r.event.content) for r in desk.session.records if isinstance(r.event, ToolResult)]
        assert not [text for text in shown if SECRET in text]
        assert not list((tmp_path / "layers").glob("*"))


@pytest.mark.parametrize(
    "lines", [HARMLESS, [line for _, line in EVERYDAY_LINES]], ids=["harmless", "everyday"]
)
async def test_at_most_one_in_twenty_harmless_lines_asks(tmp_path: Path, lines: list[str]) -> None:
    """Those of every day also write, so they only must not change anything."""
    with boxed(tmp_path, tried_here(tmp_path)) as box:
        filled(box.home, box.context.workspace)
        desk = Refusing(box, tmp_path / "layers", seconds=3.0)
        before, asked = tree(tmp_path / "home"), list[str]()
        for line in lines:
            _, was_asked = await desk.run(line.replace("{workspace}", str(box.context.workspace)))
            asked += [line] * was_asked
        assert tree(tmp_path / "home") == before
        assert lines is not HARMLESS or len(asked) * 20 <= len(lines), asked
