"""A whole session through the strict endpoint, which accepts every request; killed and resumed it goes on."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.events import PrunApplied, ToolResult
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.launch_options import Launch
from tests import preloaded
from tests.e2e.twenty_turns import PRUNING, project, replies
from tests.endpoint import Call, Endpoint, Reply, Rules, Stall, serve
from tests.waiting import until
from tests.wires import over_wires

DEADLINE = 60


def environment(tmp_path: Path, base_url: str) -> dict[str, str]:
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": "sk-ant-test-0000000000",
        "ANTHROPIC_BASE_URL": base_url,
        "PRUNECLI_SANDBOX": "off",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


UNBOUND = "model.name=claude-opus-5"
"""A model whose thinking is not bound, so that strategies prune inside a tool round too."""


def runtime_for(tmp_path: Path, endpoint: Endpoint, **more: Any) -> Runtime:
    cwd = project(tmp_path / "project")
    asked = Launch(
        headless=True,
        trust=True,
        cwd=cwd,
        sets=(*PRUNING, UNBOUND),
        flags={"--permission-mode": "auto"},
        **more,
    )
    runtime = make_runtime(asked, environment(tmp_path, endpoint.base_url))
    over_wires(runtime.connections)
    return runtime


async def test_a_session_of_twenty_turns_is_accepted_request_by_request(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    async with Endpoint(replies(f"touch {marker}; sleep 60")) as endpoint:
        runtime = runtime_for(tmp_path, endpoint)
        running = asyncio.ensure_future(runtime.submit("fix total in parser.py"))
        await endpoint.request_arrived(4)
        runtime.steer("and keep it small")
        await until(marker.exists, within=DEADLINE)
        runtime.interrupt()
        assert (await running).reason == "interrupted"
        done = await runtime.submit("go on please")
        assert done.reason == "finished", done.note
        await runtime.close()
        assert [refused.refusal for refused in endpoint.rejected] == []
        assert len(endpoint.requests) == 20
        assert endpoint.cache_hits() >= 0.98
    assert runtime.session.path is not None
    records = read_log(runtime.session.path).records
    prunes = [r.event for r in records if isinstance(r.event, PrunApplied)]
    assert {prune.source for prune in prunes} == {"model", "strategy"}
    results = {r.event.tool_use_id: r.event for r in records if isinstance(r.event, ToolResult)}
    failed = [result for result in results.values() if result.is_error]
    assert [result.tool_name for result in failed] == ["bash", "bash", "nothing", "read"]
    assert (tmp_path / "project" / "parser.py").read_text().endswith("sum(parse(text))\n")
    report = verify_session(runtime.session.path, read_log(runtime.session.path))
    assert report.clean, report.lines


WORDS = ["-p", "--trust", "--permission-mode", "auto", *(word for one in PRUNING for word in ("--set", one))]


@contextmanager
def killed_later(tmp_path: Path, base_url: str, prompt: str) -> Iterator[None]:
    """A run that is killed when the body has waited for its moment."""
    with open(os.devnull, "r+b") as nowhere:
        process = preloaded.start(
            [*WORDS, prompt],
            cwd=tmp_path / "project",
            env=environment(tmp_path, base_url),
            streams=(nowhere.fileno(),) * 3,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait(DEADLINE)


def resume(tmp_path: Path, base_url: str, *words: str) -> "subprocess.CompletedProcess[str]":
    line = [*WORDS, "-c", *words]
    return preloaded.run(
        line, cwd=tmp_path / "project", env=environment(tmp_path, base_url), timeout=DEADLINE
    )


@pytest.mark.parametrize("at", [9, *(pytest.param(at, marks=pytest.mark.long) for at in (2, 14))])
def test_killed_in_the_middle_and_resumed_it_sends_the_same_bytes(tmp_path: Path, at: int) -> None:
    project(tmp_path / "project")
    script = replies()
    script[at] = Reply(script[at].content, faults=Stall(after=0))
    script.insert(at + 1, Reply(script[at].content))
    with serve(script) as endpoint:
        with killed_later(tmp_path, endpoint.base_url, "fix total in parser.py"):
            endpoint.blocking(endpoint.stall_reached())
        resumed = resume(tmp_path, endpoint.base_url, "--output-format", "json")
        assert resumed.returncode == 0, resumed.stderr
        assert json.loads(resumed.stdout)["result"].startswith("Fixed")
        assert [refused.refusal for refused in endpoint.rejected] == []
        assert endpoint.requests[at].body == endpoint.requests[at + 1].body
    log = next((tmp_path / "data" / "sessions").rglob("*.jsonl"))
    report = verify_session(log, read_log(log))
    assert report.clean, report.lines


def test_killed_in_a_tool_it_is_never_run_again(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    script = [
        Reply([Call("bash", {"command": "echo once >> ran.txt; echo up > up.txt; sleep 60"})]),
        Reply("Ok."),
    ]
    with serve(script) as endpoint:
        with killed_later(tmp_path, endpoint.base_url, "go"):
            endpoint.blocking(until((folder / "up.txt").exists, within=DEADLINE))
        resumed = resume(tmp_path, endpoint.base_url)
        assert (resumed.returncode, resumed.stdout) == (0, "Ok.\n"), resumed.stderr
        assert [refused.refusal for refused in endpoint.rejected] == []
        assert b"interrupted" in endpoint.requests[1].body
    assert (folder / "ran.txt").read_text() == "once\n"


async def test_a_session_that_outgrows_its_window_is_pruned_before_the_endpoint_has_to_refuse(
    tmp_path: Path,
) -> None:
    window = 20_000
    reads = [Reply([Call("read", {"path": "notes.md", "limit": 300 + n})]) for n in range(14)]
    async with Endpoint([*reads, Reply("Enough.")], rules=Rules(window=window)) as endpoint:
        cwd = project(tmp_path / "project")
        sets = (
            f"models.claude-sonnet-5-5.context_window={window}",
            "model.max_tokens=2000",
            "compaction.enabled=false",
        )
        asked = Launch(headless=True, trust=True, cwd=cwd, sets=sets)
        runtime = make_runtime(asked, environment(tmp_path, endpoint.base_url))
        over_wires(runtime.connections)
        done = await runtime.submit("read the notes again and again")
        assert done.reason == "finished", done.note
        await runtime.close()
        assert [refused.refusal for refused in endpoint.rejected] == []
        sent = [request.usage.prompt_tokens for request in endpoint.requests if request.usage]
    assert max(sent) > 0.7 * window
    assert any(isinstance(record.event, PrunApplied) for record in runtime.session.records)
