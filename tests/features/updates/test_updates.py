"""Newer releases: heard of at most once a day, told at most once a day, never in the way."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from prunecli.features.updates.part import Known, ReleaseNotice, ask, notice
from prunecli.features.updates.releases import installation, is_newer, newest
from prunecli.util.errors import PrunecliError
from tests.starting import start

DAY = 86_400


@pytest.mark.parametrize(
    ("file", "made_from", "how", "command", "runs"),
    [
        ("uv-receipt.toml", "", "installed by uv", "uv tool upgrade prunecli", True),
        ("pipx_metadata.json", "", "installed by pipx", "pipx upgrade prunecli", True),
        ("", "", "installed by pip", "/py -m pip install --upgrade prunecli", False),
        (
            "",
            '{"url": "file:///src/prunecli"}',
            "run from the checkout /src/prunecli",
            "git -C /src/prunecli pull",
            False,
        ),
        (
            "",
            '{"url": "https://x/y.whl"}',
            "installed by pip",
            "/py -m pip install --upgrade prunecli",
            False,
        ),
        ("", "{", "installed by pip", "/py -m pip install --upgrade prunecli", False),
    ],
)
def test_each_kind_of_installation_has_its_command(
    tmp_path: Path, file: str, made_from: str, how: str, command: str, runs: bool
) -> None:
    if file:
        (tmp_path / file).touch()
    found = installation(tmp_path, made_from, "/py")
    assert (found.how, found.line, found.runs) == (how, command, runs)


def test_homebrew_is_known_by_its_path() -> None:
    assert installation(Path("/opt/homebrew/Cellar/prunecli/1.0/libexec")).line == "brew upgrade prunecli"


@pytest.mark.parametrize(
    ("version", "than", "expected"),
    [
        ("1.10", "1.9", True),
        ("1.0", "1.0.0", False),
        ("1.0.1", "1.0", True),
        ("", "1.0", False),
        ("x", "1", False),
    ],
)
def test_versions_compare_by_their_numbers(version: str, than: str, expected: bool) -> None:
    assert is_newer(version, than) is expected


@contextmanager
def _index(status: int, body: bytes, *, drips: bool = False) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the base class calls it
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)
            with suppress(OSError):  # until the client goes away
                while drips and not gone.wait(0.02):
                    self.wfile.write(b" ")

        def log_message(self, *_: object) -> None: ...

    gone = Event()
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/json"
        gone.set()
        server.shutdown()


async def test_the_newest_release_is_what_the_index_says() -> None:
    with _index(200, b'{"info": {"version": "9.1.2"}}') as address:
        assert await newest(address) == "9.1.2"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"info": {"version": "\\u001b[31m9"}}'),
        (200, b'{"info": {"version": 9}}'),
        (302, b'{"info": {"version": "9"}}'),
        (500, b"{}"),
        (200, b"[" * 100_000),
    ],
)
async def test_an_index_that_answers_otherwise_is_named_in_one_error(status: int, body: bytes) -> None:
    with _index(status, body) as address, pytest.raises(PrunecliError, match=r"127\.0\.0\.1"):
        await newest(address)


async def test_an_index_that_never_ends_its_answer_is_left_after_seconds() -> None:
    with (
        _index(200, b"{", drips=True) as address,
        pytest.raises(PrunecliError, match=r"no answer within 0\.2 s"),
    ):
        await newest(address, 0.2)


async def test_one_question_and_one_line_a_day(tmp_path: Path) -> None:
    now, asked = [1_000_000.0], 0
    known = Known(tmp_path / "data" / "release.json", lambda: now[0])

    async def fetch() -> str:
        nonlocal asked
        asked += 1
        return "2.0"

    said = []
    for hours in (0, 1, 23, 25, 26, 50):
        now[0] = 1_000_000.0 + hours * 3_600
        await ask(known, fetch)
        said.append(bool(notice(known, "1.0")))
    assert (asked, said) == (3, [True, False, False, True, False, True])
    assert notice(known, "2.0") == ""


async def test_without_an_answer_the_next_question_waits_a_day_too(tmp_path: Path) -> None:
    known = Known(tmp_path / "release.json", lambda: 1_000_000.0)
    tries = []

    async def fetch() -> str:
        tries.append(1)
        raise PrunecliError("no network")

    await ask(known, fetch)
    await ask(known, fetch)
    assert (len(tries), known.version) == (1, "")


@pytest.mark.parametrize("content", ["", "[]", "[" * 9_000, '{"version": 3, "told": "x", "asked": null}'])
def test_a_damaged_file_is_as_if_nothing_was_heard(tmp_path: Path, content: str) -> None:
    file = tmp_path / "release.json"
    file.write_text(content)
    known = Known(file)
    assert (known.version, known.due("asked"), notice(known, "1.0")) == ("", True, "")


async def test_headless_runs_and_checkouts_neither_ask_nor_tell(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    file = runtime.setup.places.data / "release.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": "999.0"}))
    for headless in (True, False):  # the tests run in a checkout
        part = ReleaseNotice(runtime, None)
        part.opened(headless=headless)
        await part.idle()
        await part.close()
    await runtime.close()
    assert not [line for line in runtime.notices if "999.0" in line]
    assert json.loads(file.read_text()) == {"version": "999.0"}
