"""Sessions on a model that binds its thinking: what the tests of pruning and recovery there share."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied, PrunReverted, ToolResult
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.launch_options import Launch
from tests.endpoint import Call, Endpoint, Reply, Thinking
from tests.wires import over_wires

OPUS = "claude-opus-5-5"
KEY = "sk-ant-test-0000000000"


def step(number: int) -> Reply:
    """One answer of a tool loop: thinking, words and a read."""
    return Reply(
        [Thinking(f"I should look at {number}."), f"Step {number}.", Call("read", {"path": f"{number}.txt"})]
    )


def turn(*numbers: int) -> list[Reply]:
    """A user turn: so many steps, and a last answer with thinking."""
    return [*map(step, numbers), Reply([Thinking("That is all."), "Done."])]


def project(folder: Path) -> Path:
    """Files to read, 40 lines each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"line of file {number}\n" * 40)
    return folder


def environment(tmp_path: Path, endpoint: Endpoint, key: str = KEY) -> dict[str, str]:
    return {
        "HOME": str(tmp_path / "home"),
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": key,
        "ANTHROPIC_BASE_URL": endpoint.base_url,
    }


@asynccontextmanager
async def session(
    tmp_path: Path, endpoint: Endpoint, *sets: str, model: str = OPUS, key: str = KEY, **more: Any
) -> AsyncIterator[Runtime]:
    """A runtime in its project; afterwards its log must verify."""
    cwd = project(tmp_path / "project")
    quiet = (
        "pruning.enabled=false",
        "model.thinking=2000",
        "compaction.keep_first_turns=0",
        "compaction.keep_recent_turns=1",
        *sets,
    )
    asked = Launch(headless=True, trust=True, cwd=cwd, sets=quiet, flags={"--model": model}, **more)
    runtime = make_runtime(asked, environment(tmp_path, endpoint, key))
    over_wires(runtime.connections)
    try:
        yield runtime
    finally:
        await runtime.close()
    assert runtime.session.path is not None
    report = verify_session(runtime.session.path, read_log(runtime.session.path))
    assert report.clean, report.lines


def answers(runtime: Runtime) -> list[AssistantMessage]:
    """All responses so far."""
    events = (record.event for record in runtime.session.records)
    return [event for event in events if isinstance(event, AssistantMessage)]


def results(runtime: Runtime) -> list[int]:
    """The seqs of all tool results."""
    return [record.seq for record in runtime.session.records if isinstance(record.event, ToolResult)]


def clear(runtime: Runtime, seq: int) -> int:
    """Prunes one result by hand; the seq of the prune."""
    from prunecli.context.ledger import prun_applied

    event = runtime.session.context.entries[seq].event
    assert isinstance(event, ToolResult)
    edit = Edit("clear", seq, event.tool_use_id, "[pruned]")
    view = runtime.policy.view(runtime.session.context)
    return runtime.emit(prun_applied(view, "user", [edit], reason="by hand")).seq


def undo(runtime: Runtime, prune: int) -> None:
    """Takes a prune back."""
    runtime.emit(PrunReverted((prune,)))


def strips(runtime: Runtime) -> list[list[int]]:
    """The answers whose thinking each prune left out."""
    events = (record.event for record in runtime.session.records)
    prunes = [event for event in events if isinstance(event, PrunApplied)]
    found = [[edit.seq for edit in event.edits if edit.kind == "strip"] for event in prunes]
    return [seqs for seqs in found if seqs]


def dropped(endpoint: Endpoint) -> list[int]:
    """How many thinking blocks the endpoint dropped from each request that it took."""
    return [len(request.dropped) for request in endpoint.requests if request.refusal is None]


def predicted(told: Iterable[object]) -> list[int]:
    """How many blocks each notice of a compaction said that it drops."""
    found = (re.match(r"In the turns that stay, this drops (\d+) thinking block", str(one)) for one in told)
    return [int(one[1]) for one in found if one]
