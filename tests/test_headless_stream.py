"""`-p --input-format stream-json` from a process, line by line: one run and one result for each message."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.events import RunEnded
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests import preloaded
from tests.acp.editor import environment
from tests.e2e.bound import project
from tests.endpoint import Call, HttpError, Reply, Stall, serve
from tests.waiting import wait_until

STREAMS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


def program(tmp_path: Path, base_url: str, *words: str) -> AbstractContextManager[Any]:
    """The program with pipes; killed at the end if it still runs."""
    (tmp_path / "home").mkdir(exist_ok=True)
    return preloaded.piped(
        ["--trust", "--model", "claude-opus-5-5", *(words or STREAMS)],
        cwd=project(tmp_path / "work"),
        env=environment(tmp_path, base_url),
    )


def put(process: Any, value: Any) -> None:
    """Write a line: a message for a text, JSON for anything else."""
    given = (
        {"type": "user", "message": {"role": "user", "content": value}} if isinstance(value, str) else value
    )
    process.stdin.write(json.dumps(given).encode() + b"\n")
    process.stdin.flush()


def until(process: Any, kind: str) -> list[Any]:
    """The objects up to one of this type."""
    found: list[Any] = []
    while line := process.stdout.readline():
        found.append(json.loads(line))
        if found[-1]["type"] == kind:
            return found
    raise AssertionError(process.stderr.read())


def ended(process: Any) -> tuple[int, str]:
    """Close the input; the exit code, and standard error but for a machine's lack of a sandbox."""
    process.stdin.close()
    rest = process.stdout.read()
    assert rest == b"", rest
    lines = process.stderr.read().decode().splitlines()
    return process.wait(30), "\n".join(
        line for line in lines if not line.startswith("prunecli: Sandbox: none")
    )


def test_each_message_is_answered_before_the_next_is_written(tmp_path: Path) -> None:
    with serve(["One.", "Two."]) as endpoint, program(tmp_path, endpoint.base_url) as process:
        put(process, "first")
        first = until(process, "result")
        assert (first[0]["type"], first[0]["subtype"]) == ("system", "init")
        assert (first[-1]["subtype"], first[-1]["result"], first[-1]["num_turns"]) == ("success", "One.", 1)
        process.stdin.write(b"\n  \n")
        put(process, "second")
        second = until(process, "result")
        assert "init" not in [one.get("subtype") for one in second]
        assert (second[-1]["result"], second[-1]["num_turns"]) == ("Two.", 1)
        assert second[-1]["usage"]["output_tokens"] < first[-1]["usage"]["output_tokens"] * 3
        assert second[-1]["session_id"] == first[-1]["session_id"]
        assert ended(process) == (0, "")
        assert endpoint.rejected == []


def test_a_message_that_comes_during_a_run_waits_for_its_end(tmp_path: Path) -> None:
    script = [Reply([Call("read", {"path": "0.txt"})]), "One.", "Two."]
    with serve(script) as endpoint, program(tmp_path, endpoint.base_url, "begin", *STREAMS) as process:
        put(process, "second")
        process.stdin.close()
        assert [until(process, "result")[-1]["result"] for _ in range(2)] == ["One.", "Two."]
        assert process.wait(30) == 0
        assert b"begin" in endpoint.requests[0].body


