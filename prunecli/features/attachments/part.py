"""Attaches what a prompt mentions: files, folders, images and PDFs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.agent.hooks import Recordable
from prunecli.runtime.parts import Part

if TYPE_CHECKING:
    from prunecli.agent.loop import Run


class Attachments(Part):
    """The attachments of the user's messages; a task has none."""

    async def attachments(self, run: "Run", words: str, *, strict: bool) -> Sequence[Recordable]:
        if self.host.who or "@" not in words:
            return ()
        from prunecli.features.attachments.attaching import attach  # most prompts attach nothing

        return await attach(run.executor, words, strict=strict)
