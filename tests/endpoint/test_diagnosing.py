"""Does the endpoint explain a cache miss by its rules? Model before system before tools before messages."""

import pytest

from tests.endpoint.diagnosing import Diagnosing
from tests.endpoint.sample import assistant, user
from tests.endpoint.shape import Json, RefusedError

BEFORE: dict[str, Json] = {"model": "m", "system": "s", "tools": [], "messages": [user("a")]}
PLAIN = {"type": "text", "text": "a"}
MARKED = {**PLAIN, "cache_control": {"type": "ephemeral"}}


def asked(fields: dict[str, Json], previous: Json = "first") -> Json:
    """What the response to a second request says; the first one had BEFORE, and 70 tokens."""
    endpoint = Diagnosing()
    first = endpoint.diagnose({**BEFORE, "diagnostics": {"previous_message_id": None}}, "first", 70)
    assert first is None, "nothing to compare with"
    request = {**BEFORE, **fields, "diagnostics": {"previous_message_id": previous}}
    return endpoint.diagnose(request, "second", 80)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, ""),
        ({"messages": [user("a"), assistant("b"), user("c")]}, ""),
        ({"max_tokens": 9}, ""),
        ({"messages": [user("A"), assistant("b")]}, "messages_changed"),
        ({"messages": []}, "messages_changed"),
        ({"tools": [{"name": "t"}], "messages": []}, "tools_changed"),
        ({"system": "S", "tools": [{"name": "t"}]}, "system_changed"),
        ({"model": "M", "system": "S"}, "model_changed"),
    ],
)
def test_the_first_difference_is_the_reason(fields: dict[str, Json], kind: str) -> None:
    reason = {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": 70}}
    assert asked(fields) == (reason if kind else None)


def test_breakpoints_make_no_difference_and_an_unknown_response_is_named_so() -> None:
    endpoint = Diagnosing()
    for name, before, block in (("first", None, MARKED), ("second", "first", PLAIN)):
        given = {"diagnostics": {"previous_message_id": before}, "messages": [user(block)]}
        assert endpoint.diagnose({**BEFORE, **given}, name, 70) is None
    assert asked({}, "other") == {"cache_miss_reason": {"type": "previous_message_not_found"}}
    assert Diagnosing().diagnose({**BEFORE}, "first", 70) is None, "not asked"
    with pytest.raises(RefusedError, match="previous_message_id"):
        asked({}, 3)
