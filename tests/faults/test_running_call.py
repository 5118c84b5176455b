"""kill -9 of the program while a command runs: what it had printed is in the session that goes on."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.context.render import INTERRUPTED
from prunecli.model.events import AssistantMessage, ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import Text, ToolUse, plain_text
from prunecli.runtime.resuming import Resuming
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.scripted import ScriptedProvider, calls, says
from tests.session.points import sent
from tests.starting import start
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
AGENT = """
import asyncio, sys
from pathlib import Path
from prunecli.model.messages import ToolUse
from tests.scripted import calls
from tests.session.points import sent
from tests.starting import start

command = "for n in 1 2 3; do echo line $n; done; sleep 1000"
runtime = start(
    Path(sys.argv[1]), [calls(ToolUse("t", "bash", {"command": command}))], sets=("permissions.mode=auto",)
)
asyncio.run(runtime.submit("go"))
"""


def test_what_a_command_had_printed_survives_a_kill_of_the_program(tmp_path: Path) -> None:
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path)], cwd=ROOT, start_new_session=True)
    try:
        wait_until(lambda: any("line 3" in file.read_text() for file in tmp_path.rglob("*.running")))
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.wait()
    (path,) = tmp_path.rglob("*.jsonl")
    provider = ScriptedProvider([says("I see.")])
    runtime = start(tmp_path, provider=provider)
    runtime.open_session(path)
    asyncio.run(runtime.go_on())
    results = [one.event for one in runtime.session.records if isinstance(one.event, ToolResult)]
    assert [plain_text(one.content) for one in results] == [f"line 1\nline 2\nline 3\n{INTERRUPTED}"]
    assert b"line 3" in provider.requests[0].body()
    asyncio.run(runtime.close())
    assert verify_session(path, read_log(path)).clean
    assert list(tmp_path.rglob("*.running*")) == []


LONG = "".join(f"line {number} of a long output that nobody reads twice\n" for number in range(300))


@pytest.mark.parametrize("how", ["opened", "loaded in steps", "copied"])
def test_recovered_output_is_cut_before_it_is_first_sent_like_any_result(tmp_path: Path, how: str) -> None:
    before = start(tmp_path, [calls(ToolUse("t", "bash", {"command": "make"}))])
    before.prepare()
    before.emit(UserMessage((Text("go"),)))
    before.emit(AssistantMessage((ToolUse("t", "bash", {"command": "make"}),), "m", "tool_use"))
    before.emit(ToolStarted("t", "bash", {"command": "make"}))
    before.session.hold("t", LONG)
    path = before.session.path
    assert path is not None
    left = [file.read_bytes() for file in (path, path.with_suffix(".running"))]
    asyncio.run(before.close())
    path.write_bytes(left[0])  # as a kill leaves both
    path.with_suffix(".running").write_bytes(left[1])
    runtime = start(tmp_path)
    if how == "loaded in steps":
        resuming = Resuming(path, runtime.new_context(), runtime)
        list(resuming.steps())
        session = resuming.finish()
    else:
        session = runtime.open_session(path, fork=how == "copied")
    [result] = [one.event for one in session.records if isinstance(one.event, ToolResult)]
    assert plain_text(result.content) == f"{LONG}{INTERRUPTED}"
    assert result.spilled is not None
    assert len(result.spilled.shown) < len(LONG) // 2
    body = sent(session.records)
    assert len(str(body)) < len(LONG) // 2
    assert "line 299" in str(body)
    asyncio.run(runtime.close())
