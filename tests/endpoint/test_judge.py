"""Does the judge refuse what the service refuses, in its words, and accept what it accepts?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.judge import Judge
from tests.endpoint.rules import Model, Rules
from tests.endpoint.sample import TOOL, assistant, body, call, post, result, user, verdict
from tests.endpoint.shape import RefusedError

NO_RESULT = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` "
    "block must have a corresponding `tool_result` block in the next message."
)
NO_CALL = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must have a "
    "corresponding `tool_use` block in the previous message."
)
BLANK = "text content blocks must contain non-whitespace text"
EMPTY = "text content blocks must be non-empty"
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


ACCEPTED = {
    "a string": [{"role": "user", "content": "hi"}],
    "a loop": [user("hi"), assistant("ok", call("a", path="x")), user(result("a"), "and now?")],
    "parallel calls, results in any order": [
        user("hi"),
        assistant(call("a"), call("b")),
        user(result("b"), result("a")),
    ],
    "two user messages in a row": [user("hi"), user("there")],
    "an empty result": [user("hi"), assistant(call("a")), user(result("a", ""))],
    "a result without content": [
        user("hi"),
        assistant(call("a")),
        user({"type": "tool_result", "tool_use_id": "a"}),
    ],
    "a failed result of blocks": [
        user("hi"),
        assistant(call("a")),
        user(result("a", [text("no")], is_error=True)),
    ],
    "null where it may stand": [user(text("hi", cache_control=None, citations=None))],
    "breakpoints": [user(text("hi", **MARK)), assistant("x"), user(text("y", **MARK))],
    "a breakpoint inside a result": [
        user("hi"),
        assistant(call("a")),
        user(result("a", [text("no", **MARK)])),
    ],
    "an hour before five minutes": [
        user(text("hi", cache_control={"type": "ephemeral", "ttl": "1h"}), text("x", **MARK))
    ],
}

REFUSED: dict[str, tuple[list[Any], str]] = {
    "assistant first": ([assistant("hi")], 'messages: first message must use the "user" role'),
    "a system role": (
        [{"role": "system", "content": "x"}],
        'messages.0: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
        '"system" as an input message role.',
    ),
    "a foreign role": ([user("hi"), {"role": "tool", "content": "x"}], 'messages.1: Unexpected role "tool"'),
    "no role": ([{"content": "x"}], "messages.0.role: Field required"),
    "no content": ([{"role": "user"}], "messages.0.content: Field required"),
    "a number as content": (
        [{"role": "user", "content": 1}],
        "messages.0.content: Input should be a valid list",
    ),
    "no message": (["hi"], "messages.0: Input should be a valid dictionary or object"),
    "fields of a response": (
        [user("hi"), {**assistant("x"), "id": "msg_1"}, user("y")],
        "messages.1.id: Extra inputs are not permitted",
    ),
    "empty user content": ([user()], "messages.0: user messages must have non-empty content"),
    "an empty string": (
        [{"role": "user", "content": ""}],
        "messages.0: user messages must have non-empty content",
    ),
    "empty assistant content": (
        [user("hi"), assistant(), user("x")],
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    "a blank string": ([{"role": "user", "content": " \n"}], f"messages.0.content: {BLANK}"),
    "a blank text": ([user("hi", " \t")], f"messages.0.content.1: {BLANK}"),
    "an empty text": ([user("hi", "")], f"messages.0.content.1: {EMPTY}"),
    "a blank text of the assistant": (
        [user("hi"), assistant("\n", "x"), user("x")],
        f"messages.1.content.0: {BLANK}",
    ),
    "an unknown block": (
        [user({"type": "video"})],
        "messages.0.content.0: Input tag 'video' found using 'type' does not match any of the expected tags: ",
    ),
    "a block without type": ([user({"text": "x"})], "messages.0.content.0.type: Field required"),
    "an extra field": (
        [user(text("x", id="1"))],
        "messages.0.content.0.text.id: Extra inputs are not permitted",
    ),
    "a text that is no string": (
        [user(text(7))],  # type: ignore[arg-type]
        "messages.0.content.0.text.text: Input should be a valid string",
    ),
    "a call by the user": (
        [user(call("a"))],
        "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    "a result by the assistant": (
        [user("x"), assistant(result("a"))],
        "messages.1.content.0: `tool_result` blocks can only be in `user` messages",
    ),
    "a document by the assistant": (
        [user("x"), assistant({"type": "document", "source": {}}), user("x")],
        "messages.1.content.0: `document` blocks can only be in `user` messages",
    ),
    "an unanswered call at the end": ([user("x"), assistant(call("a"))], NO_RESULT.format(1, "a")),
    "an unanswered call": ([user("x"), assistant(call("a")), user("y")], NO_RESULT.format(1, "a")),
    "one of two unanswered": (
        [user("x"), assistant(call("a"), call("b")), user(result("a"))],
        NO_RESULT.format(1, "b"),
    ),
    "answered one message too late": (
        [user("x"), assistant(call("a")), user("y"), user(result("a"))],
        NO_RESULT.format(1, "a"),
    ),
    "text before the result": (
        [user("x"), assistant(call("a")), user("wait", result("a"))],
        NO_RESULT.format(1, "a"),
    ),
    "a result before text before a result": (
        [user("x"), assistant(call("a"), call("b")), user(result("a"), "wait", result("b"))],
        NO_RESULT.format(1, "b"),
    ),
    "answered twice": (
        [user("x"), assistant(call("a")), user(result("a"), result("a"))],
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with "
        "id: a",
    ),
    "a result for nothing": ([user(result("a"))], NO_CALL.format("0.content.0", "a")),
    "a result for an older call": (
        [user("x"), assistant(call("a")), user(result("a")), assistant("y"), user(result("a"))],
        NO_CALL.format("4.content.0", "a"),
    ),
    "an id twice in a message": (
        [user("x"), assistant(call("a"), call("a")), user(result("a"))],
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "an id twice in the conversation": (
        [user("x"), assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "an id with a space": (
        [user("x"), assistant(call("a b")), user(result("a b"))],
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "a tool name with a dot": (
        [user("x"), assistant({**call("a"), "name": "fs.read"}), user(result("a"))],
        "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "a tool name of 129 characters": (
        [user("x"), assistant({**call("a"), "name": "n" * 129}), user(result("a"))],
        "messages.1.content.0.tool_use.name: String should match pattern",
    ),
    "an input that is text": (
        [user("x"), assistant({**call("a"), "input": "{}"}), user(result("a"))],
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "an input that is null": (
        [user("x"), assistant({**call("a"), "input": None}), user(result("a"))],
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "an empty failed result": (
        [user("x"), assistant(call("a")), user(result("a", "", is_error=True))],
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    "is_error as text": (
        [user("x"), assistant(call("a")), user(result("a", "x", is_error="no"))],
        "messages.2.content.0.tool_result.is_error: Input should be a valid boolean",
    ),
    "a blank text in a result": (
        [user("x"), assistant(call("a")), user(result("a", [text(" ")]))],
        f"messages.2.content.0.tool_result.content.0: {BLANK}",
    ),
    "a call in a result": (
        [user("x"), assistant(call("a")), user(result("a", [call("b")]))],
        "messages.2.content.0.tool_result.content.0: Input tag 'tool_use' found using 'type' does not match",
    ),
    "an assistant message at the end": (
        [user("x"), assistant("The answer is")],
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "five breakpoints": (
        [user(*[text("x", **MARK)] * 5)],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "a breakpoint on empty text": (
        [user("x", text("", **MARK))],
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    "a breakpoint of an unknown type": (
        [user(text("x", cache_control={"type": "persistent"}))],
        "messages.0.content.0.text.cache_control.type: Input should be 'ephemeral'",
    ),
    "a breakpoint of two hours": (
        [user(text("x", cache_control={"type": "ephemeral", "ttl": "2h"}))],
        "messages.0.content.0.text.cache_control.ttl: Input should be '5m' or '1h'",
    ),
    "an hour after five minutes": (
        [user(text("x", **MARK), text("y", cache_control={"type": "ephemeral", "ttl": "1h"}))],
        "messages.0.content.1.text.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block.",
    ),
    "citations of the user": (
        [user(text("x", citations=[{"type": "char_location"}]))],
        "messages.0.content.0.text.citations: Extra inputs are not permitted",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_right_conversation_is_accepted(name: str):
    assert verdict(body(*ACCEPTED[name])) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_conversation_is_refused_with_the_place_named(name: str):
    """Each of these is what a faulty client has sent to the service."""
    messages, message = REFUSED[name]
    found = verdict(body(*messages))
    assert found.startswith(message), found


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
