"""`doctor --probe`: what an endpoint has, found out by asking, and remembered."""

import shutil
import ssl
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.commands.command import InThread, Say, Table, run_line
from prunecli.features.doctor.probing import price, probe, questions
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.messages_api import Endpoint as Address
from prunecli.providers.models import ModelTable
from prunecli.providers.registry import Finding
from prunecli.runtime.refusals import Refusals
from prunecli.util.paths import PACKAGE
from tests.endpoint import Call, Endpoint, Reply, Rules, Text, Thinking, serve
from tests.serving import HTML, JSON, Answer, as_json, nothing, serving
from tests.starting import start

MODEL = "claude-sonnet-5-5"
KEY = "sk-ant-test-0123456789"
SCRIPT = ["OK", Reply([Call("ping", {})]), "Red", "OK", Reply([Thinking("hm"), Text("OK")]), "OK", "OK"]


def info_of(model: str = MODEL):
    return ModelTable.load(PACKAGE / "data").info(model)


async def probed(
    address: str, folder: Path, model: str = MODEL, *, seconds: float = 30.0, key: str | None = KEY
) -> tuple[dict[str, Finding], Refusals]:
    """The findings by name, and what is remembered."""
    found = list[Finding]()
    refusals = Refusals(folder / "endpoints.json", lambda: 1_000, lambda _: address)
    provider = AnthropicProvider(Address(key, None, address))
    await probe(provider, info_of(model), refusals, found.append, seconds=seconds)
    assert all("\n" not in one.said and len(one.said) < 200 for one in found)
    return {one.name: one for one in found}, refusals


async def test_an_endpoint_with_everything_is_told_line_by_line(tmp_path: Path) -> None:
    async with Endpoint(SCRIPT) as endpoint:
        found, refusals = await probed(endpoint.base_url, tmp_path)
        assert endpoint.rejected == []
    assert {name: one.state for name, one in found.items()} == dict.fromkeys(
        ("streaming", "tools", "images", "cache", "thinking", "context edits", "effort", "count_tokens"), "ok"
    )
    assert found["streaming"].said.startswith("yes, first token after")
    assert found["cache"].said == "accepted, and usage has cache figures"
    assert found["thinking"].said == "yes, with signatures"
    assert found["count_tokens"].said.startswith("yes, ")
    assert refusals.of(MODEL) == frozenset()


async def test_a_rejected_field_is_left_out_of_requests_from_then_on(tmp_path: Path) -> None:
    lacking = ("thinking.block_binding", "context_management", "output_config")
    async with Endpoint(SCRIPT, rules=Rules(refused=lacking)) as endpoint:
        found, refusals = await probed(endpoint.base_url, tmp_path)
        assert refusals.of(MODEL) == frozenset(lacking)
        runtime = start(tmp_path, sets=[f"model.base_url={endpoint.base_url}", f"model.name={MODEL}"])
        runtime.refusals = refusals
        settings = runtime.choices.model_settings
    assert "block_binding" not in (settings.thinking or {})
    assert found["thinking"].said.endswith("requests omit thinking.block_binding")
    assert found["context edits"].said == "no: requests omit context_management"
    assert found["effort"].state == "warning"


async def test_a_field_that_is_accepted_now_is_sent_again(tmp_path: Path) -> None:
    async with Endpoint(SCRIPT) as endpoint:
        before = Refusals(tmp_path / "endpoints.json", lambda: 900, lambda _: endpoint.base_url)
        before.add(MODEL, "output_config")
        before.add(MODEL, "compaction")
        _, refusals = await probed(endpoint.base_url, tmp_path)
    assert refusals.of(MODEL) == {"compaction"}  # nobody asked for that
    again = Refusals(tmp_path / "endpoints.json", lambda: 1_000, lambda _: endpoint.base_url)
    assert again.of(MODEL) == {"compaction"}


async def test_a_model_that_only_talks_is_told(tmp_path: Path) -> None:
    rules = Rules(any_model=True)
    async with Endpoint(["Hello"] * 9, rules=rules) as endpoint:
        found, _ = await probed(endpoint.base_url, tmp_path, "some-model")
    assert "did not call" in found["tools"].said
    assert "did not see" in found["images"].said
    assert found["thinking"].said == "accepted; this answer had no thinking"
    assert "effort" not in found


async def test_usage_without_figures_is_told(tmp_path: Path) -> None:
    bare = [
        {
            "type": "message_start",
            "message": {"model": "m", "usage": {"input_tokens": 0, "output_tokens": 0}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    with serving(lambda *_: streamed(bare)) as served:
        found, _ = await probed(served.address, tmp_path, "m")
    assert "reports no prompt tokens" in found["streaming"].said
    assert "no cache figures" in found["cache"].said
    assert found["thinking"].said == "yes, without signatures, so it is not sent back"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda *_: (200, HTML, b"<html><title>Sign in</title></html>"),
            "text/html instead of an event stream",
        ),
        (nothing, "404"),
        (lambda *_: as_json({"hello": 1}), "application/json instead of an event stream"),
        (lambda *_: as_json({"error": {"message": "no"}}, 401), "401"),
        (lambda *_: (200, "text/event-stream", b"data: {]\n\n"), "a malformed answer"),
        (lambda *_: (200, "text/event-stream", b""), "an empty answer"),
    ],
)
async def test_an_endpoint_that_is_none_is_one_line(
    tmp_path: Path, answer: Callable[..., Answer], said: str
) -> None:
    with serving(answer) as served:
        found, refusals = await probed(served.address, tmp_path)
    assert list(found) == ["streaming"]
    assert found["streaming"].state == "problem"
    assert said in found["streaming"].said
    assert refusals.of(MODEL) == frozenset()


