"""Does the judge refuse what the service refuses, in its words, and accept what it accepts?"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.judge import Judge
from tests.endpoint.rules import Model, Rules
from tests.endpoint.sample import TOOL, assistant, body, call, post, result, user, verdict
from tests.endpoint.shape import RefusedError

MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


REQUESTS = [
    json.loads(line) for line in Path(__file__).with_name("requests.jsonl").read_text("utf-8").splitlines()
]
"""What differs from a right request, and how it is refused; where nothing is said, it is accepted."""


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in REQUESTS])
def test_a_right_request_is_accepted_and_a_wrong_one_refused_with_the_place_named(case: Any):
    """Each of the wrong ones is what a faulty client has sent to the service."""
    found, wanted = verdict(body(**case["fields"])), case.get("refusal")
    assert found.startswith(wanted) if wanted else found == ""


def test_a_request_without_messages_is_refused():
    assert verdict({**body(), "messages": []}) == "messages: at least one message is required"
    assert verdict({**body(), "messages": "hi"}) == "messages: Input should be a valid list"


def test_older_models_take_a_prefill_that_does_not_end_in_space():
    old = {"model": "claude-sonnet-4-5"}
    assert verdict(body(user("x"), assistant("The answer is"), **old)) == ""
    assert verdict(body(user("x"), assistant(), **old)) == ""
    trailing = verdict(body(user("x"), assistant("The answer is "), **old))
    assert trailing == "messages: final assistant content cannot end with trailing whitespace"
    assert "prefill" in verdict(body(user("x"), assistant("The"), **old), Rules(prefill=False))


def test_the_older_version_of_the_api_takes_citations_of_the_user():
    cited = body(user(text("x", citations=[{"type": "char_location"}])))
    assert verdict(cited, anthropic_version="2023-06-01") == ""


def test_a_prompt_over_the_window_is_refused_with_both_numbers():
    long = body(user("x" * 4000))
    assert verdict(long, Rules(window=999)) == "prompt is too long: 1000 tokens > 999 maximum"
    assert verdict(long, Rules(window=1000)) == ""


WORDS = st.sampled_from(["a", "b", " ", ""])
BLOCKS = st.one_of(
    WORDS.map(text),
    st.sampled_from("abc").map(call),
    st.sampled_from("abc").map(result),
    WORDS.map(lambda words: text(words, **MARK)),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.lists(BLOCKS, max_size=3) | WORDS,
    ),
    max_size=6,
)


@given(st.lists(MESSAGES, min_size=1, max_size=6))
def test_reading_only_what_is_new_never_changes_a_verdict(conversations: list[list[Any]]):
    incremental = Judge(Rules(), "incremental")
    for messages in conversations:
        request = post({**body(), "messages": messages})
        assert seen(incremental, request) == seen(Judge(Rules(), "full"), request)


def seen(judge: Judge, request: Any) -> Any:
    """All that a verdict says."""
    try:
        accepted = judge.judge(request)
    except RefusedError as error:
        return str(error), error.status, error.kind
    return accepted.json, accepted.prompt, accepted.stream


def test_off_accepts_everything_and_still_sees_the_model_and_the_stream():
    judge = Judge(Rules(), "off")
    accepted = judge.judge(post(b'{"model": "m", "stream": true, "messages": "nonsense"'))
    assert (accepted.json, accepted.stream, accepted.prompt.model) == (None, True, "m")
    assert not judge.judge(post(b'{"model":"m","messages":[{"content":"\\"stream\\":true"}]}')).stream


def test_a_model_of_ones_own_has_its_own_limits():
    rules = Rules(models=(Model("tiny", window=10, max_output=5),))
    assert verdict(body(model="tiny", max_tokens=5), rules) == ""
    assert verdict(body(model="claude-sonnet-5"), rules) == "model: claude-sonnet-5"


def test_the_tools_of_a_conversation_need_not_be_listed():
    assert verdict(body(user("x"), assistant(call("a")), user(result("a")), tools=[])) == ""
    assert verdict(body(user("x"), assistant(call("a")), user(result("a")), tools=[TOOL])) == ""
