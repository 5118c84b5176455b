"""What each request lacked because of pruning, and what of that was fetched again."""

import pytest

from prunecli.context.spending import billed_responses
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SettingChanged,
    Spilled,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, Usage
from prunecli.model.requests import PREAMBLE
from prunecli.session.audit import audit
from tests.context.thinking import Talk as Thinking
from tests.session.points import folded

GONE = "[gone]"
SHORT = 2
"""Tokens of it, at four characters each."""


class Late(Chars4):
    """A counter under the name of the tokenizer: it counts only when it is asked for a figure."""

    name = "tiktoken"


class Talk:
    """Reads of 100 tokens by the counter; the endpoint counts 130 for each, and 50 for each answer."""

    def __init__(self, steps: int = 3, counter: TokenCounter | None = None) -> None:
        self.context = Context(counter or Chars4(), lambda name: 1.6 if name == "dense" else 1.0)
        self.records: list[Record] = []
        self.answers: list[int] = []
        self.results: list[int] = []
        self.prompt = 1_000
        self.emit(UserMessage((Text("look"),)))
        for _ in range(steps):
            self.step()

    def emit(self, event: Event) -> int:
        self.records.append(Record(len(self.records), len(self.records), event))
        self.context.apply(self.records[-1])
        return len(self.records) - 1

    def step(self) -> int:
        """A request, its answer, and a result that the next request has in addition."""
        name = f"t{len(self.records)}"
        self.emit(RequestSent("m", 0, ""))
        call = ToolUse(name, "read", {"path": "x"})
        seq = self.emit(AssistantMessage((call,), "m", "tool_use", Usage(self.prompt, 50)))
        self.results.append(self.emit(ToolResult(name, "read", (Text("x" * 400),))))
        self.answers.append(seq)
        self.prompt += 50 + 130
        return seq

    def prune(self, saved: int, *edits: Edit) -> int:
        self.prompt -= saved
        return self.emit(PrunApplied("user", edits))

    def clear(self, which: int) -> int:
        return self.prune(130 - SHORT, Edit("clear", self.results[which], None, GONE, 100, SHORT))

    def lacked(self) -> list[int]:
        """The tokens that prunes kept out of each request. The endpoint counts 130 for 100."""
        return [self.context.prune_history.lacked[seq].pruned for seq in self.answers]


def test_each_request_lacks_what_is_pruned_when_it_is_sent() -> None:
    talk = Talk()
    prune = talk.clear(0)
    talk.step()
    talk.step()
    assert talk.lacked()[:3] == [0, 0, 0]
    assert talk.lacked()[3:] == pytest.approx([128, 128], rel=0.2)
    talk.emit(PrunReverted((prune,)))
    talk.prompt += 128
    talk.step()
    assert talk.lacked()[-1] == 0


def test_a_dropped_exchange_counts_with_its_answer_and_a_memo_counts_against_it() -> None:
    talk = Talk()
    drops = [Edit("drop", talk.answers[which], None, None, 110, 0) for which in (0, 1)]
    talk.prune(2 * 180 - SHORT, Edit("memo", talk.answers[0], None, GONE, 0, SHORT), *drops)
    talk.step()
    talk.emit(PrunReverted((talk.answers[0],)))
    talk.step()
    assert talk.lacked()[-2:] == pytest.approx([358, 178], rel=0.2)


def test_a_summary_ends_what_was_pruned_in_the_turns_that_it_replaces() -> None:
    talk = Talk(4)
    talk.clear(0)
    talk.clear(1)
    talk.step()
    talk.emit(CompactionApplied("the gist", talk.results[0], talk.answers[2], model="m"))
    talk.step()
    both, one = talk.lacked()[-2:]
    assert one == pytest.approx(both / 2, rel=0.1)


def test_a_request_for_a_summary_lacks_what_was_pruned_too() -> None:
    talk = Talk(4)
    talk.clear(0)
    usage = Usage(talk.prompt)
    seqs = [talk.emit(AttemptBilled("m", usage, "summary"))]
    seqs.append(talk.emit(CompactionApplied("s", 0, talk.answers[3], model="m", usage=usage)))
    talk.emit(Rewound(0))
    for context in (talk.context, folded(talk.records)):
        assert [context.prune_history.lacked[seq].pruned for seq in seqs] == pytest.approx([128] * 2, rel=0.2)


def test_a_branch_that_was_left_keeps_its_figures_live_and_after_a_resume() -> None:
    for counter in (Chars4(), Late()):
        talk = Talk(counter=counter)
        talk.clear(0)
        talk.step()
        talk.emit(Rewound(0))
        talk.prompt = 1_000
        talk.step()
        resumed = Context(counter)
        for record in talk.records:
            resumed.apply(record)
        assert resumed.prune_history.lacked == talk.context.prune_history.lacked
        assert [tokens > 0 for tokens in talk.lacked()] == [False, False, False, True, False]


