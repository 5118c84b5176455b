"""Questions of tools to the user: a question with options, the answer, and who asks."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from prunecli.util.frozen import frozen


@frozen
class Option:
    label: str
    description: str = ""


@frozen
class Inquiry:
    """A question to the user. `default` is the index of the option marked at first; `who` is the task that asks, ""
    for the session's own agent."""

    question: str
    options: tuple[Option, ...]
    multiple: bool = False
    default: int = 0
    who: str = ""


@frozen
class Reply:
    """The user's answer: the indexes of the chosen options, and their own words. If both are empty, they declined."""

    chosen: tuple[int, ...] = ()
    words: str = ""


AskUser: TypeAlias = Callable[[Inquiry], Awaitable[Reply | None]]
"""Asks the user; returns None if nobody is there."""
