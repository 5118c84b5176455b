"""A server that refuses a token in the middle of a session: renewed quietly, or one line and a way to log in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import uvicorn

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.hub import Hub
from prunecli.features.mcp.logins import Login
from prunecli.features.mcp.oauth import log_in, quiet_auth
from prunecli.features.mcp.server_state import State, Wanted
from prunecli.model.messages import plain_text
from prunecli.util.errors import ToolError
from tests.mcp.authorization import Authorization, authorization
from tests.mcp.guarded import guarded
from tests.mcp.running import nothing, server_of, world
from tests.waiting import until


@dataclass
class Desk:
    """A server behind a login, and a hub that is logged in there."""

    server: Authorization
    login: Login
    definition: Definition
    hub: Hub
    web: uvicorn.Server

    async def notes(self) -> str:
        output = await self.hub.ask(self.hub.call("web", "notes", {}, nothing))
        return plain_text(output.content)

    async def log_in(self) -> None:
        await log_in(self.definition, self.login, self.server.browse)

    async def becomes(self, state: State) -> None:
        await until(lambda: server_of(self.hub, "web").state == state, lambda: str(self.hub.servers))

    def revoke(self) -> None:
        self.server.access.clear()
        self.server.refresh.clear()


@asynccontextmanager
async def logged_in(folder: Path) -> AsyncIterator[Desk]:
    async with authorization() as server, guarded(server) as web:
        definition = Definition("web", "http", url=server.url, timeout=20)
        login = Login(folder / "logins", "web", server.url)
        hub = Hub(replace(world(folder), auth=lambda one: quiet_auth(one, login)))
        desk = Desk(server, login, definition, hub, web)
        await desk.log_in()
        hub.use([Wanted(definition)])
        hub.begin()
        try:
            await desk.becomes("connected")
            yield desk
        finally:
            await asyncio.to_thread(hub.close)


async def test_a_token_that_ends_during_a_session_is_renewed_quietly(tmp_path: Path) -> None:
    async with logged_in(tmp_path) as desk:
        assert await desk.notes() == "secret notes"
        tokens = [desk.login.load()["tokens"]]
        for _ in range(2):
            desk.server.access.clear()
            assert await desk.notes() == "secret notes"
            tokens.append(desk.login.load()["tokens"])
        for key in ("access_token", "refresh_token"):
            assert len({one[key] for one in tokens}) == 3, "each renewal brings new ones, and keeps them"
        assert desk.server.refused == []
        assert desk.server.requests.count("GET /authorize") == 1
        assert server_of(desk.hub, "web").state == "connected"


async def test_a_login_that_is_revoked_during_a_session_is_one_line_and_can_be_made_again(
    tmp_path: Path,
) -> None:
    async with logged_in(tmp_path) as desk:
        desk.revoke()
        with pytest.raises(ToolError) as failed:
            await desk.notes()
        assert str(failed.value) == (
            "The server web no longer accepts the login: /mcp login web to log in again."
        )
        await desk.becomes("needs login")
        assert server_of(desk.hub, "web").why == "/mcp login web"
        with pytest.raises(ToolError, match="/mcp login web"):
            await desk.notes()
        await desk.log_in()
        assert await desk.notes() == "secret notes", "the next call connects again"
        await desk.becomes("connected")


async def test_a_login_that_was_revoked_before_the_start_needs_a_new_one(tmp_path: Path) -> None:
    async with logged_in(tmp_path) as desk:
        desk.revoke()
        desk.hub.restart("web")
        await desk.becomes("needs login")


async def test_a_server_that_goes_away_after_a_renewal_needs_no_login(tmp_path: Path) -> None:
    async with logged_in(tmp_path) as desk:
        desk.server.access.clear()
        assert await desk.notes() == "secret notes"
        desk.web.should_exit = desk.web.force_exit = True
        await until(lambda: not desk.web.servers[0].is_serving())
        with pytest.raises(ToolError, match="The connection to the server web was lost"):
            await desk.notes()
        await desk.becomes("failed")
