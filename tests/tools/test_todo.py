"""The tool todo: input checks, its result, and its price in tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.model.todos import MOST, MOST_CHARS, in_lines, in_one_line, is_open, todos_of
from prunecli.model.touches import Touches
from prunecli.providers.tokenizer import counter
from prunecli.tools.inputs import definition, parse
from prunecli.tools.registry import load
from prunecli.tools.tool import touches_of
from tests.tools.calling import Caller

TODO = load("todo")
ITEMS = [
    {"content": "Read the parser", "status": "completed"},
    {"content": "Fix the parser", "status": "in_progress", "activeForm": "Fixing the parser"},
    {"content": "Run the tests", "status": "pending"},
]


async def test_the_result_is_short_and_counts(tools: Caller) -> None:
    assert await tools.text("todo", todos=ITEMS) == "1 completed, 1 in progress, 1 pending."
    assert await tools.text("todo", todos=[]) == "The list is empty."


async def test_two_items_in_progress_are_accepted_with_advice(tools: Caller) -> None:
    both = [dict(item, status="in_progress") for item in ITEMS[:2]]
    assert await tools.text("todo", todos=both) == (
        "0 completed, 2 in progress, 0 pending. Keep only one in progress."
    )


@pytest.mark.parametrize(
    ("todos", "why"),
    [
        ("Fix it", "todos must be a list"),
        ([3], "todos item 1: must be an object, not 3"),
        (
            [{"content": "a", "status": "done"}],
            "todos item 1: status must be one of pending, in_progress, comp",
        ),
        ([ITEMS[0], {"status": "pending"}], "todos item 2: content is missing"),
        ([{"content": 5, "status": None}], "item 1: content must be a string, not 5, status must be one of"),
        ([{"content": " \n", "status": "pending"}], "todos item 1: content is blank"),
        (ITEMS * 34, "todos has 102 items; 100 is the limit. Combine some."),
    ],
)
async def test_bad_input_names_the_item_and_the_way_out(tools: Caller, todos: object, why: str) -> None:
    assert why in await tools.error("todo", todos=todos)


def test_it_touches_nothing_so_no_mode_asks() -> None:
    assert touches_of(TODO, parse(TODO.Input, {"todos": ITEMS})) == Touches()


def test_its_definition_takes_at_most_130_tokens() -> None:
    assert counter("tiktoken").count(json.dumps(definition(TODO), separators=(",", ":"))) <= 130


def test_the_line_shows_the_count_and_what_is_under_way() -> None:
    assert TODO.summary({"todos": ITEMS}) == "1/3 · now: Fix the parser"
    waiting = [dict(item, status="pending") for item in ITEMS]
    assert in_one_line(todos_of({"todos": waiting})) == "0/3 · next: Read the parser"
    both = [dict(item, status="in_progress") for item in ITEMS]
    assert in_one_line(todos_of({"todos": both})) == "0/3 · now: Read the parser (+2)"
    done = todos_of({"todos": [dict(item, status="completed") for item in ITEMS]})
    assert (in_one_line(done), is_open(done)) == ("3/3 · all done", False)
    assert TODO.summary({"todos": []}) == TODO.summary({}) == "empty"


def test_control_characters_and_long_items_are_harmless() -> None:
    (item,) = todos_of({"todos": [{"content": "a\x1b[31m\nb\u202ec" + "x" * 10_000, "status": "pending"}]})
    assert item.content.startswith("a␛[31m b\ufffdc")
    assert len(item.content) == MOST_CHARS
    assert in_lines([item], plain=True)[0].startswith("[ ] a")


@pytest.mark.parametrize("key", ["content", "step", "description"])
def test_the_items_of_other_agents_are_read(key: str) -> None:
    assert todos_of({"todos": [{key: "Fix it", "status": "in_progress"}]})[0].content == "Fix it"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "status", "step", "x"]), inner, max_size=3)
    ),
)


@given(st.dictionaries(st.sampled_from(["todos", "x"]), anything | st.lists(anything, max_size=120)))
def test_any_recorded_input_is_a_list_in_bounds(raw: dict[str, object]) -> None:
    found = todos_of(raw)
    assert len(found) <= MOST
    assert all(line.strip() and "\n" not in line for line in in_lines(found))
    assert "\n" not in in_one_line(found)
