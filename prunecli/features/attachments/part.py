"""Attaches what a prompt mentions: files, folders, images and PDFs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.agent.hooks import Recordable
from prunecli.plugins.app import resolved
from prunecli.runtime.parts import Part

if TYPE_CHECKING:
    from prunecli.agent.loop import Run


ATTACH = "prunecli.features.attachments.attaching:attach"


class Attachments(Part):
    """The attachments of the user's messages; a task has none."""

    async def attachments(self, run: "Run", words: str, *, strict: bool) -> Sequence[Recordable]:
        if self.host.who or "@" not in words:
            return ()
        attached: Sequence[Recordable] = await resolved(ATTACH)(run.executor, words, strict=strict)
        return attached
