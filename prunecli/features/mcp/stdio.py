"""The transport of a server that is a program: a line of JSON for each message, with limits on both sides.

The SDK's own transport keeps a line of any length and does not read standard error. Here, a message that is too long
ends the connection, which the next call opens again. Lines that are not messages go to the log.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from prunecli.tools.processes.guarded import Guarded, start

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_MESSAGE = 32_000_000
"""Maximum bytes of one message. Servers send a picture of 10 MB twice, in base64."""
MAX_NOISE = 20_000_000
"""Bytes of lines since the last message that are not messages, after which the server is abandoned. Each line counts
as `_LINE_BYTES` more."""
_LINE_BYTES = 200
_LOGGED_NOISE = 5_000
"""How many of these bytes are logged, from the first on."""
MAX_LOG_LINE = 500
CHUNK = 65_536
LAST_SECONDS = 2.0
"""Seconds to wait for the end of a server that closed a stream, and for the rest of its standard error."""
_END = 512
"""Bytes of both ends of a line that may name the call that it answers."""
_ID_FIRST = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_ID_LAST = re.compile(
    rb'[}\]"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*'
    rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$'
)

Log = Callable[[str], None]
Closed = Callable[[str], Awaitable[None]]


@asynccontextmanager
async def stdio_transport(
    argv: tuple[str, ...], *, cwd: Path, env: Mapping[str, str], log: Log, lost: Callable[[str], None]
) -> AsyncGenerator["TransportStreams", None]:
    """Start the program and yield its streams. On exit, end it with all processes that it started.

    If the connection is lost, `lost` is called with the reason. Raises OSError if the program cannot be
    started.
    """
    server = await start(argv, cwd, env, MAX_MESSAGE)
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def closed(stream: str) -> None:
        if await server.ends_within(LAST_SECONDS):
            await asyncio.wait({logging}, timeout=LAST_SECONDS)  # a child that lives on may hold it open
        lost(_end_in_words(server, stream))

    logging = asyncio.ensure_future(_read_log(server.errors, log))
    tasks = [
        asyncio.ensure_future(_read_messages(server, incoming, log, lost, closed)),
        asyncio.ensure_future(_write_messages(server.input, outgoing, incoming, closed)),
        logging,
    ]
    try:
        yield read, write
    finally:
        for task in tasks[:2]:
            task.cancel()
        server.input.close()
        await asyncio.shield(_end(server, tasks))
        for stream in (incoming, read, write, outgoing):
            stream.close()


async def _read_messages(
    server: Guarded,
    incoming: Any,
    log: Log,
    lost: Callable[[str], None],
    closed: Closed,
) -> None:
    noise = 0
    try:
        while line := await server.output.readline():
            message = _message(line.rstrip(b"\n"))
            if message is not None:
                noise = 0
                await incoming.send(message)
            elif line != b"\n":
                if noise < _LOGGED_NOISE:
                    log(f"not a message: {line[:MAX_LOG_LINE].decode('utf-8', 'replace')}")
                noise += len(line) + _LINE_BYTES
                if noise > MAX_NOISE:
                    lost("wrote something other than messages to its standard output")
                    return
            await asyncio.sleep(0)
        await closed("output")
    except ValueError:  # a line over the limit of the reader
        lost(f"sent a message of more than {MAX_MESSAGE // 1_000_000} MB")
    except OSError as error:
        lost(f"cannot read its output: {error}")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the reader is gone
    finally:
        incoming.close()


def _message(line: bytes) -> Any:
    """Return the message of a line, None for noise. An unreadable one becomes the error that answers its call."""
    if not line.lstrip().startswith(b"{"):
        return None
    with contextlib.suppress(ValueError):
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    with contextlib.suppress(ValueError, RecursionError):
        return SessionMessage(jsonrpc_message_adapter.validate_json(_mended(line), by_name=False))
    found = _ID_FIRST.search(line[:_END]) or _ID_LAST.search(line[-_END:])
    if found is None:
        return None
    error = ErrorData(code=INTERNAL_ERROR, message="the answer is not a message of the protocol")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error))


def _mended(line: bytes) -> bytes:
    """Return a line without what the strict parser refuses: halves of characters, as in a cut text, and NaN.

    Raises ValueError, RecursionError.
    """
    value = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


async def _write_messages(given: asyncio.StreamWriter, outgoing: Any, incoming: Any, closed: Closed) -> None:
    try:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            given.write(text.encode("utf-8", "replace") + b"\n")
            await given.drain()
    except (OSError, RuntimeError):
        await closed("input")
        incoming.close()  # pending requests get no answer


async def _read_log(errors: asyncio.StreamReader, log: Log) -> None:
    """Read standard error, so that the server never waits for a reader."""
    rest = b""
    while data := await errors.read(CHUNK):
        *lines, rest = (rest + data[-CHUNK:]).split(b"\n")
        rest = rest[:MAX_LOG_LINE]
        for line in lines[-100:]:
            log(line[:MAX_LOG_LINE].decode("utf-8", "replace"))
    if rest:
        log(rest.decode("utf-8", "replace"))


async def _end(server: Guarded, tasks: Sequence["asyncio.Task[None]"]) -> None:
    drain = asyncio.ensure_future(_drain(server.output))
    await server.end()
    for task in (*tasks, drain):
        task.cancel()
    await asyncio.gather(*tasks, drain, return_exceptions=True)


async def _drain(output: asyncio.StreamReader) -> None:
    """Discard the server's remaining output, so that it can end."""
    with contextlib.suppress(RuntimeError):
        while await output.read(CHUNK):  # noqa: ASYNC110
            await asyncio.sleep(0)


def _end_in_words(server: Guarded, stream: str) -> str:
    told = server.told
    if told.failed:
        return f"could not be started: {os.strerror(int(told.failed[1:]))}"
    if told.exit_code is None:
        return f"closed its standard {stream}"
    if told.exit_code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-told.exit_code).name}"
    return f"exited with code {told.exit_code}"
