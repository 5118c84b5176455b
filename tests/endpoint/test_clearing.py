"""Does the endpoint clear tool uses as documented, and refuse what is asked for wrongly?"""

from typing import Any

import pytest

from tests.endpoint.judge import Accepted, Judge
from tests.endpoint.rules import CONTEXT_MANAGEMENT, Rules
from tests.endpoint.sample import assistant, body, call, post, result, user, verdict

EDIT = {"type": "clear_tool_uses_20250919"}
TEXT = "x" * 4_000
"""A thousand tokens."""
CLEARED = 1_000 - 7


def talk(uses: int = 5) -> list[Any]:
    messages = [user("hello")]
    for number in range(uses):
        messages += [assistant(call(f"t{number}", path="a" * 400)), user(result(f"t{number}", TEXT))]
    return messages


def seen(*messages: Any, **edit: Any) -> Accepted:
    asked = body(*messages, context_management={"edits": [{**EDIT, **edit}]})
    return Judge(Rules()).judge(post(asked, anthropic_beta=CONTEXT_MANAGEMENT))


def cleared(accepted: Accepted) -> tuple[int, int]:
    """Tool uses and tokens."""
    assert accepted.applied_edits is not None
    if not accepted.applied_edits:
        return 0, 0
    (one,) = accepted.applied_edits
    return one["cleared_tool_uses"], one["cleared_input_tokens"]


def tokens(value: int, kind: str = "input_tokens") -> dict[str, Any]:
    return {"type": kind, "value": value}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({}, (0, 0)),
        ({"trigger": tokens(3_000)}, (2, 2 * CLEARED)),
        ({"trigger": tokens(100_000)}, (0, 0)),
        ({"trigger": tokens(4, "tool_uses")}, (2, 2 * CLEARED)),
        ({"trigger": tokens(5, "tool_uses")}, (0, 0)),
        ({"trigger": tokens(0), "keep": tokens(1, "tool_uses")}, (4, 4 * CLEARED)),
        ({"trigger": tokens(0), "keep": tokens(9, "tool_uses")}, (0, 0)),
        ({"trigger": tokens(0), "exclude_tools": ["read"]}, (0, 0)),
        ({"trigger": tokens(0), "clear_at_least": tokens(2 * CLEARED)}, (2, 2 * CLEARED)),
        ({"trigger": tokens(0), "clear_at_least": tokens(2 * CLEARED + 1)}, (0, 0)),
        ({"trigger": tokens(0), "clear_tool_inputs": ["bash"]}, (2, 2 * CLEARED)),
    ],
)
def test_the_oldest_uses_are_cleared_as_the_options_say(
    edit: dict[str, Any], expected: tuple[int, int]
) -> None:
    whole = seen(*talk()).prompt.tokens
    found = seen(*talk(), **edit)
    assert cleared(found) == expected
    assert found.prompt.tokens == whole - expected[1]


@pytest.mark.parametrize("inputs", [True, ["read"]])
def test_inputs_are_cleared_where_that_is_asked_for(inputs: Any) -> None:
    uses, gone = cleared(seen(*talk(), trigger=tokens(0), clear_tool_inputs=inputs))
    assert uses == 2
    assert gone > 2 * CLEARED + 150


@pytest.mark.parametrize(
    ("management", "expected"),
    [
        ({"edit": []}, "context_management.edit: Extra inputs are not permitted"),
        ({"edits": {}}, "context_management.edits: Input should be a valid list"),
        ({"edits": [{"type": "clear_all"}]}, "context_management.edits.0: Input tag 'clear_all' found"),
        (
            {"edits": [{**EDIT, "keep": 3}]},
            f"context_management.edits.0.{EDIT['type']}.keep: Input should be",
        ),
        (
            {"edits": [{**EDIT, "keep": tokens(3)}]},
            "context_management.edits.0.clear_tool_uses_20250919.keep",
        ),
        ({"edits": [{**EDIT, "trigger": tokens(-1)}]}, "greater than or equal to 0"),
        ({"edits": [{**EDIT, "trigger": {"type": "input_tokens"}}]}, "value: Field required"),
        ({"edits": [{**EDIT, "exclude_tools": [1]}]}, "exclude_tools.0: Input should be a valid string"),
        (
            {"edits": [{**EDIT, "clear_tool_inputs": "read"}]},
            "clear_tool_inputs: Input should be a valid list",
        ),
        ({"edits": [{**EDIT, "placeholder": "x"}]}, "placeholder: Extra inputs are not permitted"),
        ({"edits": [EDIT, EDIT]}, "can only be specified once"),
    ],
)
def test_a_wrong_shape_is_refused(management: Any, expected: str) -> None:
    asked = body(user("x"), context_management=management)
    assert expected in verdict(asked, anthropic_beta=CONTEXT_MANAGEMENT)


def test_without_the_beta_it_is_an_unknown_field() -> None:
    asked = body(user("x"), context_management={"edits": [EDIT]})
    assert verdict(asked) == "context_management: Extra inputs are not permitted"
