"""The tasks of a runtime, imported when the first one is called or defined."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from prunecli.model.events import UserMessage
from prunecli.model.messages import Block
from prunecli.plugins.app import resolved
from prunecli.runtime.definition_folders import none_defined
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part, Prompt
from prunecli.tools.tool import ToolOutput

if TYPE_CHECKING:
    from prunecli.features.subagents.subagents import Subagents
    from prunecli.session.session import Session


SUBAGENTS = "prunecli.features.subagents.subagents:Subagents"


class Tasks(Part):
    """The tasks of one runtime."""

    def __init__(self, host: Host, parent: "Tasks | None") -> None:
        super().__init__(host, parent)
        self._absent: Session | None = None
        host.mailbox.news.append(self._due)

    @cached_property
    def subagents(self) -> "Subagents":
        made: type[Subagents] = resolved(SUBAGENTS)
        return made(self.host)

    async def run(self, call_id: str, prompt: str, description: str, agent: str) -> ToolOutput:
        """See `Subagents.run`."""
        return await self.subagents.run(call_id, prompt, description, agent)

    def original(self, number: int, seq: int) -> tuple[Block, ...]:
        """See `Subagents.original`."""
        return self.subagents.original(number, seq)

    def prompt(self, words: str) -> AbstractAsyncContextManager[Prompt] | None:
        return None if self.host.who else self._checked(words)

    @asynccontextmanager
    async def _checked(self, words: str) -> AsyncIterator[Prompt]:
        """Check the folders of definitions again, and tell of unusable files."""
        self._look_for_folders()
        if not self.absent:
            self.host.parts.complain(await asyncio.to_thread(self.unusable))
        yield Prompt(words, words)

    def unusable(self) -> Sequence[str]:
        return () if self.host.who or self.absent else self.subagents.definitions()[1]

    @property
    def absent(self) -> bool:
        """Whether the session is new and nobody defined a subagent: then the code of tasks is not imported yet."""
        return self._absent is self.host.session

    def _look_for_folders(self) -> None:
        self._absent = self.host.session if none_defined(self.host, "agents") else None

    def _due(self) -> Sequence[UserMessage]:
        return () if self.absent else self.subagents.due()

    def system_texts(self) -> Sequence[str]:
        return () if self.absent else self.subagents.listed()

    def spent(self) -> Sequence[str]:
        return self.subagents.lines()

    def abandoned(self) -> None:
        self.subagents.give_up()
