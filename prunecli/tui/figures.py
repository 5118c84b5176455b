"""Keeps the tokens on the screen up to date: counts what is new, and follows the endpoint's scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.runtime.counting import count_ahead
from prunecli.tui.arriving import Pace

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation


def count(conversation: "Conversation", context: Context, waiting: Sequence[Entry]) -> None:
    """Counts these entries in a thread, then shows the figures; one count at a time."""
    if not conversation.counting:
        conversation.counting = True
        conversation.frame.run_worker(_counted(conversation, context, waiting), group="count")


async def _counted(conversation: "Conversation", context: Context, waiting: Sequence[Entry]) -> None:
    try:
        await count_ahead(context, waiting)
    finally:
        conversation.counting = False
    conversation.show_status()


def follow_scale(conversation: "Conversation", context: Context) -> None:
    """Where the endpoint turns out to count otherwise than was thought, shows the tokens of all entries anew."""
    scale = (context, context.counts.scale.rate, context.counts.scale.part)
    if conversation.scale != scale:
        conversation.scale = scale
        conversation.frame.run_worker(_rescaled(conversation), group="rescale", exclusive=True)


async def _rescaled(conversation: "Conversation") -> None:
    pace = Pace(conversation)
    for _ in conversation.stage.recount():
        await pace.breathe()
