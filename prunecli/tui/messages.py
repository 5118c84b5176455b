"""Messages between the parts of the screen: small values without behavior.

Nothing uses their `eq` and `repr`. Leaving these out makes the import three times as fast, and every start waits for
it.
"""

from dataclasses import dataclass

from textual.message import Message


class Told(Message):
    """A message from a widget to the conversation, delivered once the conversation listens."""


@dataclass(eq=False, repr=False)
class Wake(Told, bubble=False):
    """Events are waiting in the bridge."""


@dataclass(eq=False, repr=False)
class PromptSubmitted(Told):
    text: str
    follow_up: bool = False


@dataclass(eq=False, repr=False)
class ActionAsked(Told):
    """A key requested one of `bindings.ACTIONS` that does not edit text."""

    name: str


@dataclass(eq=False, repr=False)
class Picked(Told):
    """A row of a list was clicked."""


@dataclass(eq=False, repr=False)
class Typed(Told):
    """The prompt's text changed."""
