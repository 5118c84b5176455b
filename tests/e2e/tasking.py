"""Tasks on the strict endpoint: replies by who asks, so that tasks may run side by side."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.endpoint import Call, Reply, Thinking

RULES = "You work on one task for another agent"


def prompt_of(request: Any) -> str:
    """The first words of the user in a request."""
    content = request["messages"][0]["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def is_task(request: Any) -> bool:
    """Whether a task sent the request."""
    return RULES in json.dumps(request["system"])


def cast(main: Sequence[Reply], tasks: dict[str, Sequence[Reply]]) -> Callable[[Any, int], Reply]:
    """A script: the replies for the session's agent in order, and for each task those whose key its prompt has."""
    left = {"": list(main), **{key: list(replies) for key, replies in tasks.items()}}

    def reply(request: Any, _: int) -> Reply:
        replies = left[_who(request, tasks)]
        return replies.pop(0) if replies else Reply("Done.")

    return reply


def again(main: Sequence[Reply], tasks: dict[str, Sequence[Reply]]) -> Callable[[Any, int], Reply]:
    """The same, but a request that is sent again after a crash gets the same reply again."""
    whole = {"": list(main), **{key: list(replies) for key, replies in tasks.items()}}

    def reply(request: Any, _: int) -> Reply:
        replies = whole[_who(request, tasks)]
        at = sum(message["role"] == "assistant" for message in request["messages"])
        return replies[at] if at < len(replies) else Reply("Done.")

    return reply


def _who(request: Any, tasks: dict[str, Sequence[Reply]]) -> str:
    return next((key for key in tasks if key in prompt_of(request)), "") if is_task(request) else ""


def task(prompt: str, agent: str | None = "explore") -> Call:
    """A call of the tool."""
    given = {"prompt": prompt, "description": f"look at {prompt}"}
    return Call("task", {**given, "agent": agent} if agent else given)


def last(text: str) -> Reply:
    """A last answer, with thinking."""
    return Reply([Thinking("So that is it."), text])
