"""Which thinking no longer fits, from the log alone: always what the endpoint's check says of the same requests."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.agent.assemble import ModelSettings, compaction_request
from prunecli.context.compaction import Options, plan_compaction
from prunecli.context.economics import Market
from prunecli.context.impact import Overlay, impact
from prunecli.context.old_thinking import old_thinking
from prunecli.context.outline import Outline
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.features.inspector.inspecting import Listing
from prunecli.model.claude import may_read
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
from prunecli.model.messages import Text, Thinking, ToolUse, Usage
from prunecli.model.notes import SYSTEM
from prunecli.model.requests import PREAMBLE, WireMessage, messages_json, posted
from tests.endpoint.binding import Bound, PrefixChain, Reader, bind
from tests.endpoint.content import examine
from tests.endpoint.readers import may_read as endpoint_may_read
from tests.endpoint.render import RenderedBlock, render
from tests.endpoint.rules import COMPACTION, Rules
from tests.endpoint.signatures import Origin, sign
from tests.endpoint.summaries import Replaced, check_summaries, preamble_digest
from tests.session.points import folded

OPUS = "claude-opus-5-5"
MODELS = (OPUS, "claude-sonnet-5-5", "claude-opus-5", "claude-fable-5-1")
RULES = Rules()
STEPS = (
    "ask",
    "answer",
    "call",
    "clear",
    "cut",
    "drop",
    "strip",
    "old",
    "undo",
    "restore",
    "rewind",
    "compact",
    "preamble",
    "model",
    "meanwhile",
    "note",
    "tells",
)
MEANWHILE = ("clear", "strip", "undo", "restore", "model")
"""What a person may do while an answer is out."""


class Play:
    """A session whose thinking is signed as the endpoint signs it, and judged as the endpoint judges it."""

    def __init__(self) -> None:
        self.context = Context(Chars4())
        self.records: list[Record] = []
        self.count = self.signed = 0
        self.model = OPUS
        self.emit(SettingChanged("model.name", OPUS))
        self.emit(SettingChanged(PREAMBLE, {"system": ["Be brief."], "tools": []}))
        self.emit(UserMessage((Text("hello"),)))

    def emit(self, event: Event) -> int:
        self.records.append(Record(self.count, 1_000 + self.count, event))
        self.context.apply(self.records[-1])
        self.count += 1
        return self.count - 1

    def system(self) -> list[RenderedBlock]:
        """The system prompt as the endpoint sees it."""
        return [render("system", json.loads(block), "", 4) for block in self.context.preamble.system]

    def judged(self, messages: Sequence[WireMessage] | None = None) -> Bound:
        """What the endpoint makes of these messages, or of those of the next request."""
        model = RULES.model(self.model)
        assert model is not None
        asked = self.context.messages() if messages is None else messages
        facts = [examine(message, RULES) for message in messages_json(asked)]
        assert all(fact.problem is None for fact in facts)
        check_summaries(facts, frozenset({COMPACTION}), model, RULES, asked=messages is not None)
        return bind(self.system(), facts, PrefixChain(), Reader(model, "", "drop_block"))

    def dropped(self) -> list[int]:
        """The answers of which the endpoint would drop thinking."""
        messages = posted(self.context.messages())
        found = ((messages[at], place) for at, place in self.judged().dropped)
        return sorted({message.seqs[place] for message, place in found if message})

    def answer(self, *, calling: bool, meanwhile: tuple[str, int] | None = None) -> None:
        if self.context.messages()[-1].role != "user":
            self.emit(UserMessage((Text("go on"),)))
        judged = self.judged()
        prefix, report = judged.prefix, judged.transformations if self.count % 3 else None
        model = self.model
        self.emit(RequestSent(model, 0, ""))
        prompt = self.context.counts.context_tokens
        chars = 3 if prefix.digest else 0
        origin = Origin(f"m{self.count}", 0, prefix.digest.hex(), prefix.previous, model, "", chars)
        words = Text(
            f"so {self.count}"
        )  # no two answers are alike: the endpoint compares content, not entries
        content: tuple[Text | Thinking | ToolUse, ...] = (Thinking("hm", sign("hm", origin)), words)
        call = ToolUse(f"t{self.count}", "read", {"path": "a"})
        said = (*content, call) if calling else content
        thought = 7 if self.count % 2 else None
        usage = Usage(prompt, 40, 0, 0)
        if meanwhile:
            self.step(*meanwhile)
        self.emit(
            AssistantMessage(said, model, usage=usage, input_transformations=report, thinking_tokens=thought)
        )
        if calling:
            self.emit(ToolResult(call.id, "read", (Text(f"a long result {self.count}"),)))

    def step(self, what: str, pick: int) -> None:
        context = self.context
        results = [entry.seq for entry in context.entries.values() if entry.kind == "result"]
        heads = [exchange.seq for exchange in context.exchanges]
        calls = [(exchange.seq, call.id) for exchange in context.exchanges for call in exchange.calls]
        first = context.items[0] if context.items else None
        match what:
            case "ask":
                self.emit(UserMessage((Text(f"words {pick}"),)))
            case "answer" | "call":
                self.answer(calling=what == "call")
            case "meanwhile":
                self.answer(
                    calling=True, meanwhile=(MEANWHILE[pick % len(MEANWHILE)], pick // len(MEANWHILE))
                )
            case "clear" if results:
                seq = results[pick % len(results)]
                self.prune([Edit("clear", seq, None, f"[cleared {pick % 2}]")])
            case "cut" if calls:
                seq, use = calls[pick % len(calls)]
                self.prune([Edit("cut", seq, use, f'{{"path":"{pick % 2}"}}', 9, 3)])
            case "drop" | "strip" if heads:
                self.prune([Edit("drop" if what == "drop" else "strip", heads[pick % len(heads)])])
            case "old" if edits := old_thinking(View(context, 200_000)):
                before = set(self.dropped())
                self.prune(edits)
                assert set(self.dropped()) <= before, "leaving out the first thinking costs no other"
            case "undo" if context.pruns:
                self.act(PrunReverted((sorted(context.pruns)[pick % len(context.pruns)],)))
            case "restore" if results:
                self.act(PrunReverted((results[pick % len(results)],)))
            case "rewind" if context.user_turns:
                self.emit(Rewound(context.user_turns[pick % len(context.user_turns)]))
            case "compact" if len(heads) > 2:
                tail = heads[1 + pick % (len(heads) - 1)]
                self.act(CompactionApplied(f"the gist {self.count}", 2, tail))
            case "model":
                self.model = MODELS[pick % len(MODELS)]
                self.act(SettingChanged("model.name", self.model))
            case "note":
                self.emit(UserMessage((Text(f"plan {pick}"), Text(f"[plan mode] {self.count}")), fixed=(1,)))
            case "tells":
                self.emit(SettingChanged(SYSTEM, pick % 3 > 0))
            case "preamble":
                number = self.count if self.signed else pick % 2
                self.emit(SettingChanged(PREAMBLE, {"system": [f"Be brief {number}."], "tools": []}))
            case "text" if first and first.block and not context.text_edit(first.seq):
                self.prune([Edit("repair", first.seq, None, first.text)])
            case "signed":
                self.summarize(Options(keep_recent_turns=1 + pick % 2))
            case _:
                pass

    def summarize(self, options: Options) -> None:
        """A summary by the endpoint, where it can make one."""
        plan = plan_compaction(self.context, options, 200_000, by_endpoint=True)
        if plan is None or not plan.by_endpoint or self.model != OPUS:
            return
        messages = compaction_request(self.context, ModelSettings(OPUS), plan, Market()).messages
        bound, system = self.judged(messages), self.system()
        replaced = Replaced(bound.prefix.digest, preamble_digest(system), messages[-1].role)
        gist = f"the gist {self.count}"
        event = plan.event(self.context, gist, replaced.block(gist, OPUS, RULES.signing_key))
        self.emit(replace(event, model=OPUS))
        assert abs(event.tokens_after - self.context.counts.context_tokens) <= 3, "what it says it leaves"
        self.signed += 1

    def prune(self, edits: Sequence[Edit]) -> None:
        self.act(PrunApplied("user", tuple(edits)))

    def act(self, event: Event) -> None:
        """Something whose effect on thinking is foretold, to the block."""
        context = self.context
        with_forecast = Overlay(context, [event])
        stale, dropped, blocks = (
            with_forecast.stale(),
            with_forecast.dropped(),
            impact(context, [event], Market()).lost.blocks,
        )
        effect, before = impact(context, [event], Market()), set(context.unseen.dropped)
        assert effect.before == context.counts.context_tokens
        there = set(filter(Overlay(context).is_sent, context.entries))
        stripped = {seq for seq in context.entries if context.unseen.lacks(seq)} - before
        self.emit(event)
        assert context.thoughts.stale() == stale
        assert context.unseen.dropped == dropped
        lacking = {seq for seq in context.entries if context.unseen.lacks(seq)}
        assert len((lacking - before - stripped) & there) == blocks == effect.lost.blocks, (
            "one block in each answer"
        )
        if not isinstance(event, CompactionApplied):
            assert abs(effect.after - context.counts.context_tokens) <= 1


STEP = st.tuples(st.sampled_from((*STEPS, "call", "call", "answer")), st.integers(0, 50))


@settings(max_examples=40, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_what_no_longer_fits_is_what_the_endpoint_would_drop(steps: list[tuple[str, int]]) -> None:
    play = Play()
    for what, pick in [*steps, *(("ask", 1), ("answer", 0)) * 2, ("old", 0)]:
        play.step(what, pick)
        assert sorted(play.context.unseen.dropped) == play.dropped(), what


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from((*STEPS, "text", "text", *("ask", "answer", "signed") * 4)), st.integers(0, 50)
        ),
        max_size=40,
    )
)
def test_it_is_so_behind_summaries_that_the_endpoint_made(steps: list[tuple[str, int]]) -> None:
    play = Play()
    for what, pick in [("answer", 0), ("ask", 0), ("answer", 0), ("ask", 1), ("answer", 0), *steps]:
        play.step(what, pick)
        assert sorted(play.context.unseen.dropped) == play.dropped(), what


@pytest.mark.parametrize(("what", "back"), [("clear", "undo"), ("model", "model")])
def test_what_is_changed_while_an_answer_is_out_and_changed_back_costs_no_thinking(
    what: str, back: str
) -> None:
    play = Play()
    for _ in range(2):
        play.answer(calling=True)
    play.answer(calling=True, meanwhile=(what, MODELS.index("claude-sonnet-5-5") if what == "model" else 0))
    assert play.dropped()
    play.step(back, 0)
    assert sorted(play.context.unseen.dropped) == play.dropped() == []


def test_thinking_behind_a_fixed_sentence_fits_while_that_has_the_form_it_had() -> None:
    play = Play()
    for what, pick, lost in (
        ("tells", 1, 0),
        ("note", 0, 0),
        ("answer", 0, 0),
        ("tells", 0, 1),
        ("tells", 1, 0),
    ):
        play.step(what, pick)
        assert len(play.dropped()) == len(play.context.unseen.dropped) == lost, what


def test_thinking_behind_such_a_summary_is_kept_and_behind_our_own_it_is_not() -> None:
    for steps, stale in ((["signed"], 0), (["signed", "answer", "ask", "answer", "signed"], 0)):
        play = Play()
        for what in ["answer", "ask", "answer", "ask", "answer", *steps]:
            play.step(what, 1)
        assert play.signed
        assert len(play.context.thoughts.stale()) == stale == len(play.dropped())
    play = Play()
    for what in ["answer", "ask", "answer", "ask", "answer"]:
        play.step(what, 1)
    plan = plan_compaction(play.context, Options(keep_first_turns=0, keep_recent_turns=1), 200_000)
    assert plan is not None
    event = plan.event(play.context, "our own gist")
    play.emit(event)
    assert abs(event.tokens_after - play.context.counts.context_tokens) <= 3
    assert len(play.context.thoughts.stale()) == 1 == len(play.dropped())


@settings(max_examples=30, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_the_tokens_of_thinking_are_the_same_live_and_after_a_resume(steps: list[tuple[str, int]]) -> None:
    play = Play()
    followed = Outline(play.context, [])
    for what, pick in steps:
        play.step(what, pick)
        followed.take(play.records)
        assert followed.whole.shown == play.context.counts.shown
    resumed = folded(play.records)
    assert resumed.unseen.dropped == play.context.unseen.dropped
    assert resumed.unseen.moved == play.context.unseen.moved
    assert resumed.counts.context_tokens == play.context.counts.context_tokens
    assert resumed.counts.scale == play.context.counts.scale
    anew = Outline(resumed, play.records)
    assert followed.whole == anew.whole
    keys = [row.key for row in Listing(anew).done()]
    assert [followed.node(key) for key in keys] == [anew.node(key) for key in keys]
    top = [node.tokens for key in keys if (node := anew.node(key)).key.kind == "turn" or key.seq == -1]
    assert abs(sum(top) - resumed.counts.context_tokens) <= len(top)


def test_which_model_reads_whose_thinking_is_what_the_endpoint_says() -> None:
    names = [model.id for model in RULES.models]
    for reader in names:
        for writer in names:
            assert may_read(reader, writer) == endpoint_may_read(reader, writer), (reader, writer)
