"""Which thinking no longer fits, from the log alone: always what the endpoint's check says of the same requests."""

import json
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.state import Context
from prunecli.context.thoughts import stale_after
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, Thinking, ToolUse
from prunecli.model.requests import PREAMBLE
from tests.endpoint.binding import Bound, PrefixChain, Reader, bind
from tests.endpoint.content import examine
from tests.endpoint.render import render
from tests.endpoint.rules import Rules
from tests.endpoint.signatures import Origin, sign

OPUS = "claude-opus-5-5"
RULES = Rules()
STEPS = (
    "ask",
    "answer",
    "call",
    "clear",
    "drop",
    "strip",
    "undo",
    "restore",
    "rewind",
    "compact",
    "preamble",
)


class Play:
    """A session whose thinking is signed as the endpoint signs it, and judged as the endpoint judges it."""

    def __init__(self) -> None:
        self.context = Context(Chars4())
        self.count = 0
        self.emit(SettingChanged(PREAMBLE, {"system": ["Be brief."], "tools": []}))
        self.emit(UserMessage((Text("hello"),)))

    def emit(self, event: Event) -> int:
        self.context.apply(Record(self.count, 1_000 + self.count, event))
        self.count += 1
        return self.count - 1

    def judged(self) -> Bound:
        """What the endpoint makes of the next request."""
        model = RULES.model(OPUS)
        assert model is not None
        system = [render("system", json.loads(block), "", 4) for block in self.context.preamble.system]
        facts = [examine(json.loads(message.canonical), RULES) for message in self.context.messages()]
        assert all(fact.problem is None for fact in facts)
        return bind(system, facts, PrefixChain(), Reader(model, "", "drop_block"))

    def dropped(self) -> list[int]:
        """The answers of which the endpoint would drop thinking."""
        messages = self.context.messages()
        return sorted({messages[at].seqs[place] for at, place in self.judged().dropped})

    def answer(self, *, calling: bool) -> None:
        if self.context.messages()[-1].role != "user":
            self.emit(UserMessage((Text("go on"),)))
        prefix = self.judged().prefix
        self.emit(RequestSent(OPUS, 0, ""))
        origin = Origin(f"m{self.count}", 0, prefix.digest.hex(), prefix.previous, OPUS, "", 3)
        content: tuple[Text | Thinking | ToolUse, ...] = (Thinking("hm", sign("hm", origin)), Text("so"))
        call = ToolUse(f"t{self.count}", "read", {"path": "a"})
        self.emit(AssistantMessage((*content, call) if calling else content, OPUS))
        if calling:
            self.emit(ToolResult(call.id, "read", (Text(f"a long result {self.count}"),)))

    def step(self, what: str, pick: int) -> None:
        context = self.context
        results = [entry.seq for entry in context.entries.values() if entry.kind == "result"]
        heads = [exchange.seq for exchange in context.exchanges]
        match what:
            case "ask":
                self.emit(UserMessage((Text(f"words {pick}"),)))
            case "answer" | "call":
                self.answer(calling=what == "call")
            case "clear" if results:
                seq = results[pick % len(results)]
                self.prune([Edit("clear", seq, None, f"[cleared {pick % 2}]")])
            case "drop" | "strip" if heads:
                self.prune([Edit("drop" if what == "drop" else "strip", heads[pick % len(heads)])])
            case "undo" if context.pruns:
                self.emit(PrunReverted((sorted(context.pruns)[pick % len(context.pruns)],)))
            case "restore" if results:
                self.emit(PrunReverted((results[pick % len(results)],)))
            case "rewind" if context.user_turns:
                self.emit(Rewound(context.user_turns[pick % len(context.user_turns)]))
            case "compact" if len(heads) > 2:
                tail = heads[1 + pick % (len(heads) - 1)]
                self.emit(CompactionApplied(f"the gist {self.count}", 1, tail))
            case "preamble":
                self.emit(SettingChanged(PREAMBLE, {"system": [f"Be brief {pick % 2}."], "tools": []}))
            case _:
                pass

    def prune(self, edits: Sequence[Edit]) -> None:
        """A prune, of which what it makes stale is foretold."""
        foretold = stale_after(self.context, edits)
        self.emit(PrunApplied("user", tuple(edits)))
        assert self.context.thoughts.stale() == foretold


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from((*STEPS, "call", "call", "answer")), st.integers(0, 50)), max_size=25)
)
def test_what_no_longer_fits_is_what_the_endpoint_would_drop(steps: list[tuple[str, int]]) -> None:
    play = Play()
    for what, pick in steps:
        play.step(what, pick)
        assert list(play.context.thoughts.stale()) == play.dropped(), what
