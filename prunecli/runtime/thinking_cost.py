"""Describe what a manual edit would do to the model's thinking."""

from prunecli.context.impact import impact
from prunecli.model.events import Event
from prunecli.runtime.runtime import Runtime


def thinking_cost(runtime: Runtime, *events: Event) -> str:
    """A sentence to append, with a leading space, or "" if the events change no thinking."""
    words = impact(runtime.session.context, events, runtime.policy.market).thinking
    return f" {words[:1].upper()}{words[1:]}." if words else ""
