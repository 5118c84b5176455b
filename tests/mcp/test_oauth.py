"""Logins at MCP servers, against a strict authorization server on loopback."""

import asyncio
import json
import os
import stat
from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from prunecli.features.mcp.definition import Definition, OAuth
from prunecli.features.mcp.logins import Login
from prunecli.features.mcp.oauth import LoginFailed, NeedsLogin, log_in, may_log_in, quiet_auth
from prunecli.features.mcp.redirect import Redirect
from prunecli.util.errors import ConfigError, PrunecliError
from tests.mcp.authorization import Authorization, authorization


@pytest.fixture
async def server():
    async with authorization() as running:
        yield running


class Desk:
    """A definition for the server and the folder of its login."""

    def __init__(self, server: Authorization, folder) -> None:
        self.server = server
        self.definition = Definition("hub", "http", url=server.url)
        self.login = Login(folder / "logins", "hub", server.url)

    async def log_in(self, show=None, **more) -> None:
        await log_in(self.definition, self.login, show or self.server.browse, **more)

    async def status(self, definition: Definition | None = None) -> int:
        """The status of a request as a connection sends it, in a process of its own."""
        definition = definition or self.definition
        async with httpx2.AsyncClient(auth=quiet_auth(definition, self.login)) as client:
            return (await client.post(definition.url, json={})).status_code

    def end(self) -> None:
        """Let the time of the access token pass."""
        self.login.save({**self.login.load(), "ends": 1})

    @property
    def file(self):
        return next(self.login._path.parent.iterdir())


@pytest.fixture
def desk(server, tmp_path) -> Desk:
    return Desk(server, tmp_path)


async def failure(call) -> PrunecliError:
    with pytest.raises(PrunecliError) as failed:
        await call
    return failed.value


async def test_a_login_is_kept_and_used_by_connections(desk):
    await desk.log_in()
    assert desk.server.refused == []
    assert await desk.status() == 200
    assert desk.server.requests.count("GET /authorize") == 1
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.file.parent.stat().st_mode) == 0o700
    assert len(list(desk.file.parent.iterdir())) == 1


async def test_without_a_login_a_connection_says_how_to_make_one_and_registers_nowhere_twice(desk):
    failed = await failure(desk.status())
    assert isinstance(failed, NeedsLogin)
    assert (failed.message, failed.hint) == ("hub needs a login", "run prunecli and /mcp login hub")
    await failure(desk.status())
    assert len(desk.server.clients) == 0


async def test_an_ended_token_is_renewed_by_a_process_that_did_not_log_in(desk):
    await desk.log_in()
    first = desk.login.load()
    desk.end()
    assert await desk.status() == 200
    again = desk.login.load()
    assert again["tokens"]["refresh_token"] != first["tokens"]["refresh_token"]
    assert again["ends"] > first["ends"] - 5
    desk.end()
    assert await desk.status() == 200
    assert desk.server.requests.count("GET /authorize") == 1
    assert desk.server.refused == []


async def test_a_token_that_the_server_revoked_early_is_renewed(desk):
    await desk.log_in()
    desk.server.access.clear()
    assert await desk.status() == 200
    assert desk.server.requests.count("GET /authorize") == 1


@pytest.mark.parametrize("ended", [True, False])
async def test_a_revoked_login_needs_a_new_one(desk, ended):
    await desk.log_in()
    desk.server.access.clear()
    desk.server.refresh.clear()
    if ended:
        desk.end()
    assert isinstance(await failure(desk.status()), NeedsLogin)
    await desk.log_in()
    assert await desk.status() == 200


async def test_tokens_that_another_process_renewed_are_taken(desk):
    await desk.log_in()
    async with httpx2.AsyncClient(auth=quiet_auth(desk.definition, desk.login)) as client:
        assert (await client.post(desk.server.url)).status_code == 200
        desk.end()
        client.auth.context.token_expiry_time = 1
        assert await desk.status() == 200
        assert (await client.post(desk.server.url)).status_code == 200
    assert desk.server.refused == []


async def test_the_client_of_an_earlier_login_is_used_again_while_its_port_is_free(desk):
    await desk.log_in()
    await desk.log_in()
    assert len(desk.server.clients) == 1
    port = urlsplit(desk.login.load()["client"]["redirect_uris"][0]).port
    async with await Redirect.at(port):
        await desk.log_in()
    assert len(desk.server.clients) == 2
    assert desk.server.refused == []


async def test_a_client_id_of_the_user_is_used_with_its_port_and_scopes(desk):
    async with await Redirect.at(0) as free:
        port = urlsplit(free.address).port
    desk.server.registers = False
    desk.server.clients["mine"] = [f"http://localhost:{port}/callback"]
    desk.definition = replace(desk.definition, oauth=OAuth("mine", port, ("a", "b")))
    await desk.log_in()
    assert desk.server.scopes == ["a b"]
    assert await desk.status() == 200
    desk.end()
    assert await desk.status() == 200
    async with await Redirect.at(port):
        assert (await failure(desk.log_in())).message == f"hub: the redirect port {port} is in use"


async def test_a_redirect_that_is_not_registered_is_refused_by_the_server_and_ends_in_time(desk):
    desk.server.registers = False
    desk.server.clients["mine"] = ["http://localhost:1/callback"]
    desk.definition = replace(desk.definition, oauth=OAuth("mine"))
    failed = await failure(desk.log_in(seconds=0.2))
    assert failed.message == "hub: no login within 0.2 seconds"
    assert desk.server.refused == ["redirect_uri"]


