"""What the parts of the screen tell each other: small values, nothing to wait for in them.

Without `eq` and `repr`, which nobody needs, they take a third of the time to define, and each start waits for it.
"""

from dataclasses import dataclass

from textual.message import Message


@dataclass(eq=False, repr=False)
class Wake(Message, bubble=False):
    """Something waits in the bridge."""


@dataclass(eq=False, repr=False)
class PromptSubmitted(Message):
    """The user sent this; `follow_up`: only for when the agent is done."""

    text: str
    follow_up: bool = False


@dataclass(eq=False, repr=False)
class ActionAsked(Message):
    """A key asked for one of `keys.ACTIONS` that is not about what is typed."""

    name: str


@dataclass(eq=False, repr=False)
class Picked(Message):
    """A line of the menu was clicked."""

    index: int


@dataclass(eq=False, repr=False)
class PermissionAnswered(Message):
    """What the user said to the call that is asked about; `word` is for the model."""

    kind: str
    word: str = ""


@dataclass(eq=False, repr=False)
class Typed(Message):
    """The prompt holds something else than before."""
