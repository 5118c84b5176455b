"""Does the endpoint record, wait, serve from a thread and by hand, and end cleanly?"""

import asyncio
import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.faults import CutToolJson, HttpError, Stall
from tests.endpoint.rules import Rules
from tests.endpoint.sample import HEADERS, assistant, body, user
from tests.endpoint.script import Reply
from tests.endpoint.server import Endpoint, serve

ROOT = Path(__file__).parents[2]


def post(base_url: str, value: Any, path: str = "/v1/messages") -> Any:
    """The JSON of an answer, by the standard library."""
    raw = json.dumps(value).encode()
    request = urllib.request.Request(base_url + path, raw, HEADERS)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.loads(response.read())


async def test_every_request_is_recorded_as_it_came(connect: Any):
    value = body(user("hi ü"), system="x")
    async with Endpoint(["one", HttpError(529)], clock=lambda: 7.5) as endpoint, connect(endpoint) as client:
        for sent in (value, value, b"not json"):
            client.send(sent, x_custom="yes")
            await client.response()
    first, second, third = endpoint.requests
    assert first.body == json.dumps(value).encode()
    assert first.json == value
    assert first.messages == value["messages"]
    assert (first.index, first.method, first.path, first.arrived) == (0, "POST", "/v1/messages", 7.5)
    assert first.headers["x-custom"] == "yes"
    assert first.usage is not None
    assert first.usage.prompt_tokens == 2
    assert (second.refusal, second.usage) == (None, None), "a scripted error is no refusal, and costs nothing"
    assert third.refusal is not None
    assert third.refusal.status == 400
    assert third.refusal.type == "invalid_request_error"
    assert "not valid JSON" in third.refusal.message
    assert endpoint.rejected == [third]
    with pytest.raises(ValueError, match="Expecting value"):
        _ = third.json


async def test_responses_carry_a_request_id_and_the_headers_that_were_asked_for(connect: Any):
    script = [Reply("a", headers={"x-own": "1"})]
    async with Endpoint(script, headers={"x-all": "2"}) as endpoint, connect(endpoint) as client:
        client.send(body())
        _, headers, _ = await client.response()
        client.send(body(max_tokens=0))
        status, refused, answer = await client.response()
    assert headers["request-id"].startswith("req_")
    assert headers["x-own"] == "1"
    assert headers["x-all"] == "2"
    assert status == 400
    assert json.loads(answer)["request_id"] == refused["request-id"] != headers["request-id"]


@pytest.mark.parametrize(
    ("line", "status", "kind"),
    [
        ("GET /v1/messages", 405, "invalid_request_error"),
        ("POST /v1/models", 405, "invalid_request_error"),
        ("GET /v1/models/nope", 404, "not_found_error"),
        ("GET /v2/messages", 404, "not_found_error"),
        ("GET /v1/modelsnope", 404, "not_found_error"),
    ],
)
async def test_other_paths_and_methods_are_refused(connect: Any, line: str, status: int, kind: str):
    async with Endpoint() as endpoint, connect(endpoint) as client:
        headers = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        client.writer.write(f"{line} HTTP/1.1\r\n{headers}\r\n".encode())
        found, _, answer = await client.response()
    assert (found, json.loads(answer)["error"]["type"]) == (status, kind)
    assert len(endpoint.others) == len(endpoint.rejected) == 1


async def test_a_connection_serves_many_requests_and_another_one_is_counted(connect: Any):
    async with Endpoint() as endpoint:
        async with connect(endpoint) as client:
            for _ in range(3):
                client.send(body())
                assert (await client.response())[0] == 200
            client.send(body(), connection="close")
            assert (await client.response())[0] == 200
            assert await client.reader.read() == b""
        async with connect(endpoint) as client:
            client.send(body())
            await client.response()
    assert (endpoint.connections, len(endpoint.requests)) == (2, 5)


