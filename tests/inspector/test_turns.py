"""The bill by turn: its parts add up to the whole."""

from hypothesis import given, settings

from prunecli.context.spending import billed_responses, effects, turns
from prunecli.model.events import AssistantMessage, Record, UserMessage
from prunecli.model.messages import Text, Usage
from tests.laws.logs import logs
from tests.session.points import folded


def price(_: str, usage: Usage) -> float:
    return usage.prompt_tokens / 1e6


@given(logs())
@settings(max_examples=60, deadline=None)
def test_each_response_is_in_one_turn_in_order(records: list[Record]) -> None:
    context = folded(records)
    responses = billed_responses(records, context, price)
    changes = list(effects(responses, price))
    found = turns(records, responses, changes)
    assert sorted((one for turn in found for one in turn.responses), key=lambda one: one.seq) == responses
    assert sum(len(turn.effects) for turn in found) == len(changes)
    assert all(
        (turn.summaries == "summary") == (one.kind == "summary") for turn in found for one in turn.responses
    )
    keys = [(turn.number, turn.summaries) for turn in found]
    assert keys == sorted(set(keys))


def test_steering_commands_and_notices_open_no_turn() -> None:
    answer = AssistantMessage((Text("ok"),), "m", usage=Usage(10, 1))
    events = [
        answer,
        UserMessage((Text("one\n  two"),)),
        answer,
        UserMessage((Text("no, that"),), "steering"),
        answer,
        UserMessage((Text("!ls"), Text("a")), "command"),
        answer,
        UserMessage((Text("next"),), "follow_up"),
        answer,
    ]
    records = [Record(seq, 1_000 + seq, event) for seq, event in enumerate(events)]
    context = folded(records)
    responses = billed_responses(records, context, price)
    found = turns(records, responses, list(effects(responses, price)))
    assert [(turn.number, turn.words, len(turn.responses)) for turn in found] == [
        (0, "", 1),
        (1, "one two", 3),
        (2, "next", 1),
    ]
