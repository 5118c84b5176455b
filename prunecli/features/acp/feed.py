"""The queue of updates from one session to the editor, which never blocks the agent."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from acp import RequestError, schema

Update: TypeAlias = (
    schema.AgentMessageChunk
    | schema.AgentPlanUpdate
    | schema.AgentThoughtChunk
    | schema.AvailableCommandsUpdate
    | schema.ConfigOptionUpdate
    | schema.CurrentModeUpdate
    | schema.SessionInfoUpdate
    | schema.ToolCallProgress
    | schema.ToolCallStart
    | schema.UsageUpdate
    | schema.UserMessageChunk
)
"""An update for the editor."""


class Feed:
    """A feed that sends updates in order. Queued text is merged with the text that follows it.

    Sends nothing before `begin`, because an editor learns of a session from the response that names it.
    """

    def __init__(self, send: Callable[[Update], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[Update] = deque()
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._pump: asyncio.Task[None] | None = None

    def tell(self, update: Update) -> None:
        """Queue an update. Any thread may call it."""
        self._waiting.append(update)
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiting:
            self._idle.clear()
            self._more.set()

    def begin(self) -> None:
        if self._pump is None:
            self._pump = asyncio.create_task(self._run())
            self._pump.add_done_callback(self._ended)

    def _ended(self, pump: "asyncio.Task[None]") -> None:
        """Let nobody wait for updates that a defect keeps from being sent."""
        self._idle.set()
        if not pump.cancelled() and (error := pump.exception()):
            logging.getLogger(__name__).error("updates of a session are no longer sent", exc_info=error)

    async def sent(self) -> None:
        """Wait until all updates queued so far are sent."""
        self._wake()
        if self._pump is not None and not self._pump.done():
            await self._idle.wait()

    async def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                try:
                    await self._send(self._next())
                except (ConnectionError, RequestError):
                    self._waiting.clear()  # the editor is gone; the log has everything
            self._idle.set()

    def _next(self) -> Update:
        update = self._waiting.popleft()
        text = _text(update)
        if text is None:
            return update
        parts = [text]
        while self._waiting and type(self._waiting[0]) is type(update):
            more = _text(self._waiting[0])
            if more is None:
                break
            parts.append(more)
            self._waiting.popleft()
        return update.model_copy(
            update={"content": schema.TextContentBlock(type="text", text="".join(parts))}
        )


def _text(update: Update) -> str | None:
    """Return the text of an update that can be merged; None for other updates."""
    if isinstance(update, schema.AgentMessageChunk | schema.AgentThoughtChunk) and update.field_meta is None:
        return update.content.text if isinstance(update.content, schema.TextContentBlock) else None
    return None
