"""What prunes kept out of each request: as the endpoint counted it when it was there."""

from dataclasses import replace

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4, TokenCounter
from prunecli.inspector.spending import payments_of
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
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
from prunecli.model.messages import Block, Document, Text, ToolUse, Usage
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

    def kept_out(self) -> list[int]:
        return [self.context.withheld_from(seq) for seq in self.answers]


def test_a_result_is_worth_what_the_prompt_grew_by_when_it_came() -> None:
    talk = Talk()
    prune = talk.clear(0)
    talk.step()
    talk.step()
    assert talk.kept_out() == [0, 0, 0, 128, 128]
    talk.emit(PrunReverted((prune,)))
    talk.prompt += 128
    talk.step()
    assert talk.kept_out() == [0, 0, 0, 128, 128, 0]


def test_an_endpoint_that_counts_fewer_tokens_than_its_models_name_promises_is_measured_too() -> None:
    """Its first report says so. After one as expected, a result that takes half as much is not believed."""
    for preamble, kept in ((1_000, 3_398), (1_600, 6_397)):
        talk = Talk(0)
        talk.emit(SettingChanged("model.name", "dense"))
        talk.emit(SettingChanged(PREAMBLE, {"system": ["x" * 4_000], "tools": []}))
        call, done = ToolUse("t", "read", {"path": "x"}), AssistantMessage((Text("done"),), "dense")
        talk.emit(replace(done, content=(call,), usage=Usage(preamble, 50)))
        result = talk.emit(ToolResult("t", "read", (Text("x" * 16_000),)))
        talk.emit(replace(done, usage=Usage(preamble + 50 + 3_400, 1)))
        talk.emit(PrunApplied("user", (Edit("clear", result, None, GONE, 4_000, SHORT),)))
        seq = talk.emit(replace(done, usage=Usage(preamble + 50 + 3, 1)))
        assert talk.context.withheld_from(seq) == kept


def test_a_dropped_exchange_is_worth_its_output_too_and_a_memo_counts_against_it() -> None:
    talk = Talk()
    drops = [Edit("drop", talk.answers[which], None, None, 110, 0) for which in (0, 1)]
    talk.prune(2 * 180 - SHORT, Edit("memo", talk.answers[0], None, GONE, 0, SHORT), *drops)
    talk.step()
    talk.emit(PrunReverted((talk.answers[0],)))
    talk.step()
    talk.emit(PrunReverted((talk.answers[1],)))
    talk.step()
    rate = talk.context.counts.scale.rate
    assert talk.kept_out() == [0, 0, 0, 360 - round(SHORT * rate), 180 - round(SHORT * rate), 0]


def test_results_that_came_with_a_prune_are_measured_without_it() -> None:
    talk = Talk()
    talk.clear(0)
    talk.step()
    talk.clear(2)  # new in the request that had the first one pruned
    talk.step()
    assert talk.kept_out()[-1] in (255, 256)


def test_a_document_is_worth_what_it_took_however_far_the_estimate_was_off() -> None:
    talk = Talk()
    call = ToolUse("pdf", "read", {"path": "x.pdf"})
    talk.emit(AssistantMessage((call,), "m", "tool_use", Usage(talk.prompt, 50)))
    document = talk.emit(ToolResult("pdf", "read", (Document("application/pdf", "JVBERi0=", 7),)))
    talk.prompt += 50 + 3_000  # 17,500 were expected
    talk.step()
    assert sum(talk.context.counts.amount(talk.context.entries[document])) == 3_000  # which the gate goes by
    talk.prune(3_000 - SHORT, Edit("clear", document, None, GONE, 17_500, SHORT))
    talk.step()
    assert talk.kept_out()[-1] == 3_000 - SHORT


def test_a_document_is_measured_while_another_one_is_counted() -> None:
    talk, tokens = Talk(), []
    for call in (ToolUse("a", "read", {"path": "a.pdf"}), ToolUse("b", "read", {"path": "b.pdf"})):
        talk.emit(AssistantMessage((call,), "m", "tool_use", Usage(talk.prompt, 50)))
        talk.emit(ToolResult(call.id, "read", (Document("application/pdf", "JVBERi0=", 7),)))
        talk.prompt += 50 + 3_000  # 17,500 were expected
        tokens.append(talk.context.counts.scanned[1])
    assert tokens[1] - tokens[0] == 3_000


@pytest.mark.parametrize(
    "shown", [Document("application/pdf", "JVBERi0=", 7), Text("x" * 60_000)], ids=["document", "text"]
)
def test_an_attachment_of_the_first_message_is_worth_what_the_prompt_lost_with_it(shown: Block) -> None:
    """The first report has more than it, so it is known only by the one without it: 11,500 tokens, 17,500 and 15,000
    were expected."""
    talk = Talk(0)
    attached = Attached("read", {"path": "x"})
    first = talk.emit(UserMessage((Text("@x"), shown), "attachment", attached=attached))
    talk.prompt += 11_500
    for _ in range(3):
        talk.step()
    talk.prune(11_500, Edit("clear", first, None, GONE, 15_000, SHORT))
    talk.step()
    talk.clear(0)
    talk.step()
    assert talk.kept_out()[:3] == [0, 0, 0]
    assert talk.kept_out()[3:] == pytest.approx([11_500, 11_500 + 128], rel=0.005)


def test_what_was_kept_out_stays_when_something_leaves_the_prompt_without_a_record() -> None:
    talk = Talk()
    talk.clear(0)
    talk.step()
    talk.prompt = 400
    talk.step()
    assert talk.context.counts.scale.part < 1
    assert talk.kept_out() == [0, 0, 0, 128, 128]


