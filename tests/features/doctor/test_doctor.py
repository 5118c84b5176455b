"""/doctor with a number: an entry that the endpoint refuses is left out of all later requests."""

from pathlib import Path

import pytest

from prunecli.commands.command import Say, run_line
from prunecli.model.messages import ToolUse
from prunecli.runtime import Runtime
from prunecli.util.errors import BadRequest
from tests.scripted import Scripted, calls, fails, says
from tests.starting import start


async def refused(folder: Path, refusal: str) -> tuple[Runtime, BadRequest]:
    """A runtime that has read a file, and whose next prompt the endpoint refuses once."""
    script: list[Scripted] = [
        calls(ToolUse("t1", "read", {"path": "poison.txt"}), text="I look."),
        says("Read."),
        fails(BadRequest(refusal)),
        says("Better now."),
    ]
    runtime = start(folder, script)
    (runtime.setup.cwd / "poison.txt").write_text("the poison\n")
    await runtime.submit("read it")
    with pytest.raises(BadRequest) as error:
        await runtime.submit("and now?")
    return runtime, error.value


def seq_of(runtime: Runtime, kind: str) -> int:
    return next(entry.seq for entry in runtime.session.context.entries.values() if entry.kind == kind)


@pytest.mark.parametrize(
    ("place", "kind"),
    [("messages.2", "result"), ("messages.2.content.0", "result"), ("messages.1", "assistant")],
)
async def test_the_error_names_the_way_out_and_the_next_request_is_without_the_entry(
    tmp_path: Path, place: str, kind: str
) -> None:
    """The session is usable again with the second request."""
    runtime, error = await refused(tmp_path, f"{place}: something nobody knows")
    seq = seq_of(runtime, kind)
    assert error.hint == f"/doctor {seq} to leave that content out"
    said = run_line(runtime, f"/doctor {seq}")[0]
    assert isinstance(said, Say)
    assert "Removed entry" in said.text
    assert (await runtime.go_on()).reason == "finished"
    wire = b"".join(block for message in runtime.session.context.messages() for block in message.blocks)
    assert b"the poison" not in wire
    assert b"read it" in wire
    assert b"and now?" in wire


async def test_it_can_be_taken_back(tmp_path: Path) -> None:
    runtime, _ = await refused(tmp_path, "messages.2: something")
    before = runtime.session.context.sha256()
    run_line(runtime, f"/doctor {seq_of(runtime, 'result')}")
    assert runtime.session.context.sha256() != before
    run_line(runtime, "/undo")
    assert runtime.session.context.sha256() == before


@pytest.mark.parametrize("place", ["messages.0", "messages.99", "messages.2.content.7", "tools.3"])
async def test_what_can_not_be_left_out_is_not_offered(tmp_path: Path, place: str) -> None:
    """The user's words always stay."""
    runtime, error = await refused(tmp_path, f"{place}: something nobody knows")
    assert "/doctor" not in error.hint
    said = run_line(runtime, f"/doctor {seq_of(runtime, 'user')}")[0]
    assert isinstance(said, Say)
    assert "was kept" in said.text


async def test_twice_is_said_and_a_number_of_nothing_too(tmp_path: Path) -> None:
    runtime, _ = await refused(tmp_path, "messages.2: something")
    seq = seq_of(runtime, "result")
    run_line(runtime, f"/doctor {seq}")
    for words, answer in ((f"/doctor {seq}", "already removed"), ("/doctor 4711", "not an entry")):
        said = run_line(runtime, words)[0]
        assert isinstance(said, Say)
        assert answer in said.text
