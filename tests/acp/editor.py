"""An editor for tests: the client side of the protocol's own library, over real standard streams."""

import asyncio
import os
import sys
from asyncio.streams import FlowControlMixin
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import isawaitable
from pathlib import Path
from typing import Any

from acp import RequestError, spawn_agent_process, text_block
from acp.client import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeclineElicitationResponse,
    DeniedOutcome,
    RequestPermissionResponse,
)

from prunecli.cli.flags import read
from prunecli.features.acp.serve import serve_on
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from tests.e2e.bound import OPUS, project
from tests.endpoint import Endpoint

QUIET = ("pruning.enabled=false", "model.thinking=2000")
KEY = "sk-ant-test-0000000000"
LIMIT = 50_000_000
"""Bytes of one message."""


class Editor:
    """Collects updates, and answers questions with `answer(title, options)`: the id of an option, or None."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        self.answer: Callable[[Any, list[Any]], Any] = lambda _call, options: options[0].option_id
        self.forms: list[tuple[str, Any]] = []
        self.fill: Callable[[str, Any], Any] = lambda _message, _mode: DeclineElicitationResponse(
            action="decline"
        )
        self.changed = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.changed.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((session_id, tool_call, options))
        self.changed.set()
        chosen = self.answer(tool_call, options)
        if isawaitable(chosen):
            chosen = await chosen
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.forms.append((message, mode))
        return self.fill(message, mode)

    async def ext_method(self, method: str, params: Any) -> Any:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: Any) -> None:
        pass

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait until this is true of what arrived, and return it."""
        async with asyncio.timeout(30):
            while not (it := found()):
                self.changed.clear()
                await self.changed.wait()
        return it

    # What arrived --------------------------------------------------------------------------------------------

    def of(self, kind: str, session: str | None = None) -> list[Any]:
        """The updates of a kind."""
        return [one for id_, one in self.updates if one.session_update == kind and session in (None, id_)]

    def text(self, session: str | None = None) -> str:
        """The text of the agent, without what prunecli itself says."""
        chunks = self.of("agent_message_chunk", session)
        return "".join(one.content.text for one in chunks if not one.field_meta)

    def notices(self, session: str | None = None) -> str:
        """What prunecli itself says."""
        chunks = self.of("agent_message_chunk", session)
        return "".join(one.content.text for one in chunks if one.field_meta)

    def calls(self, session: str | None = None) -> dict[str, dict[str, Any]]:
        """Each tool call with its last title, kind, status and content."""
        found: dict[str, dict[str, Any]] = {}
        for id_, one in self.updates:
            if one.session_update in ("tool_call", "tool_call_update") and session in (None, id_):
                if one.session_update == "tool_call":
                    assert one.tool_call_id not in found, "an id is announced once"
                more = {name: value for name, value in one.model_dump().items() if value is not None}
                found[one.tool_call_id] = {**found.get(one.tool_call_id, {}), **more}
        return found


def environment(tmp_path: Path, base_url: str, key: str = KEY) -> dict[str, str]:
    """The environment of the program."""
    keyed = {"ANTHROPIC_API_KEY": key} if key else {}
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PRUNECLI_HOME": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **({"ANTHROPIC_BASE_URL": base_url} if base_url else {}),
        **keyed,
    }


def words(*sets: str, trust: bool = True, model: str = OPUS) -> list[str]:
    """The command line of the program."""
    given = [word for one in (*QUIET, *sets) for word in ("--set", one)]
    return ["-m", "prunecli", *(["--trust"] if trust else []), "--model", model, *given, "acp"]


@asynccontextmanager
async def editing(
    tmp_path: Path,
    base_url: str,
    *sets: str,
    trust: bool = True,
    key: str = KEY,
    model: str = OPUS,
    flags: tuple[str, ...] = (),
    alone: bool = False,
    able: ClientCapabilities | None = None,
) -> AsyncIterator[tuple[Editor, Any, Path]]:
    """An editor, its connection to the program, and a folder to work in. Afterwards every log must verify.

    The program runs in a process of its own if `alone`, otherwise in this one, which takes a tenth of the time.
    """
    work = project(tmp_path / "work")
    editor = Editor()
    line = words(*sets, trust=trust, model=model)
    command = [*line[:-1], *flags, line[-1]]
    env = environment(tmp_path, base_url, key)
    (tmp_path / "home").mkdir(exist_ok=True)
    opened = (
        _process(editor, command, env, work, tmp_path / "stderr")
        if alone
        else _here(editor, command, env, work)
    )
    async with opened as connection, asyncio.timeout(60):
        await connection.initialize(protocol_version=1, client_capabilities=able)
        yield editor, connection, work
    for path in (tmp_path / "data" / "sessions").glob("*/*.jsonl"):
        report = verify_session(path, read_log(path))
        assert report.clean, report.lines


@asynccontextmanager
async def _process(
    editor: Editor, command: list[str], env: dict[str, str], work: Path, errors: Path
) -> AsyncIterator[Any]:
    with errors.open("ab") as stderr:
        async with spawn_agent_process(
            lambda _: editor,  # type: ignore[arg-type,return-value]
            sys.executable,
            *command,
            env=env,
            cwd=work,
            transport_kwargs={"stderr": stderr, "shutdown_timeout": 20, "limit": LIMIT},
            use_unstable_protocol=True,
        ) as (connection, process):
            yield connection
    _check(process.returncode, errors)


def _check(code: int | None, errors: Path) -> None:
    assert code == 0, errors.read_text()
    assert "Traceback" not in errors.read_text()


@asynccontextmanager
async def _here(editor: Editor, command: list[str], env: dict[str, str], work: Path) -> AsyncIterator[Any]:
    """The program's own `serve_on`, on two pipes."""
    (source, to_agent), (from_agent, target) = os.pipe(), os.pipe()
    asked = replace(read(command[2:]).launch, cwd=work)
    serving = asyncio.create_task(serve_on(asked, env, source, target))
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=LIMIT)
    receiving, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent, "rb", 0)
    )
    sending, protocol = await loop.connect_write_pipe(FlowControlMixin, os.fdopen(to_agent, "wb", 0))
    writer = asyncio.StreamWriter(sending, protocol, None, loop)
    connection = ClientSideConnection(lambda _: editor, writer, reader, use_unstable_protocol=True)  # type: ignore[arg-type,return-value]
    try:
        yield connection
    finally:
        await connection.close()
        sending.close()
        async with asyncio.timeout(20):
            assert await serving == 0
        receiving.close()
        for descriptor in (source, target):
            os.close(descriptor)


@asynccontextmanager
async def at_work(
    tmp_path: Path, script: Any, *sets: str, **more: Any
) -> AsyncIterator[tuple[Endpoint, Editor, Any, Path, Any]]:
    """An endpoint with this script, and an editor with a session: endpoint, editor, connection, folder, session."""
    async with (
        Endpoint(script) as endpoint,
        editing(tmp_path, endpoint.base_url, *sets, **more) as (editor, agent, work),
    ):
        yield endpoint, editor, agent, work, await agent.new_session(cwd=str(work))


def say(text: str) -> list[Any]:
    """A prompt of one text."""
    return [text_block(text)]