def test_behind_a_compaction_only_edits_in_the_kept_turns_withhold_anything() -> None:
    talk = Talk(4)
    talk.clear(0)
    talk.clear(1)
    talk.step()
    before = talk.results[0]
    talk.emit(CompactionApplied("the gist", before, talk.answers[2], model="m"))
    talk.step()
    assert talk.kept_out()[-2:] in ([255, 128], [256, 128])


def test_a_summary_has_what_was_kept_out_of_its_request_also_on_a_branch_that_was_left() -> None:
    """Also by a prune that no other request contained. The endpoint's own contains only what it replaces."""
    for block, kept_out in ((None, 3 * 128), ({"type": "compaction"}, 2 * 128)):
        talk = Talk(4)
        talk.clear(0)
        talk.step()
        talk.clear(1)
        talk.clear(3)
        unused = talk.emit(AttemptBilled("m", Usage(talk.prompt), "summary"))
        event = CompactionApplied("s", 0, talk.answers[3], model="m", usage=Usage(talk.prompt), block=block)
        summary = talk.emit(event)
        talk.emit(Rewound(0))
        resumed = folded(talk.records)
        for context in (talk.context, resumed):
            assert abs(context.withheld_from(unused) - 3 * 128) <= 1
            assert abs(context.withheld_from(summary) - kept_out) <= 1


def test_a_branch_that_was_left_keeps_its_figures_live_and_after_a_resume() -> None:
    for counter in (Chars4(), Late()):
        talk = Talk(counter=counter)
        talk.clear(0)
        talk.step()
        talk.emit(Rewound(0))
        talk.prompt = 1_000
        talk.step()
        assert talk.kept_out() == [0, 0, 0, 128, 0]
        resumed = Context(counter)
        for record in talk.records:
            resumed.apply(record)
        assert [resumed.withheld_from(seq) for seq in talk.answers] == talk.kept_out()


def test_an_attempt_without_an_answer_has_what_was_kept_out_of_its_request() -> None:
    """Whatever was undone since; the answer to a later request has its own."""
    talk = Talk()
    prune = talk.clear(0)
    talk.emit(RequestSent("m", 0, ""))
    talk.emit(PrunReverted((prune,)))
    attempts = [talk.emit(AttemptBilled("m", Usage(talk.prompt), reason)) for reason in ("cut", "stopped")]
    talk.prompt += 130 - SHORT
    talk.step()
    assert [talk.context.withheld_from(seq) for seq in attempts] == [128, 128]
    assert talk.kept_out() == [0, 0, 0, 0]


def test_cost_and_audit_agree_on_what_was_kept_out_of_an_attempt() -> None:
    talk = Talk()
    talk.clear(0)
    talk.emit(RequestSent("m", 0, ""))
    cut = talk.emit(AttemptBilled("m", Usage(talk.prompt)))
    answer = talk.emit(AssistantMessage((Text("done"),), "m", "end_turn", Usage(talk.prompt, 50)))
    rows = audit(talk.records, Context(Chars4()), lambda model, usage: 0.0).rows[-2:]
    assert [row.kind for row in rows] == ["cut", "request"]
    assert rows[0].pruned == rows[1].pruned > 0
    payments = {
        one.seq: one.withheld for one in payments_of(talk.records, talk.context, lambda *_: 0.0, 300_000)
    }
    assert payments[cut] == payments[answer] == 128


def test_neither_a_later_report_nor_another_model_changes_a_figure_of_an_earlier_request() -> None:
    talk = Talk()
    whole = ToolResult("t", "bash", (Text("x" * 4_000),), spilled=Spilled(900, "x" * 400))
    talk.emit(AssistantMessage((ToolUse("t", "bash", {}),), "m", "tool_use", Usage(talk.prompt, 50)))
    talk.emit(whole)
    talk.prompt += 50 + 130
    talk.step()
    talk.clear(0)
    talk.step()

    def kept() -> list[int]:
        return [one.withheld for one in payments_of(talk.records, talk.context, lambda *_: 0.0, 300_000)]

    before = kept()
    talk.emit(SettingChanged("model.name", "dense"))
    assert before[-1] > 900
    assert kept() == before
    for model in ("dense", "m"):
        talk.emit(SettingChanged("model.name", model))
        for _ in range(4):  # reports that change the scale
            talk.prompt += 40
            talk.step()
            assert kept()[: len(before)] == before
    resumed = Context(Chars4(), lambda name: 1.6 if name == "dense" else 1.0)
    for record in talk.records:
        resumed.apply(record)
    assert [one.withheld for one in payments_of(talk.records, resumed, lambda *_: 0.0, 300_000)] == kept()


def test_an_attempt_on_a_branch_that_was_left_keeps_its_figure_live_and_after_a_resume() -> None:
    for counter in (Chars4(), Late()):
        talk = Talk(counter=counter)
        talk.clear(0)
        talk.emit(RequestSent("m", 0, ""))
        attempt = talk.emit(AttemptBilled("m", Usage(talk.prompt), "stopped"))
        talk.emit(Rewound(0))
        talk.prompt = 1_000
        talk.step()
        resumed = Context(counter)
        for record in talk.records:
            resumed.apply(record)
        assert talk.context.withheld_from(attempt) == resumed.withheld_from(attempt) == 128


def test_thinking_that_an_edit_cost_is_withheld_too() -> None:
    talk = Thinking(3)
    talk.emit(talk.clear(0))
    answer = talk.step()
    assert talk.context.withheld_from(answer) == 98 + 2 * 30
    talk = Thinking(3)
    talk.emit(PrunApplied("strategy", (Edit("strip", talk.context.exchanges[0].seq),), "repair"))
    assert talk.context.withheld_from(talk.step()) == 30
