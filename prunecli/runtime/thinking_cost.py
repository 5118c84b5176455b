"""What an act of the user's would do to the model's thinking, in words, before it is done."""

from prunecli.context.impact import impact
from prunecli.model.events import Event
from prunecli.runtime.runtime import Runtime


def thinking_cost(runtime: Runtime, *events: Event) -> str:
    """A sentence for the end of an answer, with a space in front; "" where these events change no thinking."""
    words = impact(runtime.session.context, events, runtime.policy.market).thinking
    return f" {words[:1].upper()}{words[1:]}." if words else ""
