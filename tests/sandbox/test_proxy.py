"""The proxy of a sandbox with a list of hosts: names, addresses, both kinds of requests."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from prunecli.safety.sandbox.proxy import Proxy
from prunecli.util.hosts import is_allowed, is_public, problem
from tests.sandbox.confining import boxed, needs_bubblewrap
from tests.tools.calling import Caller

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "host", ["good.example", "GOOD.example", "good.example.", "a.wild.example", "a.b.wild.example"]
)
def test_listed_names_are_allowed(host: str) -> None:
    assert is_allowed(host, ("good.example", "*.wild.example"))


@pytest.mark.parametrize(
    "host",
    [
        *("good.example.evil", "xgood.example", "wild.example", "evilwild.example", "evil\0.wild.example"),
        *(
            "user@good.example",
            "good.example:80",
            "good.example/..",
            "",
            ".",
            "..",
            "*.wild.example",
            "gööd.example",
        ),
        *(
            "127.0.0.1",
            "[::1]",
            "0x7f.1",
            "2130706433",
            "017700000001",
            "1.wild.example.0x1",
            "good.example..",
            " ",
        ),
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not is_allowed(host, ("good.example", "*.wild.example"))


@pytest.mark.parametrize(
    "pattern", ["", "*", "*.com", "http://a.b", "a.b:80", "127.0.0.1", "a b", "-a.b", "*.*.a.b"]
)
def test_an_entry_that_is_no_host_name_is_refused(pattern: str) -> None:
    assert problem(pattern)


@pytest.mark.parametrize("pattern", ["pypi.org", "*.pythonhosted.org", "registry.npmjs.org", "localhost"])
def test_a_host_name_is_an_entry(pattern: str) -> None:
    assert problem(pattern) == ""


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
        ),
        *(
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fe80::1%eth0",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
        ),
        *(
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "::7f00:1",
            "::ffff:0:7f00:1",
            "fec0::1",
            "ff02::1",
            "192.0.0.192",
            "168.63.129.16",
            "198.18.0.1",
            "nonsense",
            "",
        ),
    ],
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "93.184.216.34"])
def test_public_addresses_are_not(address: str) -> None:
    assert is_public(address)


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
    await writer.drain()
    writer.close()


async def asked(request: bytes, addresses: Sequence[str] = ("1.1.1.1",)) -> tuple[bytes, Proxy]:
    """What the proxy answers to a request, and the proxy. Every public address leads to a server of the test."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    async def connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert is_public(address)
        return await asyncio.open_connection(*server.sockets[0].getsockname())

    proxy = Proxy(("good.example",), resolve, connect)
    front = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    async with server, front:
        reader, writer = await asyncio.open_connection(*front.sockets[0].getsockname())
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    return answer, proxy


async def test_a_plain_request_goes_to_the_listed_host_under_its_own_name() -> None:
    fields = b"Host: evil.example\r\nProxy-Authorization: x\r\nA: b\r\n\r\n"
    answer, _ = await asked(b"GET http://good.example/path?q HTTP/1.1\r\n" + fields)
    assert b"GET /path?q HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\nA: b\r\n" in answer
    assert b"evil" not in answer
    assert b"Proxy-" not in answer


async def test_a_tunnel_is_opened_to_the_listed_host() -> None:
    answer, _ = await asked(b"CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "line",
    [
        *(b"CONNECT evil.example:443 HTTP/1.1", b"GET http://evil.example/ HTTP/1.1", b"GET / HTTP/1.1"),
        *(
            b"CONNECT good.example@evil.example:443 HTTP/1.1",
            b"GET http://good.example@evil.example/ HTTP/1.1",
        ),
        *(
            b"CONNECT 169.254.169.254:80 HTTP/1.1",
            b"CONNECT [::1]:80 HTTP/1.1",
            b"CONNECT good.example:0 HTTP/1.1",
        ),
        *(b"CONNECT good.example:99999 HTTP/1.1", b"GET https://good.example/ HTTP/1.1", b"\xff\xfe"),
        *(b"GET file:///etc/passwd HTTP/1.1", b"CONNECT evil\0.good.example:443 HTTP/1.1"),
    ],
)
async def test_everything_else_is_refused(line: bytes) -> None:
    answer, _ = await asked(line + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["169.254.169.254", "10.0.0.1"], []])
async def test_a_listed_name_that_leads_inside_is_refused(addresses: list[str]) -> None:
    answer, proxy = await asked(b"CONNECT good.example:443 HTTP/1.1\r\n\r\n", addresses)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert proxy.refused == ["good.example"]


async def test_inside_the_sandbox_only_the_proxy_can_be_reached(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap(), network=("good.example",)) as box:
        program = (
            "import os, urllib.request, urllib.error, socket\n"
            "try: urllib.request.urlopen('http://evil.example/')\n"
            "except urllib.error.HTTPError as error: print(error.code)\n"
            "try: socket.create_connection(('192.0.2.1', 80), 2)\n"
            "except OSError as error: print(error.strerror); raise SystemExit(1)\n"
        )
        (box.context.workspace / "p.py").write_text(program)
        text, code = await box.run("python3 p.py")
    assert code == 1
    assert text.startswith("403\nNetwork is unreachable\n")
    assert "[blocked by the sandbox: the network reaches listed hosts only, not evil.example" in text


async def test_a_descriptor_of_the_proxy_is_not_left_to_the_command(tmp_path: Path) -> None:
    with boxed(tmp_path, needs_bubblewrap(), network=("good.example",)) as box:
        assert (await Caller.text(box, "bash", command="exec ls /proc/self/fd")).split() == [
            "0",
            "1",
            "2",
            "3",
        ]


@pytest.mark.parametrize("copies", [False, True], ids=["linked", "copied"])
def test_the_bridge_starts_from_a_virtual_environment_in_tmp(copies: bool) -> None:
    """With its workspace in /tmp too: the private /tmp of the sandbox hides neither."""
    needs_bubblewrap()
    with tempfile.TemporaryDirectory(prefix="prunecli-test-", dir="/tmp") as folder:
        words = ["--copies"] if copies else []
        made = Path(folder, ".venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", *words, made], check=True)
        done = subprocess.run(
            [made / "bin" / "python", "-m", "tests.sandbox.run_elsewhere", folder],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.startswith("0 in\nhttp://127.0.0.1:"), done.stdout + done.stderr


async def test_the_bridge_starts_from_a_folder_that_is_hidden(tmp_path: Path) -> None:
    """prunecli may be installed below a folder whose other files commands can't open."""
    hidden = tmp_path / "home" / "own"
    (hidden / "secret").mkdir(parents=True)
    (hidden / "venv").mkdir()
    (hidden / "venv" / "python").write_text("#!/bin/sh\n")
    ground = {"needed": (str((hidden / "venv").resolve()),)}
    with boxed(tmp_path, needs_bubblewrap(), ground=ground) as box:
        assert await box.run(f"cat {hidden}/venv/python") == ("#!/bin/sh\n", 0)
        assert (await box.run(f"ls {hidden}/secret"))[1]