def test_an_interrupt_stops_the_run_and_the_next_message_goes_on(tmp_path: Path) -> None:
    script = [Reply("A long answer. " * 40, faults=Stall(8)), "Two."]
    with serve(script) as endpoint, program(tmp_path, endpoint.base_url) as process:
        put(process, "talk")
        until(process, "system")
        wait_until(lambda: endpoint.requests)
        interrupt = {"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}}
        put(process, interrupt)
        answered = until(process, "control_response")[-1]
        assert answered["response"] == {"request_id": "r1", "subtype": "success"}
        assert until(process, "result")[-1]["subtype"] == "interrupted"
        put(process, "again")
        assert until(process, "result")[-1]["result"] == "Two."
        assert ended(process)[0] == 0
    (path,) = (tmp_path / "data" / "sessions").glob("*/*.jsonl")
    log = read_log(path)
    assert verify_session(path, log).clean
    ends = [one.event for one in log.records if isinstance(one.event, RunEnded)]
    assert ends[-1] == RunEnded("finished")


def test_control_requests_set_mode_and_model_and_others_are_errors(tmp_path: Path) -> None:
    script = [Reply([Call("write", {"path": "new.txt", "content": "x"})]), "Done."]
    with serve(script) as endpoint, program(tmp_path, endpoint.base_url) as process:
        for request, fine in (
            ({"subtype": "set_permission_mode", "mode": "edits"}, True),
            ({"subtype": "set_permission_mode", "mode": "yolo"}, False),
            ({"subtype": "set_model", "model": "claude-haiku-5-5"}, True),
            ({"subtype": "set_model", "model": 3}, False),
            ({"subtype": "dance"}, False),
            ("interrupt", False),
        ):
            put(process, {"type": "control_request", "request_id": 7, "request": request})
            answer = until(process, "control_response")[-1]["response"]
            assert (answer["request_id"], answer["subtype"]) == (7, "success" if fine else "error")
        put(process, "go")
        assert until(process, "result")[-1]["subtype"] == "success"
        assert (tmp_path / "work" / "new.txt").exists()
        assert endpoint.requests[0].json["model"] == "claude-haiku-5-5"
        assert ended(process)[0] == 0


def test_a_failed_run_is_a_result_and_the_next_message_is_tried(tmp_path: Path) -> None:
    with serve([HttpError(400), "Two."]) as endpoint, program(tmp_path, endpoint.base_url) as process:
        put(process, "first")
        assert until(process, "result")[-1]["subtype"] == "error"
        put(process, "second")
        assert until(process, "result")[-1]["result"] == "Two."
        assert ended(process)[0] == 0


@pytest.mark.parametrize("line", [b"nonsense", b"{}", b'{"message":{"content":" "}}', b"\xff\xfe", b"3"])
def test_a_line_that_is_no_message_ends_the_program_after_what_came_before(
    tmp_path: Path, line: bytes
) -> None:
    with serve(["One."]) as endpoint, program(tmp_path, endpoint.base_url) as process:
        put(process, "first")
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        assert until(process, "result")[-1]["result"] == "One."
        assert process.wait(30) == 2
        assert "line 2" in process.stderr.read().decode()


def test_a_byte_order_mark_before_the_first_message_is_skipped(tmp_path: Path) -> None:
    with serve(["One."]) as endpoint, program(tmp_path, endpoint.base_url) as process:
        process.stdin.write(b"\xef\xbb\xbf")
        put(process, "first")
        assert until(process, "result")[-1]["result"] == "One."


def test_without_a_message_there_is_nothing_to_do(tmp_path: Path) -> None:
    with program(tmp_path, "http://127.0.0.1:9") as process:
        code, errors = ended(process)
        assert (code, errors.splitlines()[0]) == (2, "prunecli: no prompt")


def test_without_a_message_a_session_is_continued(tmp_path: Path) -> None:
    with serve([HttpError(400), "Now."]) as endpoint:
        with program(tmp_path, endpoint.base_url, "-p", "first") as process:
            process.stdin.close()
            assert process.wait(30) == 1
        with program(tmp_path, endpoint.base_url, "-c", *STREAMS) as process:
            process.stdin.close()
            assert until(process, "result")[-1]["result"] == "Now."


def test_text_output_prints_each_answer(tmp_path: Path) -> None:
    words = ("-p", "--input-format", "stream-json")
    with serve(["One.", "Two."]) as endpoint, program(tmp_path, endpoint.base_url, *words) as process:
        put(process, "first")
        assert process.stdout.readline() == b"One.\n"
        put(process, {"type": "control_request", "request_id": 1, "request": {"subtype": "dance"}})
        put(process, "second")
        assert process.stdout.readline() == b"Two.\n"
        assert ended(process)[0] == 0
