"""A session written step by step and folded as it grows, and strategies asked about it."""

import json
from typing import Any

from prunecli.config.effective import Config
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.ledger import prun_applied
from prunecli.context.state import Context
from prunecli.context.strategy import Proposal, Strategy
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.context.validate import validate
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Image, Text, Thinking, ToolUse
from prunecli.model.requests import Preamble, Request
from prunecli.model.touches import Touches

PICTURE = Image("image/png", "iVBORw0KGgo=")
THOUGHT = Thinking("hm", "signed")
ALL = {"prune_minimum": 0, "prune_protect": 0, "protected_turns": 0}
"""Options of pi and opencode with which nothing is protected."""


class Talk:
    """A session. Each step gives the seq of what it wrote; of a step with a tool that is the result's."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.context = Context(counter or Chars4())
        self.records: list[Record] = []
        self.seq = 0
        self._open: list[ToolUse] = []
        self._calls = 0

    def add(self, event: Event) -> int:
        self.records.append(Record(self.seq, 1_700_000_000_000 + self.seq, event))
        self.context.apply(self.records[-1])
        self.seq += 1
        return self.seq - 1

    def user(self, text: str = "go on", **more: Any) -> int:
        return self.add(UserMessage((Text(text),), **more))

    def command(self, output: str, command: str = "!ls") -> int:
        return self.add(UserMessage((Text(command), Text(output)), "command"))

    def say(self, text: str = "done") -> int:
        return self.add(AssistantMessage((Text(text),), "m", "end_turn"))

    def call(self, *calls: tuple[str, dict[str, Any]], before: tuple[Block, ...] = ()) -> int:
        """An assistant message with calls; `before` stands first in it."""
        self._open = [
            ToolUse(f"toolu_{self._calls + n}", tool, given) for n, (tool, given) in enumerate(calls)
        ]
        self._calls += len(calls)
        return self.add(AssistantMessage((*before, *self._open), "m", "tool_use"))

    def answer(
        self, *content: str | Image, error: bool = False, details: dict[str, Any] | None = None
    ) -> int:
        """The result of the next open call."""
        use = self._open.pop(0)
        blocks = tuple(Text(part) if isinstance(part, str) else part for part in content)
        return self.add(ToolResult(use.id, use.name, blocks, error, details or {}))

    def step(
        self,
        tool: str,
        *content: str | Image,
        error: bool = False,
        before: tuple[Block, ...] = (),
        details: dict[str, Any] | None = None,
        touches: Touches | None = None,
        **given: Any,
    ) -> int:
        """A call and its result; with `touches`, also the record of its start."""
        self.call((tool, given), before=before)
        if touches is not None:
            self.add(ToolStarted(self._open[0].id, tool, given, touches))
        return self.answer(*content, error=error, details=details)

    def seen(self) -> None:
        """The model has answered: nothing is in progress."""
        self.say("seen")

    def pin(self, *seqs: int, pinned: bool = True) -> int:
        return self.add(Pinned(seqs, pinned))

    def revert(self, *seqs: int) -> int:
        return self.add(PrunReverted(seqs))

    def compact(self, head_end: int, tail_start: int) -> int:
        return self.add(CompactionApplied("what was said", head_end, tail_start))

    def edit(self, kind: Any, seq: int, text: str | None = None, strategy: str | None = None) -> int:
        return self.add(PrunApplied("strategy", (Edit(kind, seq, None, text, 9, 1),), strategy))

    def view(self, window: int = 200_000, **more: Any) -> View:
        return View(self.context, window, **more)

    def entry(self, seq: int) -> Entry:
        return self.context.entries[seq]

    def exchange(self, seq: int) -> Exchange:
        """The exchange that an entry must be a part of."""
        exchange = self.entry(seq).exchange
        assert exchange is not None
        return exchange

    def ask(self, name: str, view: View | None = None, functions: Any = None, **options: Any) -> Proposal:
        """What a strategy proposes."""
        module = strategy(name)
        return module.propose(view or self.view(), module.Options(**options), **(functions or {}))

    def apply(self, proposal: Proposal, name: str = "") -> int:
        """Applies a proposal; the seq of its record."""
        return self.add(prun_applied(self.view(), "strategy", proposal.edits, strategy=name))

    def request(self) -> Request:
        """The next request, checked."""
        request = Request("m", 1, Preamble((), ()), self.context.messages())
        validate(request)
        return request

    def shown(self) -> dict[str, str]:
        """The texts of the results that the next request shows, by call id."""
        blocks = [json.loads(block) for message in self.context.messages() for block in message.blocks]
        return {
            block["tool_use_id"]: "\n".join(part.get("text", "<image>") for part in block["content"])
            for block in blocks
            if block["type"] == "tool_result"
        }


def strategy(name: str) -> Strategy:
    module: Strategy = Config().strategies.module(name)
    return module


def talk_of(*sizes: int) -> tuple[Talk, list[int]]:
    """Reads of so many tokens, oldest first, all seen by the model."""
    talk = Talk()
    talk.user()
    found = [talk.step("read", tokens(size), path=f"{index}.py") for index, size in enumerate(sizes)]
    talk.seen()
    return talk, found


def seqs(proposal: Proposal) -> list[int]:
    """The targets of a proposal's edits."""
    return [edit.seq for edit in proposal.edits]


def texts(proposal: Proposal) -> list[str | None]:
    """The replacements of a proposal's edits."""
    return [edit.text for edit in proposal.edits]


def tokens(n: int) -> str:
    """A text of n tokens, at four characters each."""
    return "abc " * n
