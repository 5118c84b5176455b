"""Runs a proxy on loopback: its port, its secret path, and the socket of `prunecli attach`."""

import asyncio
import gc
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.features.proxy.conversation import Conversation, HowToPrune
from prunecli.features.proxy.conversations import Conversations
from prunecli.features.proxy.model_tools import called
from prunecli.features.proxy.server import Proxy
from prunecli.features.proxy.sockets import sockets
from prunecli.model.record_codec import record_from_json
from prunecli.runtime import Runtime
from prunecli.runtime.make import make_runtime
from prunecli.session.completing import Clock, system_clock
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.figures import money, share, short
from prunecli.util.frozen import frozen
from prunecli.util.launch_options import Launch
from prunecli.util.lazy import lazy
from prunecli.util.paths import Places

if TYPE_CHECKING:
    import httpx2
    import uvicorn
else:
    httpx2, uvicorn = lazy("httpx2"), lazy("uvicorn")

MODEL = "claude-sonnet-5"
"""The model of a session before its first request names one."""
MAX_LINE = 1_000_000


@frozen
class Hosting:
    """What a proxy needs: `upstream` is checked, `port` 0 takes any, and `strategy` "" the configured one."""

    upstream: str
    environ: dict[str, str]
    how: HowToPrune = field(default_factory=HowToPrune)
    port: int = 0
    strategy: str = ""
    say: Callable[[str], None] = print
    clock: Clock = system_clock


@frozen
class Running:
    """A proxy that accepts requests. `address` has its secret path."""

    address: str
    conversations: Conversations


@asynccontextmanager
async def hosted(asked: Hosting) -> AsyncIterator[Running]:
    """Run a proxy until the end of the context. Raises UsageError for a port that is taken or a missing library."""
    known = Places.of(asked.environ).data / "proxied.jsonl"
    conversations = Conversations(
        lambda: runtime_for(asked.environ, asked.strategy, clock=asked.clock), asked.how, known
    )
    secret = secrets.token_urlsafe(18)
    gc.set_threshold(
        200_000
    )  # each body is thousands of objects; else a full collection takes 40 ms every few requests
    timeout = httpx2.Timeout(
        None, connect=30
    )  # a model may think for minutes; the program has its own patience
    async with httpx2.AsyncClient(timeout=timeout, follow_redirects=False) as client:
        proxy = Proxy(asked.upstream, secret, conversations, client, asked.say)
        async with _served(proxy, asked.port) as port, _controlled(conversations, asked.environ):
            try:
                yield Running(f"http://127.0.0.1:{port}/{secret}", conversations)
            finally:
                await conversations.close()


def runtime_for(
    environ: dict[str, str], strategy: str, cwd: Path | None = None, clock: Clock = system_clock
) -> Runtime:
    """Return a runtime for a session behind a proxy, for the proxy or for `attach`. Raises PrunecliError."""
    # Summaries are the program's own, and nothing here can refuse to write a placeholder that its model copied.
    sets = [f"model.name={MODEL}", "compaction.enabled=false", "pruning.inputs.enabled=false"]
    if strategy:
        sets.append(f"pruning.strategy={strategy}")
    runtime = make_runtime(Launch(sets=tuple(sets), cwd=cwd), environ, clock)
    runtime.session_model.asked = ""  # each request names its model
    return runtime


@asynccontextmanager
async def _served(proxy: Proxy, port: int) -> AsyncIterator[int]:
    """Serve the application on loopback and yield the port."""
    try:
        config = uvicorn.Config(
            proxy, "127.0.0.1", port, log_config=None, lifespan="off", server_header=False, date_header=False
        )
    except ModuleNotFoundError as error:
        raise UsageError(f"the package {error.name} is missing", "install prunecli again") from error
    server: Any = type("Server", (uvicorn.Server,), {"capture_signals": lambda _: nullcontext()})(config)
    serving = asyncio.ensure_future(server.serve())
    try:
        while not server.started:
            if serving.done():
                raise UsageError(f"port {port} is taken", "choose another with --port, or omit --port")
            await asyncio.sleep(0.005)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        await asyncio.gather(serving, return_exceptions=True)


# The socket of attach ----------------------------------------------------------------------------------------


@asynccontextmanager
async def _controlled(conversations: Conversations, environ: dict[str, str]) -> AsyncIterator[None]:
    """Listen for `prunecli attach` on a socket that only this user can open."""
    folder = sockets(environ)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{os.getpid()}.sock"
    with _short(path) as address:
        server = await asyncio.start_unix_server(
            lambda reader, writer: _attached(conversations, reader, writer), address, limit=MAX_LINE
        )
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()
        with suppress(OSError):
            path.unlink()


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield an address of a socket that fits into the 107 bytes that the system allows, however long the path is."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}" if Path("/proc/self/fd").exists() else str(path)
    finally:
        os.close(folder)


async def _attached(
    conversations: Conversations, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the lines of one `prunecli attach`: `{}` by the conversations, `{"id", "event"}` by the `{"seq"}` of its
    record or by `{"error"}`."""
    with suppress(OSError, ValueError, asyncio.CancelledError):  # canceled as the proxy ends
        while line := await reader.readline():
            asked = json.loads(line)
            answer = (
                await called(conversations.all, asked) if "tool" in asked else answered(conversations, asked)
            )
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
    writer.close()


def answered(conversations: Conversations, asked: dict[str, Any]) -> dict[str, Any]:
    """Answer one line of `prunecli attach`."""
    if "event" not in asked:
        return {"conversations": [summary_of(one) for one in conversations.all]}
    found = next((one for one in conversations.all if one.runtime.session.id == asked.get("id")), None)
    if found is None:
        return {"error": "this conversation is over"}
    try:
        return {"seq": found.edit(record_from_json(asked["event"]).event)}
    except PrunecliError as error:
        return {"error": error.message, "hint": error.hint}


def summary_of(conversation: Conversation) -> dict[str, Any]:
    """Return what `attach` needs to open a conversation, and its figures: tokens, and US dollars."""
    runtime = conversation.runtime
    ledger = runtime.policy.ledger(runtime.session.context)
    return {
        "id": runtime.session.id,
        "path": str(runtime.session.path),
        "cwd": str(runtime.setup.cwd),
        "strategy": ",".join(runtime.config.pruning.strategies),
        "model": runtime.model_name,
        "tokens": ledger.context_tokens,
        "pruned": ledger.pruned_tokens,
        "shortened": ledger.held_words,
        "cost": runtime.bill.cost,
        "saved": runtime.balance.saved or 0.0,
        "off": conversation.off,
    }


def figures(rows: list[dict[str, Any]]) -> str:
    """Return one line about all conversations, "" if nothing was pruned."""
    cost, saved = (sum(float(row[key]) for row in rows) for key in ("cost", "saved"))
    if not any(row["pruned"] for row in rows):
        return ""
    if saved < 0:
        return f"Pruning cost {money(-saved)} more than it saved so far, of {money(cost)}"
    return f"Pruning saved {money(saved)} of {money(cost + saved)} ({share(saved / (cost + saved or 1))})"


def status_line(rows: list[dict[str, Any]]) -> str:
    """Return one line about the conversation with most tokens, and how many others there are."""
    if not rows:
        return "no conversation"
    row = max(rows, key=lambda row: int(row["tokens"]))
    parts = f"ctx {short(row['tokens'])}", f"pruned {short(row['pruned'])}", f"saved {money(row['saved'])}"
    others = [f"{len(rows) - 1} more"] if len(rows) > 1 else []
    return " · ".join((*parts, money(row["cost"]), *others))
