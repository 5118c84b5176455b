"""Is a summary made, and taken back, exactly where the service says so?"""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.judge import Accepted, Judge
from tests.endpoint.rules import BINDING_CONTROLS, COMPACTION, CONTEXT_MANAGEMENT, Rules
from tests.endpoint.sample import HEADERS, TOOL, assistant, body, call, post, result, user
from tests.endpoint.script import Call, Reply
from tests.endpoint.server import Endpoint, serve
from tests.endpoint.shape import RefusedError

OPUS = "claude-opus-5-5"
ASKED = {"type": "summarize", "instructions": "Be short."}
TURNS = (user("one"), assistant("first"), user("two"), assistant("second"))


def judged(whole: dict[str, Any], *betas: str, rules: Rules | None = None) -> Accepted | RefusedError:
    request = post(whole)
    request.headers["anthropic-beta"] = ",".join(betas)
    try:
        return Judge(rules or Rules(), "full").judge(request)
    except RefusedError as refused:
        return refused


def refused(whole: dict[str, Any], *betas: str, rules: Rules | None = None) -> RefusedError:
    found = judged(whole, *betas, rules=rules)
    assert isinstance(found, RefusedError)
    return found


def block(*messages: Any, **fields: Any) -> dict[str, Any]:
    """The signed summary of these messages."""
    whole = body(*messages, model=OPUS, compaction=ASKED, **fields)
    found = judged(whole, COMPACTION)
    assert isinstance(found, Accepted), found
    assert found.replaced is not None
    return found.replaced.block("the gist", OPUS, Rules().signing_key)


def ask(endpoint: Endpoint, *messages: Any, **fields: Any) -> tuple[int, Any]:
    """The status, and the JSON of the answer or its events."""
    whole = json.dumps(body(*messages, model=OPUS, **fields)).encode()
    headers = {**HEADERS, "anthropic-beta": COMPACTION}
    try:
        with urlopen(Request(f"{endpoint.base_url}/v1/messages", whole, headers)) as response:
            text = response.read().decode()
    except HTTPError as error:
        return error.code, json.loads(error.read())
    if "stream" in fields:
        return 200, json.loads(text)
    return 200, [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def test_a_summary_is_sent_back_first_alone_or_before_other_blocks() -> None:
    gist = block(*TURNS)
    for first in (
        [assistant(gist), user("three")],
        [assistant(gist, "third"), user("four")],
        [user(gist, "three")],
    ):
        assert isinstance(judged(body(*first, model=OPUS), COMPACTION), Accepted)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"content": "another gist"}, "compaction_content_mismatch"),
        ({"signature": "c2ln"}, "compaction_signature_invalid"),
    ],
)
def test_a_changed_summary_is_refused(change: dict[str, str], code: str) -> None:
    whole = body(assistant({**block(*TURNS), **change}), user("three"), model=OPUS)
    assert refused(whole, COMPACTION).code == code


def test_a_summary_elsewhere_a_second_one_and_one_with_other_fields_are_refused() -> None:
    gist = block(*TURNS)
    assert refused(body(user("zero"), assistant(gist), user("x"), model=OPUS), COMPACTION).code == (
        "compaction_block_misplaced"
    )
    assert refused(body(assistant(gist, gist), user("x"), model=OPUS), COMPACTION).code == (
        "compaction_block_ambiguous"
    )
    more = body(assistant({**gist, "citations": None}), user("x"), model=OPUS)
    assert "Extra inputs" in refused(more, COMPACTION).message


def test_without_the_beta_both_are_refused() -> None:
    assert COMPACTION in refused(body(*TURNS, model=OPUS, compaction=ASKED)).message
    carried = body(assistant(block(*TURNS)), user("three"), model=OPUS)
    assert "Input tag 'compaction'" in refused(carried, BINDING_CONTROLS).message
    assert "Input tag 'compaction'" in refused({**carried, "model": "claude-haiku-4-5"}, COMPACTION).message


@pytest.mark.parametrize(
    "beside",
    [
        {"stop_sequences": ["x"]},
        {"context_management": {"edits": []}},
        {"tool_choice": {"type": "any"}, "tools": [TOOL], "model": "claude-opus-5"},
        {"output_config": {"format": {"type": "json_schema"}}},
        {"compaction": {"type": "summarize", "instructions": "x" * 16_385}},
        {"compaction": {"type": "other"}},
        {"compaction": {"type": "summarize", "more": 1}},
        {"model": "claude-haiku-4-5"},
    ],
)
def test_what_may_not_stand_beside_it_is_refused(beside: dict[str, Any]) -> None:
    whole = {**body(*TURNS, model=OPUS, compaction=ASKED), **beside}
    assert refused(whole, COMPACTION, CONTEXT_MANAGEMENT).status == 400


def test_nothing_and_an_open_call_can_not_be_summarized() -> None:
    nothing = {**body(model=OPUS, compaction=ASKED), "messages": []}
    assert refused(nothing, COMPACTION).code == "compaction_nothing_to_summarize"
    opened = body(user("one"), assistant(call("t1")), model=OPUS, compaction=ASKED, tools=[TOOL])
    assert refused(opened, COMPACTION).status == 400
    answered = body(user("one"), assistant(call("t1")), user(result("t1")), model=OPUS, tools=[TOOL])
    assert isinstance(judged({**answered, "compaction": ASKED}, COMPACTION), Accepted)


def test_the_answer_is_one_block_in_one_event_and_its_usage_stands_among_the_iterations() -> None:
    with serve([Reply("The gist.")]) as endpoint:
        events = ask(endpoint, *TURNS, compaction=ASKED)[1]
    names = [event["type"] for event in events if event["type"] != "ping"]
    assert names == [
        *("message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"),
    ]
    start = next(event for event in events if event["type"] == "content_block_start")
    assert start["content_block"].keys() == {"type", "content", "signature"}
    last = next(event for event in events if event["type"] == "message_delta")
    assert last["delta"]["stop_reason"] == "compaction"
    assert last["usage"]["input_tokens"] == last["usage"]["output_tokens"] == 0
    assert last["usage"]["iterations"][0]["type"] == "compaction"
    assert last["usage"]["iterations"][0]["output_tokens"] == 3


@pytest.mark.parametrize("reply", [Reply(()), Reply("cut", stop_reason="max_tokens"), Reply(Call("read"))])
def test_no_summary_is_an_answer_without_content(reply: Reply) -> None:
    with serve([reply]) as endpoint:
        status, answer = ask(endpoint, *TURNS, compaction=ASKED, stream=False)
    assert (status, answer["content"], answer["stop_reason"]) == (200, [], reply.reason)
    assert answer["usage"]["iterations"][0]["input_tokens"] > 0


def test_an_endpoint_may_be_unable_for_the_moment_or_make_none() -> None:
    for summaries, status in (("unavailable", 529), ("empty", 200)):
        rules = Rules(summaries=summaries)  # type: ignore[arg-type]
        with serve(["An answer."], rules=rules) as endpoint:
            found, answer = ask(endpoint, *TURNS, compaction=ASKED, stream=False)
            assert found == status
            assert "compaction_unavailable" in json.dumps(answer) or answer["content"] == []
            assert ask(endpoint, user("hello"), stream=False)[1]["content"][-1]["text"] == "An answer."
