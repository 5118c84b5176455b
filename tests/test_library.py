"""The library: the engine on somebody else's messages, and the agent in a few lines."""

import os
from pathlib import Path

import pytest

from prunecli.errors import ConfigError, UsageError
from prunecli.library import ask, prune_messages
from tests.endpoint import Call, Reply, serve

LONG = "a line of output\n" * 400


def messages(count: int = 6) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"role": "user", "content": "fix it"}]
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": LONG}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def test_plain_messages_are_pruned_and_stay_valid() -> None:
    given = messages()
    shorter = prune_messages(given, "pi", prune_minimum=100, prune_protect=100, protected_turns=0)
    assert str(shorter).count("[output pruned") == 5
    assert [message["role"] for message in shorter] == [message["role"] for message in given]
    assert given == messages()


def test_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="prune_protect"):
        prune_messages(messages(), "pi", prune_protect="lots")
    with pytest.raises(ConfigError):
        prune_messages(messages(), "magic", n=1)


def test_a_malformed_message_is_named() -> None:
    with pytest.raises(ValueError, match=r"messages\.1"):
        prune_messages([{"role": "user", "content": "x"}, {"role": "wizard", "content": "y"}], "pi")


def environ(tmp_path: Path, base_url: str) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "k-1",
    }


async def test_the_agent_answers_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("42 is the answer")
    script = [Reply([Call("read", {"path": "notes.txt"})]), Reply("It says 42.")]
    with serve(script) as endpoint:
        said = await ask("what do the notes say?", cwd=tmp_path, environ=environ(tmp_path, endpoint.base_url))
        assert said == "It says 42."
        assert b"42 is the answer" in endpoint.requests[1].body
        assert endpoint.rejected == []


async def test_without_a_key_the_agent_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no API key"):
        await ask("hello", cwd=tmp_path, environ={"HOME": str(tmp_path)})
