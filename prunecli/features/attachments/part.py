"""Attaches what a prompt mentions: files, folders, images and PDFs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.agent.hooks import Recordable
from prunecli.model.messages import Block
from prunecli.runtime.parts import Part

if TYPE_CHECKING:
    from prunecli.agent.loop import Run


class Attachments(Part):
    """The attachments of the user's messages; a task has none."""

    async def attachments(
        self, run: "Run", words: str, given: Sequence[Block], *, strict: bool
    ) -> Sequence[Recordable]:
        if self.host.who or not (given or "@" in words):
            return ()
        from prunecli.features.attachments.attaching import attach, pictured  # most prompts attach nothing

        return [*await pictured(run.executor, given), *await attach(run.executor, words, strict=strict)]
