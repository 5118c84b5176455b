"""Serves one editor: streams, signals and a clean shutdown."""

import asyncio
import logging
import os
import signal
from collections.abc import Mapping
from typing import cast

from acp import Agent
from acp.agent.connection import AgentSideConnection

from prunecli.features.acp.agent import EditorAgent
from prunecli.features.acp.transport import StdioTransport
from prunecli.util.errors import report_unawaited
from prunecli.util.launch_options import Launch

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(asked: Launch, environ: Mapping[str, str]) -> int:
    """Serve an editor until it closes the streams. Return the exit code. `asked` holds the options of every session.

    Standard output belongs to the protocol, so other output goes to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("prunecli: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    target = os.dup(1)
    os.dup2(2, 1)
    return asyncio.run(serve_on(asked, environ, 0, target))


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error else ""
        return f"prunecli: {record.getMessage()}{why}".replace("\n", " ")


async def serve_on(asked: Launch, environ: Mapping[str, str], source: int, target: int) -> int:
    """Serve an editor on two descriptors and return the exit code. Handles termination signals."""
    agent = EditorAgent(asked, environ)
    transport = StdioTransport(source, target)
    # The library passes all fields of a request as keywords, and the agent uses some of them.
    made = cast("Agent", agent)
    connection = AgentSideConnection(made, transport, listening=False, use_unstable_protocol=True)
    loop, caught = asyncio.get_running_loop(), list[int]()
    loop.set_exception_handler(report_unawaited)
    listening = asyncio.ensure_future(connection.listen())

    def stop(number: int) -> None:
        caught.append(number)
        listening.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        await asyncio.wait({listening})
    finally:
        await agent.close()
        await connection.close()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
    if caught:
        return 128 + caught[0]
    if not listening.cancelled() and (error := listening.exception()):
        logging.getLogger(__name__).error("the connection to the editor failed", exc_info=error)
        return 1
    return 0