def test_an_attempt_without_an_answer_lacks_what_its_request_lacked_whatever_was_undone_since() -> None:
    talk = Talk()
    prune = talk.clear(0)
    talk.emit(RequestSent("m", 0, ""))
    talk.emit(PrunReverted((prune,)))
    cut = talk.emit(AttemptBilled("m", Usage(talk.prompt), "cut"))
    stopped = talk.emit(AttemptBilled("m", Usage(talk.prompt), "stopped"))
    talk.step()
    lacked = talk.context.prune_history.lacked
    assert lacked[cut].pruned == lacked[stopped].pruned > 0
    assert talk.lacked()[-1] == 0


def test_later_reports_and_other_models_change_no_figure_of_an_earlier_request() -> None:
    talk = Talk()
    whole = ToolResult("t", "bash", (Text("x" * 4_000),), spilled=Spilled(900, "x" * 400))
    talk.emit(AssistantMessage((ToolUse("t", "bash", {}),), "m", "tool_use", Usage(talk.prompt, 50)))
    talk.emit(whole)
    talk.prompt += 50 + 130
    talk.step()
    talk.clear(0)
    talk.step()

    def withheld() -> list[int]:
        return [one.withheld for one in billed_responses(talk.records, talk.context, lambda *_: 0.0)]

    before = withheld()
    assert before[-1] > 900
    assert talk.context.prune_history.lacked[talk.answers[-2]].fresh > 900
    assert talk.context.prune_history.lacked[talk.answers[-1]].fresh == 0
    for model in ("dense", "m"):
        talk.emit(SettingChanged("model.name", model))
        for _ in range(4):
            talk.prompt += 40
            talk.step()
            assert withheld()[: len(before)] == before


def test_cost_and_audit_agree_on_what_an_attempt_lacked() -> None:
    talk = Talk()
    talk.clear(0)
    talk.emit(RequestSent("m", 0, ""))
    cut = talk.emit(AttemptBilled("m", Usage(talk.prompt)))
    answer = talk.emit(AssistantMessage((Text("done"),), "m", "end_turn", Usage(talk.prompt, 50)))
    rows = audit(talk.records, Context(Chars4()), lambda model, usage: 0.0).rows[-2:]
    assert [row.kind for row in rows] == ["cut", "request"]
    assert rows[0].pruned == rows[1].pruned > 0
    payments = {one.seq: one.withheld for one in billed_responses(talk.records, talk.context, lambda *_: 0.0)}
    assert payments[cut] == payments[answer] > 0


def test_thinking_that_an_edit_cost_is_lacking_too() -> None:
    talk = Thinking(3)
    talk.emit(talk.clear(0))
    answer = talk.step()
    assert talk.context.prune_history.lacked[answer].pruned == 98 + 2 * 30


def test_content_that_is_fetched_again_is_counted_from_the_request_that_shows_it() -> None:
    talk = Talk()
    talk.clear(0)
    talk.emit(RequestSent("m", 0, ""))
    call = ToolUse("again", "recall", {"entry": talk.results[0]})
    talk.emit(AssistantMessage((call,), "m", "tool_use", Usage(talk.prompt, 9)))
    talk.emit(ToolResult("again", "recall", (Text("x" * 400),)))
    first, second = (
        talk.context.prune_history.lacked[talk.step()],
        talk.context.prune_history.lacked[talk.step()],
    )
    assert first.again == first.again_fresh > 0
    assert (second.again > 0, second.again_fresh) == (True, 0)
    assert [one.extra for one in billed_responses(talk.records, talk.context, lambda *_: 0.0)].count(
        True
    ) == 1


@pytest.mark.parametrize(
    ("read", "rewritten", "cold"), [(0, 0, True), (1_400, 550, False), (5_000, 0, False)]
)
def test_a_prune_is_charged_for_what_the_endpoint_wrote_again_unless_its_cache_was_cold(
    read: int, rewritten: int, cold: bool
) -> None:
    talk = Talk(0)
    talk.emit(SettingChanged(PREAMBLE, {"system": ["x" * 6_000], "tools": []}))
    talk.emit(RequestSent("m", 0, ""))
    call = ToolUse("t", "read", {"path": "x"})
    talk.emit(AssistantMessage((call,), "m", "tool_use", Usage(0, 50, 0, 2_000)))
    result = talk.emit(ToolResult("t", "read", (Text("x" * 1_600),)))
    talk.emit(RequestSent("m", 0, ""))
    talk.emit(AssistantMessage((Text("done"),), "m", "end_turn", Usage(0, 50, 2_000, 450)))
    prune = talk.emit(PrunApplied("user", (Edit("clear", result, None, GONE, 400, SHORT),)))
    talk.emit(UserMessage((Text("more"),)))
    talk.emit(RequestSent("m", 0, ""))
    done = talk.emit(AssistantMessage((Text("done"),), "m", "end_turn", Usage(0, 50, read, 2_100 - read)))
    lacked = talk.context.prune_history.lacked[done]
    assert (lacked.prunes, lacked.cold) == ((prune,), cold)
    assert lacked.rewritten == pytest.approx(rewritten, rel=0.6) if rewritten else lacked.rewritten == 0
