"""Does the service clear tool uses as `server_clear` assumes, and keep the thinking behind them?"""

from typing import Any

from prunecli.providers.optional_fields import CONTEXT_MANAGEMENT, CONTEXT_MANAGEMENT_BETA
from prunecli.util.errors import FieldRefused
from tests.live.api import BINDING, Api, bound
from tests.live.test_bound_thinking import ADD, meaning

FIRST = {"role": "user", "content": [{"type": "text", "text": "Add 1 and 2 with the tool, then 3 and 4."}]}
EDIT: dict[str, Any] = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "tool_uses", "value": 1},
    "keep": {"type": "tool_uses", "value": 1},
}


def talk(api: Api) -> list[Any]:
    """Two calls with long results, each with the thinking before it."""
    messages: list[Any] = [FIRST]
    for _ in range(2):
        answer = api.post(messages, (BINDING,), tools=[ADD], thinking=bound())
        assert answer.status == 200, answer.error
        content = answer.body["content"]
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": one, "content": "42 " * 2_000} for one in calls]
        messages.append({"role": "assistant", "content": content})
        messages.append({"role": "user", "content": results or [{"type": "text", "text": "Call the tool."}]})
    return messages


def ask(api: Api, messages: list[Any], *betas: str, **fields: Any) -> Any:
    return api.post(messages, (BINDING, *betas), tools=[ADD], thinking=bound(), **fields)


def test_the_oldest_result_is_cleared_reported_and_not_billed_and_no_thinking_is_dropped(api: Api) -> None:
    messages = talk(api)
    whole = ask(api, messages)
    answer = ask(api, messages, CONTEXT_MANAGEMENT_BETA, context_management={"edits": [EDIT]})
    assert answer.status == 200, answer.error
    (edit,) = answer.body["context_management"]["applied_edits"]
    assert edit["type"] == EDIT["type"]
    assert edit["cleared_tool_uses"] >= 1
    assert answer.tokens == whole.tokens - edit["cleared_input_tokens"]
    assert answer.dropped == []


def test_the_same_is_cleared_from_the_next_request_again(api: Api) -> None:
    """The estimate of the next prompt rests on this."""
    messages, fields = talk(api), {"context_management": {"edits": [EDIT]}}
    told = [ask(api, messages, CONTEXT_MANAGEMENT_BETA, **fields) for _ in range(2)]
    first, second = (one.body["context_management"]["applied_edits"] for one in told)
    assert first == second


def test_a_stream_reports_it_in_its_last_message_delta(api: Api) -> None:
    fields = {"context_management": {"edits": [EDIT]}, "stream": True}
    answer = ask(api, talk(api), CONTEXT_MANAGEMENT_BETA, **fields)
    (last,) = [event for event in answer.events if event["type"] == "message_delta"]
    assert last["context_management"]["applied_edits"]


def test_without_its_header_the_field_is_refused_in_words_that_are_understood(api: Api) -> None:
    refused = meaning(ask(api, [FIRST], context_management={"edits": [EDIT]}))
    assert isinstance(refused, FieldRefused)
    assert refused.fields[0] == CONTEXT_MANAGEMENT
