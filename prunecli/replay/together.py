"""Plays a script under several parts at once: they share one play until each of them prunes for the first time.

Before that, all of them send the same requests. So a session is folded once for the part of it that strategies leave
alone, and from its first edit on, each strategy goes on with a branch of the common play.
"""

from collections.abc import Sequence
from dataclasses import replace

from prunecli.model.events import AssistantMessage, PrunApplied, ToolResult
from prunecli.model.messages import tool_uses
from prunecli.replay.play import Part, Player, Sent, Watch
from prunecli.replay.rows import Row
from prunecli.replay.script import Script


def play_together(script: Script, parts: Sequence[Part], watches: Sequence[Watch | None]) -> list[Row]:
    """Play a script under each part, with a watch for each. Only the pruning of the parts may differ."""
    if len(parts) < 2 or not in_order(script):
        return [Player(script, *one).play() for one in zip(parts, watches, strict=True)]
    return _Common(script, parts, watches).rows()


def in_order(script: Script) -> bool:
    """Return whether each result follows its call before the next response, so that plays can branch there."""
    calls: set[str] = set()
    for step in script.steps:
        match step.event:
            case AssistantMessage(content):
                calls = {call.id for call in tool_uses(content)}
            case ToolResult(tool_use_id) if tool_use_id not in calls:
                return False
            case _:
                pass
    return True


class _Common(Player):
    """The common play. `_members` are the parts that have not pruned, by their place among all."""

    def __init__(self, script: Script, parts: Sequence[Part], watches: Sequence[Watch | None]) -> None:
        super().__init__(script, parts[0], self._sent)
        self._members = dict(enumerate(zip(parts, watches, strict=True)))
        self._rows: dict[int, Row] = {}
        self._at = 0

    def rows(self) -> list[Row]:
        """Play to the end and return a row for each part."""
        for at, step in enumerate(self.script.steps):
            if self._members:
                self._at = at
                self.take(step)
        whole = self.end()
        for place, (part, _) in self._members.items():
            self._rows[place] = replace(whole, strategy=part.strategy, gate=part.gate)
        return [self._rows[place] for place in sorted(self._rows)]

    def _pruned(self, event: AssistantMessage) -> list[PrunApplied]:
        """Let the parts that prune before this request go on by themselves."""
        for place, (part, watch) in tuple(self._members.items()):
            if self._decided(part.terms(event.model)):
                del self._members[place]
                self._rows[place] = self.branch(part, watch).play(self._at)
        return []

    def _sent(self, player: Player, sent: Sent) -> None:
        for _, watch in self._members.values():
            if watch:
                watch(player, sent)
