"""The agent side of the protocol: the methods that an editor calls."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.interfaces import Client

from prunecli import __version__
from prunecli.config.credentials import misses_key
from prunecli.config.sources import load
from prunecli.features.acp.client_servers import ClientServer, use_servers
from prunecli.features.acp.editor_session import EditorSession
from prunecli.features.acp.prompts import Given, read_prompt
from prunecli.features.acp.session_options import choose, config_options, modes, set_mode
from prunecli.features.acp.texts import noticed
from prunecli.runtime import Runtime
from prunecli.runtime.make import NO_KEY, make_runtime
from prunecli.session.store import Store
from prunecli.tools.processes.environment import hide_environment
from prunecli.util.errors import PromptBlocked, PrunecliError, SessionNotFound, Unauthorized, UsageError
from prunecli.util.launch_options import Launch
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line, visible

AUTH_METHOD = "api-key"
AUTH_HOW = (
    "Run `prunecli login` in a terminal, or set ANTHROPIC_API_KEY in the editor's settings for this agent."
)
NO_KEY_WORDS = f"No API key. {AUTH_HOW}"
PAGE = 50
"""Maximum sessions in one answer to `session/list`."""
AUTH_REQUIRED, INVALID_PARAMS, INTERNAL, NOT_FOUND = -32000, -32602, -32603, -32002


class EditorAgent:
    """The sessions of one editor. `asked` holds the options of each session, `environ` the API keys."""

    def __init__(self, asked: Launch, environ: Mapping[str, str]) -> None:
        self._asked = asked
        self._environ = environ
        self._places = Places.of(environ)
        self._sessions: dict[str, EditorSession] = {}
        self._client: Client | None = None
        self._able = schema.ElicitationCapabilities()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,  # noqa: ARG002
        client_capabilities: schema.ClientCapabilities | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Announce prunecli's capabilities. The protocol has one version."""
        if client_capabilities is not None and client_capabilities.elicitation is not None:
            self._able = client_capabilities.elicitation
        mcp = find_spec("mcp") is not None
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=mcp, sse=mcp),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                ),
            ),
            auth_methods=[schema.AuthMethodAgent(id=AUTH_METHOD, name="API key", description=AUTH_HOW)],
            agent_info=schema.Implementation(name="prunecli", title="prunecli", version=__version__),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        """Check for an API key. prunecli never asks for one here."""
        if method_id != AUTH_METHOD:
            raise RequestError(INVALID_PARAMS, f"Unknown authentication method: {one_line(method_id)}")
        with _answering():
            if not await asyncio.to_thread(self._has_key):
                raise RequestError(AUTH_REQUIRED, NO_KEY_WORDS)
        return schema.AuthenticateResponse()

    def _has_key(self) -> bool:
        asked, places = self._asked, self._places
        config = load(
            places,
            places.home,
            self._environ,
            flags=asked.flags,
            sets=asked.sets,
            config_file=asked.config_file,
            trusted=False,
        )
        return not misses_key(config.model.name, config, self._environ, places)

    # Sessions ------------------------------------------------------------------------------------------------

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[ClientServer] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        session = await self._opened(cwd, mcp_servers or ())
        self._begin_soon(session)
        return schema.NewSessionResponse(
            session_id=session.id,
            modes=modes(session.runtime),
            config_options=config_options(session.runtime),
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[ClientServer] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Open an earlier session and replay it to the editor."""
        session = await self._found(cwd, session_id, mcp_servers or ())
        await session.replay()
        self._begin_soon(session)
        return schema.LoadSessionResponse(
            modes=modes(session.runtime),
            config_options=config_options(session.runtime),
        )

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[ClientServer] | None = None, **_: Any
    ) -> schema.ResumeSessionResponse:
        """Open an earlier session without replaying it."""
        session = await self._found(cwd, session_id, mcp_servers or ())
        self._begin_soon(session)
        return schema.ResumeSessionResponse(
            modes=modes(session.runtime),
            config_options=config_options(session.runtime),
        )

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[ClientServer] | None = None, **_: Any
    ) -> schema.ForkSessionResponse:
        with _answering():
            path = await asyncio.to_thread(self._path, session_id)
            session = await self._opened(cwd, mcp_servers or (), path, fork=True)
        self._begin_soon(session)
        return schema.ForkSessionResponse(
            session_id=session.id,
            modes=modes(session.runtime),
            config_options=config_options(session.runtime),
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Return the sessions of a folder, or all, newest first."""
        if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            raise RequestError(INVALID_PARAMS, f"Invalid session cursor: {one_line(cursor)}")
        folder = _folder(cwd) if cwd else None
        start = int(cursor or 0)
        listed = await asyncio.to_thread(Store(self._places.sessions).list, folder)
        listed = [one for one in listed if not one.is_task and one.cwd.startswith("/")]
        found = [
            schema.SessionInfo(
                session_id=one.id,
                cwd=one.cwd,
                title=one_line(one.name or one.title) or None,
                updated_at=datetime.fromtimestamp(one.changed / 1000, UTC).isoformat(),
            )
            for one in listed[start : start + PAGE]
        ]
        more = str(start + PAGE) if len(listed) > start + PAGE else None
        return schema.ListSessionsResponse(sessions=found, next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        session = self._known(session_id)
        del self._sessions[session_id]
        with _answering():
            await session.close()
        return schema.CloseSessionResponse()

    async def _opened(
        self, cwd: str, servers: Iterable[ClientServer], path: Path | None = None, *, fork: bool = False
    ) -> EditorSession:
        """Open a new session in this folder, a stored one, or a copy of it."""
        folder, client = _folder(cwd), self._client
        assert client is not None  # noqa: S101  # set before the first message is read
        with _answering():
            runtime = await asyncio.to_thread(self._made, folder, path, fork=fork)
            if runtime.config.origin("model.name") == NO_KEY:
                await runtime.close()
                raise RequestError(AUTH_REQUIRED, NO_KEY_WORDS)
            notices = use_servers(runtime, servers)
            session = EditorSession(runtime, client, notices, self._able)
        self._sessions[session.id] = session
        return session

    def _made(self, folder: Path, path: Path | None, *, fork: bool) -> Runtime:
        """Make the runtime, in a thread: a long session takes seconds to read."""
        runtime = make_runtime(replace(self._asked, cwd=folder), self._environ)
        hide_environment(runtime.config.key_variables)
        if path is not None:
            runtime.open_session(path, fork=fork)
        return runtime

    async def _found(self, cwd: str, session_id: str, servers: Iterable[ClientServer]) -> EditorSession:
        with _answering():
            path = await asyncio.to_thread(self._path, session_id)
        if session_id in self._sessions:
            if self._sessions[session_id].busy:
                raise RequestError(INVALID_PARAMS, f"Session {session_id} is working; cancel it first")
            await self._sessions.pop(session_id).close()
        return await self._opened(cwd, servers, path)

    def _path(self, session_id: str) -> Path:
        path = Store(self._places.sessions).find(session_id)
        if path.stem != session_id:  # only people may abbreviate ids
            raise SessionNotFound(f"no session {session_id!r}")
        return path

    def _begin_soon(self, session: EditorSession) -> None:
        """Start once the response to this request is written."""
        asyncio.get_running_loop().call_soon(session.begin)

    def _known(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(NOT_FOUND, f"No open session {one_line(session_id)[:80]}")
        return self._sessions[session_id]

    # Turns ---------------------------------------------------------------------------------------------------

    async def prompt(self, session_id: str, prompt: Sequence[Given], **_: Any) -> schema.PromptResponse:
        session = self._known(session_id)
        with _answering():
            given = read_prompt(prompt, session.runtime.setup.cwd)
            if not given.text.strip() and not given.images:
                raise RequestError(INVALID_PARAMS, "The prompt is empty")
            return schema.PromptResponse(stop_reason=await session.prompt(given))

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Change the mode, starting with the next tool call."""
        session = self._known(session_id)
        with _answering():
            set_mode(session.runtime, mode_id)
        session.show_choices()
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._known(session_id)
        with _answering():
            said = choose(session.runtime, config_id, str(value))
            await asyncio.to_thread(session.runtime.session.commit)
        for one in said:
            session.feed.tell(noticed(one.text))
        session.show_choices()
        return schema.SetSessionConfigOptionResponse(config_options=config_options(session.runtime))

    async def close(self) -> None:
        ends = await asyncio.gather(
            *(session.close() for session in self._sessions.values()), return_exceptions=True
        )
        self._sessions.clear()
        for error in ends:
            if error is not None:
                raise error


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if "\0" in cwd or not folder.is_absolute():
        raise RequestError(INVALID_PARAMS, f"cwd: not an absolute path: {one_line(cwd)[:200]}")
    if not os.path.isdir(folder):
        raise RequestError(INVALID_PARAMS, f"cwd: no such folder: {one_line(cwd)[:200]}")
    return folder


@contextmanager
def _answering() -> Iterator[None]:
    """Convert user errors to protocol errors."""
    try:
        yield
    except PrunecliError as error:
        code = INTERNAL
        if isinstance(error, Unauthorized):
            code = AUTH_REQUIRED
        elif isinstance(error, SessionNotFound):
            code = NOT_FOUND
        elif isinstance(error, UsageError | PromptBlocked):
            code = INVALID_PARAMS
        message = ". ".join(part.rstrip(".") for part in (error.message, error.hint) if part)
        raise RequestError(code, visible(message)) from error
