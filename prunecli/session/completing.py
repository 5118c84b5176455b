"""New events as they are recorded: what is still missing in them is filled in."""

from dataclasses import replace

from prunecli.context.state import Context
from prunecli.model.codec import well_formed
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Text


def completed(event: Event, context: Context) -> Event:
    """A new event as it is recorded: text as text, and a prune with the thinking that it is foreseen to cost."""
    if isinstance(event, UserMessage):
        return _well_formed(event)
    if isinstance(event, PrunApplied):
        from prunecli.context.impact import foretold  # not on the way to a first request

        return foretold(context, event)
    return event


def _well_formed(event: UserMessage) -> UserMessage:
    """What was typed or given as an argument may hold bytes that were no text (LOG-16); from models and tools it
    comes checked."""
    texts = [block for block in event.content if isinstance(block, Text)]
    if all(well_formed(block.text) is block.text for block in texts):
        return event
    clean = (Text(well_formed(one.text)) if isinstance(one, Text) else one for one in event.content)
    return replace(event, content=tuple(clean))