async def test_an_endpoint_that_hangs_is_one_line_and_asked_no_further(tmp_path: Path) -> None:
    let_go = Event()

    def hang(*_: object) -> Answer:
        let_go.wait(60)
        return as_json({})

    with serving(hang) as served:
        found, _ = await probed(served.address, tmp_path, seconds=0.2)
        let_go.set()
    assert list(found) == ["streaming"]
    assert "no answer in 0 s; probe stopped" in found["streaming"].said
    assert len(served.requests) == 1


@pytest.fixture
def certified(tmp_path: Path) -> None:
    """Makes key.pem and cert.pem."""
    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout key.pem -out cert.pem"
    )
    subprocess.run(words.split(), cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
async def test_a_certificate_of_ones_own_is_one_line(tmp_path: Path, certified: None) -> None:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        found, _ = await probed(f"https://127.0.0.1:{server.server_port}", tmp_path)
    finally:
        server.shutdown()
        server.server_close()
    assert list(found) == ["streaming"]
    assert "TLS connection failed" in found["streaming"].said
    assert "certificate" in found["streaming"].said + found["streaming"].hint


@pytest.mark.parametrize(
    "counted", [nothing("", "", b""), (200, JSON, b'{"a":' * 100_000)], ids=["none", "deep"]
)
async def test_an_endpoint_without_a_count_needs_none(tmp_path: Path, counted: Answer) -> None:
    def answer(method: str, path: str, body: bytes) -> Answer:
        return counted if path.endswith("count_tokens") else streamed(TALK)

    with serving(answer) as served:
        found, _ = await probed(served.address, tmp_path, "m")
    assert (found["count_tokens"].state, found["count_tokens"].said) == (
        "ok",
        "no; prunecli does not need it",
    )


def test_what_it_costs_is_said_before() -> None:
    asked = questions(info_of(), "5m")
    assert price(asked, info_of()).startswith("7 requests, at most ")
    assert "price not known here" in price(questions(info_of("x"), "5m"), info_of("x"))
    prices = replace(info_of().prices, input=1_000_000.0, output=0.0)
    sent = sum(len(one.request.body()) // 3 for one in asked)
    assert f"at most ${sent:.2f}" in price(asked, replace(info_of(), prices=prices))


def test_doctor_asks_only_with_the_flag_and_never_offline(tmp_path: Path) -> None:
    with serve(SCRIPT) as endpoint:
        environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PRUNECLI_HOME": str(tmp_path / "p")}
        environ |= {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": endpoint.base_url,
            "PRUNECLI_MODEL": MODEL,
        }
        plain = CliRunner().invoke(app, ["doctor"], env=environ)
        assert endpoint.requests == []
        assert "`prunecli doctor --probe` asks the endpoint: 7 requests, at most" in plain.stdout
        offline = CliRunner().invoke(app, ["doctor", "--offline"], env=environ)
        assert "not asked (--offline)" in offline.stdout
        assert CliRunner().invoke(app, ["doctor", "--offline", "--probe"], env=environ).exit_code == 2
        asked = CliRunner().invoke(app, ["doctor", "--probe"], env=environ)
        assert asked.exit_code == 0
        before, _, after = asked.stdout.partition(f"\nAsking {MODEL}: 7 requests, at most ")
        assert "streaming" not in before
        assert [line.split()[1] for line in after.splitlines()[1:]][:3] == ["streaming", "tools", "images"]


def test_the_slash_command_asks_on_demand_alone(tmp_path: Path) -> None:
    with serving(lambda *_: streamed(TALK)) as served:
        runtime = start(tmp_path, sets=[f"model.base_url={served.address}", "model.name=m"])
        (effect,) = run_line(runtime, "/doctor probe")
        assert isinstance(effect, InThread)
        (table,) = effect.work()
        assert isinstance(table, Table)
        assert [row[1] for row in table.rows][:2] == ["streaming", "tools"]
    (effect,) = run_line(start(tmp_path / "demo", sets=["model.name=demo"]), "/doctor probe")
    assert isinstance(effect, InThread)
    assert isinstance(effect.work()[0], Say)


TALK = [
    {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "OK"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


def streamed(events: Sequence[object]) -> Answer:
    lines = b"".join(b"data: " + as_json(event)[2] + b"\n\n" for event in events)
    return 200, "text/event-stream", lines
