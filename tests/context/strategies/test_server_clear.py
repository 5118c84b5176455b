"""server_clear: no edit of its own, and the edit that it asks the endpoint for."""

from typing import Any

import pytest

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.util.errors import ConfigError
from tests.context.talk import Talk

NAME = "server_clear"


def edit(**options: str) -> dict[str, Any]:
    config = Config()
    for key, value in options.items():
        config = config.with_value(f"{NAME}.{key}", value)
    return dict(chosen(config, NAME).context_edit or {})


def tokens(value: int, kind: str = "input_tokens") -> dict[str, Any]:
    return {"type": kind, "value": value}


DEFAULT = {
    "type": "clear_tool_uses_20250919",
    "trigger": tokens(100_000),
    "keep": tokens(3, "tool_uses"),
}


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, {}),
        ({"trigger": "30", "trigger_by": "tool_uses"}, {"trigger": tokens(30, "tool_uses")}),
        ({"keep": "0"}, {"keep": tokens(0, "tool_uses")}),
        ({"clear_at_least": "5000"}, {"clear_at_least": tokens(5_000)}),
        ({"exclude_tools": '["read"]'}, {"exclude_tools": ["read"]}),
        ({"clear_tool_inputs": "true"}, {"clear_tool_inputs": True}),
        ({"clear_tool_inputs": '["write", "edit"]'}, {"clear_tool_inputs": ["write", "edit"]}),
    ],
)
def test_the_options_become_the_edit_with_the_endpoints_defaults(
    options: dict[str, str], more: dict[str, Any]
) -> None:
    assert edit(**options) == {**DEFAULT, **more}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trigger", "-1"),
        ("trigger_by", "messages"),
        ("clear_tool_inputs", "write"),
        ("clear_tool_inputs", "1"),
        ("clear_tool_inputs", "[1]"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"pruning.{NAME}.{key}: expected"):
        edit(**{key: value})


def test_it_proposes_nothing_and_says_who_decides() -> None:
    talk = Talk()
    talk.user()
    for _ in range(9):
        talk.step("read", "line\n" * 400, path="a")
    talk.seen()
    proposal = talk.ask(NAME)
    assert proposal.edits == ()
    assert proposal.note == "the endpoint chooses which results it clears, with each request"


def test_other_strategies_ask_the_endpoint_for_nothing() -> None:
    assert chosen(Config(), "pi").context_edit is None
