"""The tool ask: input checks, and how the model gets the answer."""

from typing import Any

import pytest

from prunecli.features.todo_and_ask.ask_tool import DECLINED, Ask
from prunecli.model.touches import Touches
from prunecli.tools.asking import Inquiry, Reply
from prunecli.tools.tool import touches_of
from tests.tools.calling import Caller

TWO: list[dict[str, Any]] = [{"label": "tabs", "description": "as now"}, {"label": "spaces"}]


def answering(tools: Caller, reply: Reply | None) -> tuple[Caller, list[Inquiry]]:
    asked: list[Inquiry] = []

    async def ask(inquiry: Inquiry) -> Reply | None:
        asked.append(inquiry)
        return reply

    return tools.with_(ask=ask), asked


@pytest.mark.parametrize(
    ("reply", "text", "answer"),
    [
        (Reply((1,)), "The user chose: spaces", "spaces"),
        (Reply((0, 1)), "The user chose: tabs, spaces", "tabs, spaces"),
        (Reply((), "both, by file"), "The user answered: both, by file", "both, by file"),
        (Reply((0,), "but 8 wide"), "The user chose: tabs\nThe user added: but 8 wide", "tabs · but 8 wide"),
        (Reply(), DECLINED, "declined"),
    ],
)
async def test_the_model_gets_the_users_answer(tools: Caller, reply: Reply, text: str, answer: str) -> None:
    tools, asked = answering(tools, reply)
    output = await tools.output("ask", question=" Which?\n", options=TWO, multiple=True, default="spaces")
    assert [block.text for block in output.content] == [text]
    assert not output.is_error
    assert output.details == {"answer": answer}
    (inquiry,) = asked
    assert (inquiry.question, inquiry.multiple, inquiry.default, inquiry.who) == ("Which?", True, 1, "")
    assert [(one.label, one.description) for one in inquiry.options] == [("tabs", "as now"), ("spaces", "")]


@pytest.mark.parametrize("present", [True, False])
async def test_without_a_user_the_default_holds_or_nobody_answers(tools: Caller, present: bool) -> None:
    tools = answering(tools, None)[0] if present else tools
    assert await tools.text("ask", question="Which?", options=TWO, default="tabs") == (
        "No one is available to answer. Your default applies: tabs"
    )
    said = await tools.text("ask", question="Which?", options=TWO)
    assert said == "No one is available to answer. Decide yourself, or end with the question."


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"question": "  "}, "question is empty."),
        ({"options": TWO[:1]}, "options: give 2 to 4, not 1."),
        ({"options": [{"label": str(n)} for n in range(5)]}, "options: give 2 to 4, not 5."),
        ({"options": [{"label": "a"}, {"label": " a"}]}, "options: each needs a different label."),
        ({"options": [{"label": ""}, {"label": "a"}]}, "options: each needs a different label."),
        ({"options": [{"name": "a"}, {"label": "b"}]}, "Invalid input: options item 1: label is missing"),
        ({"options": ["a", "b"]}, "Invalid input: options item 1: must be an object, not 'a'"),
        ({"options": "a, b"}, "Invalid input: options must be a list"),
        ({"default": "neither"}, "default is one of the labels: tabs, spaces."),
        ({"question": "x" * 5_000}, "The question and its options have 5,016 characters; at most 4,000."),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_the_reason(
    tools: Caller, given: dict[str, Any], why: str
) -> None:
    tools, asked = answering(tools, Reply((0,)))
    assert await tools.error("ask", **{"question": "Which?", "options": TWO, **given}) == why
    assert asked == []


def test_it_touches_nothing_and_is_shown_by_its_question() -> None:
    assert touches_of(Ask(), None) == Touches()
    assert Ask().summary({"question": "Which\none?"}) == "Which one?"
    assert Ask().summary({"question": 3}) == "3"
