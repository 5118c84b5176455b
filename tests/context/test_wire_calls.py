"""Calls whose ids repeat or do not fit: local servers send call_0 in each turn."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.prun import plan_edits, plan_prun
from prunecli.context.render import wire_ids, wire_name
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    Record,
    Rewound,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse
from tests.context.project import project
from tests.context.talk import Talk, tokens
from tests.endpoint.sample import verdict
from tests.laws.logs import sessions


def sent(context: Context) -> list[dict[str, Any]]:
    return [json.loads(message.canonical) for message in context.messages()]


def judged(context: Context) -> str:
    """What the strict endpoint says to the next request, "" for nothing."""
    messages = sent(context)
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "go on"})
    return verdict({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages})


class Local(Talk):
    """A session with a local server: its calls are call_0 in each turn."""

    def step(self, tool: str, *content: Any, **given: Any) -> int:
        self.add(AssistantMessage((ToolUse("call_0", tool, given),), "m", "tool_use"))
        return self.add(ToolResult("call_0", tool, tuple(Text(part) for part in content)))


def local() -> tuple[Local, list[int]]:
    talk = Local()
    talk.user()
    seqs = [talk.step("read", f"{n} " + tokens(50), path=f"{n}.py") for n in range(4)]
    talk.seen()
    return talk, seqs


def test_each_result_answers_the_call_of_its_own_turn() -> None:
    talk, seqs = local()
    calls = [call for seq in seqs if (call := talk.entry(seq).call)]
    assert [call.input["path"] for call in calls] == [f"{n}.py" for n in range(4)]
    assert judged(talk.context) == ""


def test_the_first_keeps_its_id_and_the_others_get_one_by_their_place() -> None:
    talk, _ = local()
    ids = [b["id"] for m in sent(talk.context) for b in m["content"] if b["type"] == "tool_use"]
    assert ids == ["call_0", "call_0_3", "call_0_5", "call_0_7"]


def test_a_strategy_clears_the_results_it_means() -> None:
    talk, _ = local()
    talk.apply(talk.ask("aggressive", keep_last_assistants=3))
    shown = list(talk.shown().values())
    assert [text.startswith("[Old") for text in shown] == [True, True, False, False]
    assert judged(talk.context) == ""


def test_a_prun_takes_the_exchanges_it_named() -> None:
    talk, seqs = local()
    view = talk.view()
    plan = plan_prun(view, 60, None)
    assert plan.exchanges == (seqs[2] - 1, seqs[3] - 1, seqs[3] + 1)[-len(plan.exchanges) :]
    talk.add(PrunApplied("model", plan_edits(view, plan)))
    assert judged(talk.context) == ""
    assert len(talk.shown()) == 4 - sum(seq < seqs[3] + 1 for seq in plan.exchanges)


def test_a_repair_replaces_the_entry_it_names() -> None:
    talk, seqs = local()
    talk.add(PrunApplied("strategy", (Edit("repair", seqs[1], "call_0", "[mended]"),), "repair"))
    assert [text == "[mended]" for text in talk.shown().values()] == [False, True, False, False]


def test_a_call_that_nobody_answered_is_answered_as_interrupted_under_its_own_id() -> None:
    talk, _ = local()
    talk.add(AssistantMessage((ToolUse("call_0", "read", {}),), "m", "tool_use"))
    assert judged(talk.context) == ""


def test_a_removed_exchange_changes_no_other_id() -> None:
    """The prefix stays as it was: an id depends on the log, not on what is shown."""
    talk, seqs = local()
    before = [b for m in sent(talk.context) for b in m["content"] if b["type"] == "tool_use"]
    talk.edit("drop", seqs[0] - 1)
    assert [b for m in sent(talk.context) for b in m["content"] if b["type"] == "tool_use"] == before[1:]


def test_ids_and_names_that_do_not_fit_are_sent_as_others() -> None:
    talk = Talk()
    talk.user()
    for use in ("call_1|fc_2", "", "ünï", "ok-1_A"):
        talk.add(AssistantMessage((ToolUse(use, "my tool.v2" * 20, {}),), "m", "tool_use"))
        talk.add(ToolResult(use, "my tool", (Text("x"),)))
    assert judged(talk.context) == ""
    uses = [b for m in sent(talk.context) for b in m["content"] if b["type"] == "tool_use"]
    assert uses[-1]["id"] == "ok-1_A"


def test_what_answers_a_refused_response_is_no_answer_to_an_earlier_call_of_that_id() -> None:
    talk = Talk()
    talk.user()
    talk.add(AssistantMessage((ToolUse("call_0", "read", {}),), "m", "tool_use"))
    talk.user()
    talk.add(AssistantMessage((ToolUse("call_0", "read", {}),), "m", "refusal"))
    talk.add(ToolResult("call_0", "read", (Text("of the refused one"),)))
    assert judged(talk.context) == ""
    assert "of the refused one" not in str(sent(talk.context))


@given(
    st.lists(st.text(max_size=6), min_size=1, max_size=5, unique=True),
    st.sets(st.text(max_size=6), max_size=5),
)
def test_wire_ids_are_free_fit_and_the_same_for_what_fits(own: list[str], taken: set[str]) -> None:
    calls = [ToolUse(use, "t", {}) for use in own]
    changed = wire_ids(calls, 7, taken)
    made = [changed.get(use, use) for use in own]
    assert len(set(made)) == len(made)
    assert not taken & set(made)
    assert all(wire_name(use) == use for use in made)
    assert wire_ids(calls, 7, taken) == changed


@given(sessions(), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_a_log_whose_ids_repeat_gives_the_requests_of_one_whose_ids_do_not(
    records: list[Record], calls: int
) -> None:
    """The same log with fresh ids and with call_0, call_1, … in each message: the same but for the ids."""
    fresh, repeated = Context(Chars4()), Context(Chars4())
    log: list[Record] = []
    places: dict[str, str] = {}
    for record in records:
        event: Any = record.event
        if isinstance(event, Rewound):
            event = UserMessage((Text("instead"),))
        fresh.apply(Record(record.seq, record.timestamp, event))
        if isinstance(event, AssistantMessage):
            uses = [block for block in event.content if isinstance(block, ToolUse)]
            open_now = {use.id: f"call_{n}" for n, use in enumerate(uses)}
            places |= open_now
            content = tuple(
                ToolUse(open_now[b.id], b.name, b.input) if isinstance(b, ToolUse) else b
                for b in event.content
            )
            event = AssistantMessage(content, event.model, event.stop_reason, event.usage)
        elif isinstance(event, ToolResult) and event.tool_use_id in places:
            use = places[event.tool_use_id]
            event = ToolResult(use, event.tool_name, event.content, event.is_error, event.details)
        elif isinstance(event, PrunApplied):
            edits = (replace(one, tool_use_id=places.get(one.tool_use_id or "")) for one in event.edits)
            event = replace(event, edits=tuple(edits))
        log.append(Record(record.seq, record.timestamp, event))
        repeated.apply(log[-1])
    assert without_ids(repeated) == without_ids(fresh)
    assert repeated.messages() == project(log)
    assert judged(repeated) == judged(fresh)


def without_ids(context: Context) -> list[Any]:
    messages = sent(context)
    for message in messages:
        for block in message["content"]:
            block.pop("id", None)
            block.pop("tool_use_id", None)
    return messages
