"""What an editor can do wrong on the standard streams, and how the program ends."""

import json
import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from prunecli.cli.flags import read
from prunecli.model.events import RunEnded
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.errors import UsageError
from tests import preloaded
from tests.acp.editor import environment, words
from tests.e2e.bound import project
from tests.endpoint import Reply, Stall, Thinking, serve


def program(tmp_path: Path, base_url: str = "http://127.0.0.1:9") -> AbstractContextManager[Any]:
    """The program with pipes, closed at the end if the test did not."""
    (tmp_path / "home").mkdir(exist_ok=True)
    return preloaded.piped(words()[2:], cwd=project(tmp_path / "work"), env=environment(tmp_path, base_url))


def ask(process: Any, method: str, params: Any, id_: Any = 1) -> Any:
    """Send a request and return the answer to it; updates before it are skipped."""
    put(process, json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
    return answer(process, id_)


def put(process: Any, line: str | bytes) -> None:
    process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
    process.stdin.flush()


def answer(process: Any, id_: Any) -> Any:
    while line := process.stdout.readline():
        message = json.loads(line)
        if "method" not in message and message["id"] == id_:
            return message
    raise AssertionError(process.stderr.read())


BAD = [
    (b"garbage", -32700),
    (b"\xff\xfe{}", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"3", -32600),
    (b'"x"', -32600),
    (b'{"jsonrpc":"2.0"}', -32600),
    (b'{"jsonrpc":"2.0","id":[1],"method":"initialize"}', -32600),
    (b'{"jsonrpc":"2.0","method":["x"]}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"error":"no"}', -32600),
]


def test_garbage_is_answered_with_errors_and_the_next_line_counts(tmp_path: Path) -> None:
    with program(tmp_path) as process:
        for line, code in BAD:
            put(process, line)
            assert json.loads(process.stdout.readline())["error"]["code"] == code, line
        put(process, b"")
        put(process, b"   ")
        put(process, b'{"jsonrpc":"2.0","id":77,"result":{}}')  # an answer to nothing
        assert ask(process, "initialize", {"protocolVersion": 1})["result"]["protocolVersion"] == 1
        put(process, "x" * 65_000_000)
        assert json.loads(process.stdout.readline())["error"]["code"] == -32600
        for method, params in (
            ("no/such", {}),
            ("session/prompt", {}),
            ("session/prompt", [1]),
            ("session/prompt", {"sessionId": "gone", "prompt": [{"type": "text", "text": "x"}]}),
            ("session/new", {"cwd": 3, "mcpServers": []}),
            ("session/new", None),
            ("session/load", {"cwd": "/", "sessionId": "../../x", "mcpServers": []}),
            ("session/list", {"cursor": "x"}),
            ("session/set_mode", {"sessionId": "gone", "modeId": "ask"}),
            ("_other/thing", {}),
        ):
            error = ask(process, method, params, method)["error"]
            assert error["code"] in (-32601, -32602, -32002), (method, error)
        put(
            process,
            json.dumps({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "gone"}}),
        )
        assert ask(process, "session/list", {}, "a")["result"]["sessions"] == []
        process.stdin.close()
        assert process.stdout.read() == b""
        errors = process.stderr.read().decode()
        assert process.wait(20) == 0
        assert "Traceback" not in errors


def running(process: Any, tmp_path: Path) -> None:
    """Start a turn and wait until its answer streams."""
    ask(process, "initialize", {"protocolVersion": 1})
    new = ask(process, "session/new", {"cwd": str(tmp_path / "work"), "mcpServers": []})["result"]
    given = {"sessionId": new["sessionId"], "prompt": [{"type": "text", "text": "talk"}]}
    put(process, json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": given}))
    while line := process.stdout.readline():
        if b"A long answer" in line:
            return
    raise AssertionError(process.stderr.read())


@pytest.mark.parametrize("how", ["closed", "SIGTERM", "SIGHUP", "deaf"])
def test_when_the_editor_goes_the_log_is_complete(tmp_path: Path, how: str) -> None:
    script = [Reply([Thinking("x"), "A long answer. " * 40], faults=Stall(14))]
    with serve(script) as endpoint, program(tmp_path, endpoint.base_url) as process:
        running(process, tmp_path)
        if how == "closed":
            process.stdin.close()
        elif how == "deaf":
            process.stdout.close()
            put(process, b"garbage")  # its answer can't be written
        else:
            os.kill(process.pid, getattr(signal, how))
        expected = {"closed": 0, "deaf": 0, "SIGTERM": 143, "SIGHUP": 129}[how]
        assert process.wait(30) == expected
        assert b"Traceback" not in process.stderr.read()
    (path,) = (tmp_path / "data" / "sessions").glob("*/*.jsonl")
    log = read_log(path)
    assert log.records[-1].event == RunEnded("interrupted")
    assert verify_session(path, log).clean


def test_an_editor_that_does_not_read_cannot_hold_up_the_end(tmp_path: Path) -> None:
    script = [Reply([Thinking("x"), "A long answer. " * 40_000], chunk=4_000, faults=Stall(100))]
    with serve(script) as endpoint, program(tmp_path, endpoint.base_url) as process:
        running(process, tmp_path)
        endpoint.blocking(endpoint.stall_reached())
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 143
    (path,) = (tmp_path / "data" / "sessions").glob("*/*.jsonl")
    assert read_log(path).records[-1].event == RunEnded("interrupted")


def test_it_serves_files_as_streams_too(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.write_text('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    (tmp_path / "home").mkdir()
    with given.open("rb") as source, (tmp_path / "out").open("wb") as target:
        done = subprocess.run(
            [sys.executable, *words()],
            env=environment(tmp_path, "http://127.0.0.1:9"),
            stdin=source,
            stdout=target,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out").read_text())["result"]["agentInfo"]["name"] == "prunecli"


def test_without_its_package_the_way_to_it_is_named(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['acp'] = None\n"
        "from importlib.machinery import PathFinder\n"
        "from prunecli.__main__ import run\n"
        "sys.exit(run(['acp'], {}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "install prunecli again" in done.stderr


def test_flags_that_have_no_effect_are_refused() -> None:
    assert read(["--model", "opus", "--max-turns", "3", "acp"]).command == ("acp",)
    for flag in (["-c"], ["--plain"], ["-p"]):
        with pytest.raises(UsageError, match="no effect"):
            read([*flag, "acp"])
