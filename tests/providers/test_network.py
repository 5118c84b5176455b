"""The way to an endpoint: which variables of the environment are heeded, and which are refused by name."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from prunecli.providers.failures import Failures
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.network import route
from prunecli.util.errors import ConnectionLost, UsageError
from tests.endpoint import Reply, serve
from tests.providers.requests import request

ADDRESS = "https://api.example.com"


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "http://small:1", "HTTPS_PROXY": "http://large:1"}, "http://small:1"),
        ({"HTTP_PROXY": "http://p:1"}, ""),
        ({"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ({"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ({"HTTPS_PROXY": "  "}, ""),
        ({"ALL_PROXY": "socks5h://u:secret@p:1080"}, "socks5h://u:secret@p:1080"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other.com, .example.com"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ple.com,"}, "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com:443"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com:8443"}, "http://p:1"),
    ],
)
def test_the_proxy_of_the_environment_is_used_unless_it_is_excepted(
    environ: dict[str, str], proxy: str
) -> None:
    assert route(ADDRESS, environ).proxy == proxy


@pytest.mark.parametrize(
    ("address", "excepted", "is_excepted"),
    [
        ("http://10.1.2.3:8080", "10.0.0.0/8", True),
        ("http://10.1.2.3:8080", "localhost 10.0.0.0/8", True),
        ("http://10.1.2.3:8080", "10.1.2.3/8:8080", True),
        ("http://10.1.2.3:8080", "10.0.0.0/8:80", False),
        ("http://11.1.2.3", "10.0.0.0/8,fd00::/8", False),
        ("http://10.1.2.3", "10.0.0.0/99,a/b,/,:,[", False),
        ("http://[fd00::7]:1234", "10.0.0.0/8,FD00::/8", True),
        ("http://[::1]:1234", "::1", True),
        ("http://[::1]:1234", "[::1]:1234", True),
        ("http://[::1]:1234", "[::1]:1", False),
        ("http://ten.example.com", "10.0.0.0/8", False),
    ],
)
def test_a_network_of_addresses_can_be_excepted(address: str, excepted: str, is_excepted: bool) -> None:
    found = route(address, {"http_proxy": "http://p:1", "no_proxy": excepted})
    assert (found.proxy == "") is is_excepted


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_certificates_set_for_other_programs_are_named_where_ours_are_refused(variable: str) -> None:
    refused = ssl.SSLCertVerificationError(1, "self-signed certificate")
    failures = Failures(ADDRESS, route=route(ADDRESS, {variable: "/x.pem"}))
    assert f"{variable} is set, but not read" in failures.lost(refused).hint
    assert "SSL_CERT_FILE" in failures.lost(refused).hint
    assert variable not in Failures(ADDRESS).lost(refused).hint


@pytest.mark.parametrize(
    "value",
    [
        "socks4://secret:1",
        "ftp://secret",
        "http://",
        "http://[::1",
        "http://secret:99999",
        "http://a secret",
        "http://secret:x",
        "http://sécret",
    ],
)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "all_proxy"])
def test_a_proxy_that_is_not_understood_is_named_without_its_password(variable: str, value: str) -> None:
    with pytest.raises(UsageError) as refused:
        route(ADDRESS, {variable: value})
    assert refused.value.message == f"{variable}: not a proxy URL"
    assert "secret" not in refused.value.hint


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("words")
    for path, why in ((tmp_path / "nowhere", "No such file"), (tmp_path / "empty.pem", "no certificates")):
        with pytest.raises(UsageError, match=why) as refused:
            route(ADDRESS, {"SSL_CERT_FILE": str(path)})
        assert refused.value.message.startswith("SSL_CERT_FILE: ")
    assert route("http://127.0.0.1:1", {"SSL_CERT_FILE": "/nowhere"}).ca_file == "/nowhere"


def test_a_log_of_keys_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"SSLKEYLOGFILE: .*No such file"):
        route(ADDRESS, {"SSLKEYLOGFILE": str(tmp_path / "nowhere" / "keys")})
    route(ADDRESS, {"SSLKEYLOGFILE": str(tmp_path / "keys")})


@contextmanager
def socks_proxy() -> Iterator[tuple[str, list[int]]]:
    """A SOCKS5 proxy without a password on this machine; its URL, and the ports that it was asked for."""
    asked: list[int] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def take() -> None:
        with suppress(OSError):
            client, _ = listener.accept()
            client.recv(2 + client.recv(2, socket.MSG_PEEK)[1])
            client.sendall(b"\x05\x00")
            wanted = client.recv(262)
            port = int.from_bytes(wanted[-2:], "big")
            asked.append(port)
            server = socket.create_connection(("127.0.0.1", port))
            client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
            threading.Thread(target=carry, args=(server, client), daemon=True).start()
            carry(client, server)

    threading.Thread(target=take, daemon=True).start()
    try:
        yield f"socks5://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.close()


async def test_a_request_goes_through_a_socks_proxy() -> None:
    with serve([Reply("Through it.")]) as endpoint, socks_proxy() as (url, asked):
        way = route(endpoint.base_url, {"ALL_PROXY": url})
        provider = AnthropicProvider(Endpoint("sk-ant-test-000000", "", endpoint.base_url), route=way)
        try:
            events = [event async for event in provider.stream(request())]
        finally:
            await provider.close()
    assert "Through it." in str(events[-1])
    assert asked == [int(endpoint.base_url.rpartition(":")[2])]


@contextmanager
def http_proxy(answer: bytes) -> Iterator[str]:
    """An HTTP proxy that answers everything with this; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def take() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.recv(65536)
                client.sendall(answer)
                client.close()

    threading.Thread(target=take, daemon=True).start()
    try:
        yield f"http://user:secret@127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


async def failure(address: str, variable: str, proxy: str) -> ConnectionLost:
    """How a request to an address fails through a proxy."""
    way = route(address, {variable: proxy})
    provider = AnthropicProvider(Endpoint("sk-ant-test-000000", "", address), route=way)
    try:
        with pytest.raises(ConnectionLost) as lost:
            _ = [event async for event in provider.stream(request())]
    finally:
        await provider.close()
    return lost.value


@pytest.mark.parametrize(
    ("address", "variable"),
    [("http://endpoint.invalid", "http_proxy"), (ADDRESS, "HTTPS_PROXY"), (ADDRESS, "ALL_PROXY")],
)
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_is_down_is_named_with_its_variable(
    address: str, variable: str, scheme: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    lost = await failure(address, variable, f"{scheme}://127.0.0.1:{port}")
    assert lost.message == f"{variable}: {scheme}://127.0.0.1:{port}: connection refused"
    assert lost.hint == f"start the proxy, or correct or unset {variable}"


async def test_a_proxy_whose_name_is_unknown_is_named_with_its_variable() -> None:
    lost = await failure(ADDRESS, "HTTPS_PROXY", "http://user:secret@proxy.invalid:3128")
    assert lost.message == "HTTPS_PROXY: http://***@proxy.invalid:3128: can't resolve the name proxy.invalid"


async def test_what_a_proxy_refuses_is_no_failure_of_the_endpoint() -> None:
    with http_proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as url:
        lost = await failure(ADDRESS, "HTTPS_PROXY", url)
    assert "HTTPS_PROXY: http://***@127.0.0.1:" in lost.message
    assert "the proxy refused: 407" in lost.message
    assert "secret" not in lost.message