async def test_a_server_without_registration_is_said(desk):
    desk.server.registers = False
    failed = await failure(desk.log_in())
    assert isinstance(failed, LoginFailed)
    assert failed.message.startswith("hub: login refused: ")
    assert failed.message.isprintable()


async def test_a_user_who_says_no_is_understood(desk):
    desk.server.denies = True
    assert (await failure(desk.log_in())).message == "login refused: access_denied"
    assert "tokens" not in desk.login.load()


async def test_an_answer_for_another_login_changes_nothing(desk):
    desk.server.foreign_state = True
    assert "no login within" in (await failure(desk.log_in(seconds=0.2))).message

    async def twice(address: str) -> None:
        redirect = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        async with httpx2.AsyncClient() as client:
            for query in ({}, {"code": "x"}, {"code": "x", "state": ""}, {"error": "x", "state": "y"}):
                assert (await client.get(f"{redirect}?{urlencode(query)}")).status_code == 400
            assert (await client.post(redirect)).status_code == 404
            assert (await client.get(redirect.replace("callback", "other"))).status_code == 404
        await desk.server.browse(address)

    desk.server.foreign_state = False
    await desk.log_in(twice)
    assert await desk.status() == 200


async def test_an_answer_of_another_issuer_is_refused(desk):
    desk.server.foreign_issuer = True
    assert (await failure(desk.log_in())).message.startswith("hub: login refused: ")
    assert "tokens" not in desk.login.load()


async def test_a_login_page_without_tls_elsewhere_is_not_opened(desk):
    desk.server.pages = "http://login.example/authorize"
    shown = []

    async def show(address: str) -> None:
        shown.append(address)

    assert (await failure(desk.log_in(show))).message == "hub: the login page does not use https"
    assert shown == []


async def test_an_endless_answer_is_not_read(desk):
    desk.server.long_answer = True
    assert "longer than 1,000,000 bytes" in (await failure(desk.log_in())).message


async def test_a_server_that_asks_for_no_login_or_is_not_there_is_said(desk):
    await desk.log_in()
    desk.server.access.add("")
    assert "did not ask for a login" in (await failure(desk.log_in())).message
    gone = Definition("gone", "http", url="http://127.0.0.1:9/mcp")
    assert (await failure(log_in(gone, desk.login, desk.server.browse))).message.startswith(
        "gone: cannot connect"
    )


@pytest.mark.parametrize(
    ("definition", "may"),
    [
        (Definition("x", "http", url="https://a.example"), True),
        (Definition("x", "http", url="https://a.example", oauth=OAuth("id")), True),
        (Definition("x", "http", url="https://a.example", oauth=False), False),
        (Definition("x", "http", url="https://a.example", headers={"authorization": "Bearer x"}), False),
        (Definition("x", command="a"), False),
    ],
)
async def test_who_gets_no_login(definition, may, tmp_path):
    assert may_log_in(definition) is may
    assert (quiet_auth(definition, Login(tmp_path, "x", "")) is not None) is may
    if not may:
        failed = await failure(log_in(definition, Login(tmp_path, "x", ""), Authorization().browse))
        assert failed.message.startswith("x: cannot log in: ")


async def test_tokens_go_to_their_address_only(desk, tmp_path):
    await desk.log_in()
    other = Login(tmp_path / "logins", "hub", "https://evil.example/mcp")
    assert other.load() == {}
    assert Login(tmp_path / "logins", "other", desk.server.url).load() == {}


async def test_a_login_can_be_forgotten(desk):
    await desk.log_in()
    assert desk.login.forget()
    assert not desk.login.forget()
    assert isinstance(await failure(desk.status()), NeedsLogin)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "tokens": 5, "client": [], "ends": "x"}']
)
async def test_a_damaged_login_is_none(desk, text):
    await desk.log_in()
    desk.file.write_text(text)
    assert isinstance(await failure(desk.status()), NeedsLogin)
    desk.file.write_text(text)
    if "client" not in text:
        await desk.log_in()
        assert await desk.status() == 200


async def test_a_login_that_others_can_read_is_not_used(desk):
    await desk.log_in()
    desk.file.chmod(0o640)
    failed = await failure(desk.status())
    assert isinstance(failed, ConfigError)
    assert "only you can read" in failed.message
    path = desk.file
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))
    assert isinstance(await failure(desk.status()), ConfigError)


async def test_nothing_secret_is_in_an_error(desk):
    await desk.log_in()
    tokens = json.dumps(desk.login.load()["tokens"])
    desk.server.access.clear()
    desk.server.refresh.clear()
    failed = await failure(desk.status())
    assert all(word not in f"{failed.message} {failed.hint}" for word in tokens.split('"') if len(word) > 20)


async def test_the_page_reads_little_and_not_forever():
    async with await Redirect.at(0) as redirect:
        redirect.expect("state")
        port = urlsplit(redirect.address).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /" + b"x" * 100_000)
        assert await reader.read() == b""
        writer.close()
        with pytest.raises(OSError):
            await Redirect.at(port)
        assert os.path.basename(urlsplit(redirect.address).path) == "callback"
