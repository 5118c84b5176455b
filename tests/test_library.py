"""The library: the engine on somebody else's messages, and the agent in a few lines."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.library import Pruner, ask, prune_messages
from prunecli.util.errors import ConfigError, UsageError
from tests.endpoint import Call, Reply, serve

PATH = os.pathsep.join(filter(None, sys.path))
LONG = "a line of output\n" * 400


def messages(
    count: int = 6, tool: str = "read", key: str = "path", files: int = 99
) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"role": "user", "content": "fix it"}]
    for number in range(count):
        given = {key: f"{number % files}.py"}
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": LONG}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def test_plain_messages_are_pruned_and_stay_valid() -> None:
    given = messages()
    shorter = prune_messages(given, "pi", prune_minimum=100, prune_protect=100, protected_turns=0)
    assert str(shorter).count("[output pruned") == 5
    assert [message["role"] for message in shorter] == [message["role"] for message in given]
    assert given == messages()


def test_what_was_decided_stays_and_the_prefix_with_it() -> None:
    given, before = messages(12), list[dict[str, object]]()
    pruner = Pruner("pi", prune_minimum=3_000, prune_protect=1_000, protected_turns=0)
    breaks = 0
    for end in range(1, len(given) + 1, 2):
        sent = pruner.request(given[:end])
        breaks += sent[: len(before)] != before
        before = sent
    assert 1 <= breaks <= 5
    assert str(before).count("[output pruned") >= 6
    assert pruner.ledger.pruned_tokens > 6 * 1_500


@pytest.mark.parametrize("reported", [True, False])
def test_auto_keeps_the_prefix_while_the_cache_is_warm(reported: bool) -> None:
    given, now = messages(60, "Read", "file_path", files=7), 1_700_000_000.0
    pruner = Pruner("auto", clock=lambda: now)
    before = pruner.request(given[:1])
    for end in range(3, len(given), 2):
        now += 60
        usage = {"input_tokens": 9, "cache_read_input_tokens": 2_000 * end} if reported else None
        sent = pruner.request(given[:end], usage)
        assert sent[: len(before)] == before
        before = sent
    assert pruner.ledger.pruned_tokens == 0
    now += 301
    assert str(pruner.request(given)).count("[output pruned") > 50


def test_the_gate_lets_prunes_wait_for_a_cold_cache() -> None:
    given, now, kept = messages(60, "Read", "file_path", files=59), 1_700_000_000.0, list[bool]()
    for gate in ("always", "cache_aware"):
        pruner = Pruner("superseded", clock=lambda: now, gate=gate)  # type: ignore[arg-type]
        before = pruner.request(given[:119])
        sent = pruner.request(given)
        kept.append(sent[: len(before)] == before)
    assert kept == [False, True]


@pytest.mark.parametrize(
    ("read", "edit"),
    [
        (
            ("Read", {"file_path": "/a.py"}),
            ("Edit", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}),
        ),
        (("read", {"filePath": "/a.py"}), ("write", {"filePath": "/a.py", "content": "b"})),
        (("read_file", {"file_path": "/a.py"}), ("replace", {"file_path": "/a.py", "old_string": "a"})),
    ],
)
def test_reads_under_the_names_of_other_agents_are_superseded(
    read: tuple[str, dict[str, str]], edit: tuple[str, dict[str, str]]
) -> None:
    given: list[dict[str, object]] = [{"role": "user", "content": "fix it"}]
    for number, (name, call) in enumerate((read, edit, read)):
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": call}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": LONG}
        given += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    sent = prune_messages(given, "superseded")
    assert "superseded by entry" in str(sent[2])
    assert sent[1] == given[1], "the names of tools stay"


def test_a_malformed_usage_is_named() -> None:
    pruner = Pruner("auto")
    pruner.request(messages(1)[:1])
    with pytest.raises(ValueError, match="usage"):
        pruner.request(messages(1), {"input_tokens": "many"})


def test_a_shorter_conversation_is_another_one() -> None:
    pruner = Pruner("no_pruning")
    pruner.request(messages())
    with pytest.raises(ValueError, match="fewer messages"):
        pruner.request(messages(2))


PAGE = Path(__file__).parents[1] / "docs" / "library.md"


def examples() -> list[str]:
    """The programs that docs/library.md shows."""
    return [part.partition("```")[0] for part in PAGE.read_text("utf-8").split("```python\n")[1:]]


def ran(folder: Path, code: str, environ: dict[str, str], *words: str) -> str:
    """What a program prints."""
    (folder / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_engine_s_example_in_the_docs_runs(tmp_path: Path) -> None:
    done: dict[str, object] = {"role": "assistant", "content": "done"}
    turns = [*messages(12), done, *messages(1), done, *messages(1)]
    (tmp_path / "conversation.json").write_text(json.dumps({"messages": turns}))
    said = ran(tmp_path, examples()[0], {"HOME": str(tmp_path), "PYTHONPATH": PATH}, "conversation.json")
    assert re.fullmatch(r"33 messages, \d+ tokens pruned\n", said)
    assert not said.startswith("33 messages, 0 ")


def test_the_agent_s_example_in_the_docs_runs(tmp_path: Path) -> None:
    with serve([Reply([Call("ls", {})]), Reply("It is empty.")]) as endpoint:
        said = ran(tmp_path, examples()[1], environ(tmp_path, endpoint.base_url) | {"PYTHONPATH": PATH})
        assert re.fullmatch(r"It is empty\.[\w-]+ [\d.e-]+\n", said)
        assert {tool["name"] for tool in json.loads(endpoint.requests[0].body)["tools"]} >= {
            "bash",
            "prun",
            "recall",
        }
        assert endpoint.rejected == []


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


async def test_the_agent_says_every_notice(tmp_path: Path) -> None:
    said: list[str] = []
    with serve([Reply("No.", stop_reason="refusal")]) as endpoint:
        await ask("hi", cwd=tmp_path, environ=environ(tmp_path, endpoint.base_url), notice=said.append)
    assert said == ["the model refused to answer"]


async def test_notices_go_to_the_log_of_the_program_where_nobody_takes_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serve([Reply("No.", stop_reason="refusal")]) as endpoint:
        await ask("hi", cwd=tmp_path, environ=environ(tmp_path, endpoint.base_url))
    assert "the model refused to answer" in caplog.text


async def test_a_turn_that_the_endpoint_pauses_is_sent_back_as_the_endpoint_wants_it(tmp_path: Path) -> None:
    """Twice, with text at the end; sent back in any other way the strict endpoint refuses it as a prefill."""
    script = [*[Reply("I look it up. ", stop_reason="pause_turn")] * 2, Reply("Found it.")]
    with serve(script) as endpoint:
        said = await ask("search", cwd=tmp_path, environ=environ(tmp_path, endpoint.base_url))
        assert said == "Found it."
        assert endpoint.rejected == []
        last = json.loads(endpoint.requests[2].body)["messages"][-1]
        assert [block["text"] for block in last["content"]] == ["I look it up. "] * 2
