"""Completes new events before they are recorded."""

from dataclasses import replace

from prunecli.context.state import Context
from prunecli.model.codec import well_formed
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Text


def completed(event: Event, context: Context) -> Event:
    """Return the event to record: user text made valid, and a prune with the number of thinking blocks it costs."""
    if isinstance(event, UserMessage):
        return _well_formed(event)
    if isinstance(event, PrunApplied):
        from prunecli.context.impact import foretold  # not on the way to a first request

        return foretold(context, event)
    return event


def _well_formed(event: UserMessage) -> UserMessage:
    """Replace bytes that are not valid text. Only typed text needs it: text from models and tools comes checked."""
    texts = [block for block in event.content if isinstance(block, Text)]
    if all(well_formed(block.text) is block.text for block in texts):
        return event
    clean = (Text(well_formed(one.text)) if isinstance(one, Text) else one for one in event.content)
    return replace(event, content=tuple(clean))
