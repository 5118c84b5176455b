"""The guide of a tour: prompts that Enter sends one after the other while the input is empty."""

from collections.abc import Iterable

from prunecli.context.state import Context
from prunecli.model.events import ToolResult


class Guide:
    """A guide that offers its lines in order, and starts over if a call of the last turn failed. `only_first`: it
    offers nothing once the session has begun."""

    def __init__(self, lines: Iterable[str] = (), *, only_first: bool = False) -> None:
        self._lines, self._only_first = tuple(lines), only_first
        self._at = 0

    def next(self, context: Context) -> str:
        if self._only_first and context.user_turns:
            return ""
        if 0 < self._at < len(self._lines) and _stopped(context):
            self._at = 0
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def take(self, context: Context) -> str:
        line = self.next(context)
        self._at += bool(line)
        return line


def _stopped(context: Context) -> bool:
    prompt = context.user_turns[-1] if context.user_turns else -1
    last = next(
        (exchange for exchange in reversed(context.exchanges) if exchange.results and exchange.seq > prompt),
        None,
    )
    events = [result.event for result in last.results] if last else []
    return any(isinstance(event, ToolResult) and event.is_error for event in events)