async def test_requests_sent_in_one_go_are_answered_in_order(connect: Any):
    async with Endpoint(["one", "two"]) as endpoint, connect(endpoint) as client:
        client.send(body(stream=None))
        client.send(body(stream=None))
        said = [json.loads((await client.response())[2])["content"][0]["text"] for _ in range(2)]
    assert said == ["one", "two"]


async def test_what_is_no_http_is_answered_and_ends_the_connection(connect: Any):
    async with Endpoint() as endpoint, connect(endpoint) as client:
        client.writer.write(b"hello\r\n\r\n")
        status, _, answer = await client.response()
        assert await client.reader.read() == b""
    assert status == 400
    assert "no request line" in json.loads(answer)["error"]["message"]
    assert endpoint.requests == []


async def test_a_client_that_waits_is_told_to_go_on(connect: Any):
    async with Endpoint() as endpoint, connect(endpoint) as client:
        raw = json.dumps(body(stream=None)).encode()
        sent = {**HEADERS, "expect": "100-continue", "content-length": str(len(raw))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        client.writer.write(f"POST /v1/messages HTTP/1.1\r\n{lines}\r\n".encode())
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.writer.write(raw)
        assert (await client.response())[0] == 200


async def test_a_body_over_the_limit_is_answered_with_413(connect: Any):
    async with Endpoint(rules=Rules(body_limit=10_000)) as endpoint, connect(endpoint) as client:
        client.send(body(user("x" * 3_000_000)))
        status, _, answer = await client.response()
        assert (status, json.loads(answer)["error"]["type"]) == (413, "request_too_large")
        client.send(body())
        assert (await client.response())[0] == 200, "the connection is still good"
    assert endpoint.requests[0].body == b""


async def test_it_listens_on_the_loopback_interface_only():
    async with Endpoint() as endpoint:
        assert endpoint.base_url.startswith("http://127.0.0.1:")
        port = int(endpoint.base_url.rpartition(":")[2])
        if sys.platform == "linux":  # where every address in 127.0.0.0/8 is this machine
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.2", port)


async def test_waiting_for_a_request_gives_it_when_it_has_come(connect: Any):
    async with Endpoint() as endpoint, connect(endpoint) as client:
        waiting = asyncio.ensure_future(endpoint.request_arrived(2))
        for words in ("first", "second"):
            assert not waiting.done()
            client.send(body(user(words)))
            await client.response()
        assert (await waiting).messages == [user("second")]
        assert (await endpoint.request_arrived(1)).messages == [user("first")]


async def test_waiting_in_vain_says_what_there_is():
    async with Endpoint() as endpoint:
        with pytest.raises(AssertionError, match=r"not within 0\.01 s: request 1; 0 requests, 0 answered"):
            await endpoint.request_arrived(1, within=0.01)
        with pytest.raises(AssertionError, match="stall 1"):
            await endpoint.stall_reached(within=0.01)


async def test_hits_of_the_cache_are_a_share_of_what_was_possible(post_json: Any):
    mark = {"type": "text", "text": "x" * 400, "cache_control": {"type": "ephemeral"}}
    plain = {"type": "text", "text": "x" * 400}
    async with Endpoint() as endpoint:
        assert endpoint.cache_hits() == 1.0
        await post_json(endpoint, body(user(mark), stream=None))
        grown = [user(plain), assistant("y" * 400)]
        await post_json(endpoint, body(*grown, user(mark), stream=None))
        await post_json(endpoint, body(*grown, user("z"), stream=None))
    assert [endpoint.cacheable(n) for n in range(3)] == [0, 100, 200]
    assert endpoint.cache_hits() == pytest.approx(100 / 300)


async def test_a_script_that_raises_fails_the_test(connect: Any):
    def script(request: Any, index: int) -> Reply:
        raise LookupError("no such reply")

    with pytest.raises(LookupError, match="no such reply"):
        await ask_in_vain(Endpoint(script), connect)


async def ask_in_vain(endpoint: Endpoint, connect: Any, error: Exception | None = None) -> None:
    """Ask an endpoint whose script fails; then the test may fail itself."""
    async with endpoint, connect(endpoint) as client:
        client.send(body())
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.head()
        if error is not None:
            raise error


async def test_a_fault_that_does_not_fit_its_reply_fails_the_test(connect: Any):
    with pytest.raises(ValueError, match="the reply has no call"):
        await ask_in_vain(Endpoint([Reply("x", faults=CutToolJson(3))]), connect)


async def test_an_error_of_the_test_itself_is_not_hidden_by_one_of_the_script(connect: Any):
    endpoint = Endpoint([Reply("x", faults=CutToolJson(3))])
    with pytest.raises(KeyError) as caught:
        await ask_in_vain(endpoint, connect, KeyError("mine"))
    assert "the reply has no call" in caught.value.__notes__[0]


async def test_leaving_ends_stalled_responses_and_connections(connect: Any):
    async with Endpoint([Reply("x", faults=Stall(1))]) as endpoint, connect(endpoint) as client:
        client.send(body())
        await endpoint.stall_reached()
        await endpoint.__aexit__(None, None, None)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.response()
    pending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert pending == []


def test_a_synchronous_test_is_served_from_a_thread():
    with serve(["one", Reply("two", faults=Stall())]) as endpoint:
        assert post(endpoint.base_url, body(stream=None))["content"][0]["text"] == "one"
        endpoint.release()
        assert post(endpoint.base_url, body(stream=None))["content"][0]["text"] == "two"
        assert endpoint.blocking(endpoint.request_arrived(2)).index == 1
        with pytest.raises(urllib.error.HTTPError, match="400"):
            post(endpoint.base_url, body(user("")))
    assert len(endpoint.rejected) == 1


def test_a_port_that_is_taken_is_an_error_at_once():
    with serve() as endpoint:
        port = int(endpoint.base_url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), serve(port=port):
            pass


def test_an_endpoint_that_was_not_entered_cannot_be_asked():
    endpoint = Endpoint()
    with pytest.raises(RuntimeError, match="not running"):
        endpoint.blocking(endpoint.request_arrived(1))


class TestByHand:
    """python -m tests.endpoint"""

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.endpoint", *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )

    def first_line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def test_the_first_line_is_the_base_url_and_the_script_is_played(self, tmp_path: Path):
        script, record = tmp_path / "script.json", tmp_path / "record.jsonl"
        script.write_text(json.dumps(["one", {"content": "two", "faults": [{"fault": "stall"}]}]))
        with self.start("--port", "0", "--script", str(script), "--record", str(record)) as process:
            base_url = self.first_line(process)
            assert post(base_url, body(stream=None))["content"][0]["text"] == "one"
            process.send_signal(signal.SIGUSR1)
            assert post(base_url, body(stream=None))["content"][0]["text"] == "two"
            process.terminate()
            out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (0, "")
        assert out.splitlines()[0].endswith("tokens, 0 cached: accepted")
        recorded = [json.loads(line) for line in record.read_text().splitlines()]
        assert [entry["index"] for entry in recorded] == [0, 1]
        assert json.loads(recorded[0]["body"]) == body(stream=None)
        assert "sk-ant" not in record.read_text()

    def test_a_refusal_is_printed_and_is_the_exit_status(self):
        with self.start() as process:
            base_url = self.first_line(process)
            with pytest.raises(urllib.error.HTTPError):
                post(base_url, body(user(" ")))
            process.terminate()
            out, _ = process.communicate(timeout=20)
        assert process.returncode == 1
        assert "400 messages.0.content.0: text content blocks must contain non-whitespace text" in out

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[", "script.json: not JSON"),
            ('["a", {"contents": "b"}]', "script.json: replies[1]: "),
            (None, "No such file"),
        ],
    )
    def test_a_wrong_script_is_explained(self, tmp_path: Path, text: str | None, message: str):
        script = tmp_path / "script.json"
        if text is not None:
            script.write_text(text)
        with self.start("--script", str(script)) as process:
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (2, "")
        assert message in err
        assert "Traceback" not in err
