"""A guide proposes what fits: its next line, or its first one where the work stopped on the way."""

from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.model.messages import ToolUse
from prunecli.runtime.guide import Guide
from tests.scripted import calls, says
from tests.starting import start

LINES = ("tour", "go on", "/cost")


def test_its_lines_come_one_after_the_other(tmp_path: Path) -> None:
    context = start(tmp_path).session.context
    guide = Guide(LINES)
    assert [guide.take(context) for _ in range(4)] == [*LINES, ""]
    assert Guide().next(context) == ""


@pytest.mark.parametrize(("kind", "expected"), [("deny", "tour"), ("once", "go on")])
async def test_after_a_denial_it_begins_again(tmp_path: Path, kind: str, expected: str) -> None:
    async def answer(_: Asked) -> Answer:
        return Answer("deny" if kind == "deny" else "once")

    wanted = ToolUse("toolu_1", "write", {"path": "a.txt", "content": "a"})
    runtime = start(tmp_path, [calls(wanted), says("So I stop here."), says("Sorry.")])
    runtime.asker = answer
    guide = Guide(LINES)
    await runtime.submit(guide.take(runtime.session.context))
    assert guide.next(runtime.session.context) == expected
    await runtime.submit("what happened?")
    assert guide.next(runtime.session.context) == expected, "talking does not change it"
    await runtime.close()


async def test_what_fails_later_does_not_bring_a_finished_guide_back(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(ToolUse("toolu_1", "read", {"path": "none"})), says("No.")])
    guide = Guide(["tour"])
    guide.take(runtime.session.context)
    await runtime.submit("read it")
    assert guide.next(runtime.session.context) == ""
    await runtime.close()
