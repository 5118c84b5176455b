"""Long results through the whole program: what is sent, kept, recalled, restored and proved."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prunecli.commands import prune_config
from prunecli.commands.command import Say, Table
from prunecli.context.manual_edits import at_the_end, in_place
from prunecli.features.inspector.command import table as context_table
from prunecli.features.money import prune_stats_command as prune_stats
from prunecli.model.codec import canonical
from prunecli.model.events import AssistantMessage, SettingChanged, ToolResult
from prunecli.model.messages import Text, ToolUse
from prunecli.model.requests import PREAMBLE
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.verify import verify_session
from prunecli.util.errors import ConfigError
from tests.context.project import project
from tests.scripted import Scripted, ScriptedProvider, calls, says
from tests.starting import start

AUTO = ("permissions.mode=auto",)
BASH = ToolUse("b1", "bash", {"command": "seq -f 'number %g of the long output' 1 3000"})


class Growing(ScriptedProvider):
    """A script that a test writes as it goes on."""

    def play(self, script: list[Scripted]) -> None:
        self._script = (*self._script, *script)


def begun(tmp_path: Path, script: list[Scripted], *sets: str, **more: Any) -> tuple[Runtime, Growing]:
    played = Growing(script)
    return start(tmp_path, provider=played, sets=(*AUTO, *sets), **more), played


def results(runtime: Runtime) -> list[tuple[int, ToolResult]]:
    return [(one.seq, one.event) for one in runtime.session.records if isinstance(one.event, ToolResult)]


def whole(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, Text))


async def test_the_model_gets_head_and_tail_and_recalls_the_rest(tmp_path: Path) -> None:
    runtime, played = begun(tmp_path, [calls(BASH), says("Seen.")])
    await runtime.submit("count")
    [(seq, result)] = results(runtime)
    assert whole(result).count("\n") == 3000
    assert result.spilled is not None
    assert f" lines held back | recall {seq} lines " in result.spilled.shown
    body = played.requests[1].body().decode()
    assert "number 1 of" in body
    assert "number 3000 of" in body
    assert "number 1500 of" not in body
    counts = runtime.session.context.counts
    entry = runtime.session.context.entries[seq]
    assert counts.tokens(entry) == result.tokens == counts.counter.count(result.spilled.shown)
    assert counts.counter.count(whole(result)) == result.tokens + result.spilled.tokens
    assert 900 < result.tokens < 1_030
    await runtime.close()


async def test_the_rest_comes_back_by_recall_and_by_restore(tmp_path: Path) -> None:
    runtime, played = begun(tmp_path, [calls(BASH), says("Seen.")])
    await runtime.submit("count")
    [(seq, result)] = results(runtime)
    assert result.spilled is not None
    lines = (
        result.spilled.shown.partition(" lines held back | recall ")[2]
        .partition("lines ")[2]
        .partition("]")[0]
    )
    played.play([calls(ToolUse("r1", "recall", {"entry": seq, "lines": lines})), says("Recalled.")])
    await runtime.submit("recall it")
    page = results(runtime)[1][1]
    assert page.spilled is None
    assert 3_500 < (page.tokens or 0) <= 4_100
    assert f"| next: recall {seq} lines " in whole(page)
    context = runtime.session.context
    assert in_place(context, [seq]).refusal
    plan = at_the_end(context, [seq])
    assert plan.allowed
    runtime.emit(plan.events[0])
    assert b"number 1500 of" in b"".join(context.messages()[-1].blocks)
    assert "already shown again" in at_the_end(context, [seq]).refusal
    await runtime.close()


async def test_a_resumed_session_sends_the_same_bytes_whatever_the_caps_are_now(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path, [calls(BASH), says("Seen.")])
    await runtime.submit("count")
    path, sent = runtime.session.path, runtime.session.context.sha256()
    await runtime.close()
    assert path is not None
    for sets in (("pruning.spill.bash=0",), ("pruning.spill.level=strong",), ("pruning.enabled=false",)):
        again, _ = begun(tmp_path, [], *sets)
        session = again.open_session(path)
        assert session.context.sha256() == sent
        slow = project(session.records)
        assert [message.blocks for message in slow] == [one.blocks for one in session.context.messages()]
        assert verify_session(path, read_log(path)).clean
        await again.close()


async def test_nothing_is_held_back_where_that_is_off(tmp_path: Path) -> None:
    for number, off in enumerate(("spill.enabled=false", "spill.bash=0", "enabled=false")):
        runtime, _ = begun(tmp_path, [calls(BASH), says("Seen.")], f"pruning.{off}", work=f"work{number}")
        await runtime.submit("count")
        assert results(runtime)[0][1].spilled is None
        await runtime.close()


async def test_a_session_without_lines_in_its_recall_goes_on_with_whole_entries(tmp_path: Path) -> None:
    runtime, played = begun(tmp_path, [])
    old = {
        "name": "recall",
        "description": "",
        "input_schema": {"type": "object", "properties": {"entry": {}}},
    }
    bash = {"name": "bash", "description": "", "input_schema": {"type": "object", "properties": {}}}
    runtime.emit(SettingChanged(PREAMBLE, {"system": ["You."], "tools": [bash, old]}))
    played.play([calls(BASH), says("Seen.")])
    await runtime.submit("count")
    [(seq, result)] = results(runtime)
    assert result.spilled is not None
    assert f"held back | recall {seq}]" in result.spilled.shown
    played.play([calls(ToolUse("r1", "recall", {"entry": seq, "lines": "1-2"})), says("Seen.")])
    await runtime.submit("recall it")
    assert whole(results(runtime)[1][1]) == whole(result)
    assert canonical(old) in b"".join(played.requests[-1].preamble.tools)
    await runtime.close()


async def test_an_interrupted_command_is_cut_like_any_other(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path, [says("Hello.")])
    await runtime.submit("hello")
    session: Session = runtime.session
    session.emit(AssistantMessage((BASH,), "demo", "tool_use"))
    session.hold("b1", "".join(f"number {n} of the output\n" for n in range(3000)))
    session.answer_open_calls()
    [(seq, result)] = results(runtime)
    assert result.spilled is not None
    assert result.spilled.shown.endswith("it may have partly run]")
    assert f"recall {seq} lines" in result.spilled.shown
    await runtime.close()


async def test_a_cap_raised_in_the_session_applies_to_what_comes(tmp_path: Path) -> None:
    runtime, played = begun(tmp_path, [calls(BASH), says("Seen.")])
    await runtime.submit("count")
    before = runtime.session.context.sha256()
    [said] = prune_config.run(runtime, "spill.bash 3000")
    assert isinstance(said, Say)
    assert "= 3000 for this session" in said.text
    assert runtime.session.context.sha256() == before
    [options] = prune_config.run(runtime, "spill")
    assert isinstance(options, Table)
    assert ("spill.bash", "3000", "session") in [row[:3] for row in options.rows]
    assert ("spill.read", "8000", "default") in [row[:3] for row in options.rows], "the cap in effect"
    played.play([calls(replace(BASH, id="b2")), says("Seen.")])
    await runtime.submit("again")
    first, second = (result.tokens or 0 for _, result in results(runtime))
    assert first < 1_030 < 2_900 < second < 3_030
    await runtime.close()


async def test_a_table_of_options_names_its_keys(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path, [])
    keys = "enabled, level, bash, print, read, search, other"
    for given in ("spill off", "pruning.spill strong"):
        with pytest.raises(ConfigError, match=rf"^\S+: a table with the keys {keys}$"):
            prune_config.run(runtime, given)
    await runtime.close()


async def test_a_table_of_options_is_shown_with_the_caps_in_effect(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path, [])
    prune_config.run(runtime, "spill.level strong")
    for given in ("spill", "pruning.spill"):
        [options] = prune_config.run(runtime, given)
        assert isinstance(options, Table)
        assert [row[0].partition(".")[0] for row in options.rows] == ["spill"] * 7
        assert ("spill.read", "4000", "level strong") in [row[:3] for row in options.rows]
    [said] = prune_config.run(runtime, "spill.read")
    assert isinstance(said, Say)
    assert said.text == "spill.read = 4000    (level strong)"
    prune_config.run(runtime, "spill.enabled false")
    [options] = prune_config.run(runtime, "spill")
    assert isinstance(options, Table)
    assert ("spill.read", "unset", "default") in [row[:3] for row in options.rows], "nothing is shortened"
    await runtime.close()


async def test_the_statistics_and_the_table_say_what_was_held_back(tmp_path: Path) -> None:
    runtime, _ = begun(tmp_path, [calls(BASH), says("Seen.")])
    await runtime.submit("count")
    [(seq, _)] = results(runtime)
    said = prune_stats.run(runtime, "")[0]
    assert isinstance(said, Say)
    assert re.search(r"^shortened +\S+K tokens not sent, of 1 long result$", said.text, re.MULTILINE)
    listed = context_table(runtime)
    assert " tokens not sent" in next(row for row in listed.rows if row[0] == str(seq))[5]
    assert " tokens of 1 long result not sent" in listed.note
    await runtime.close()


async def test_several_results_of_one_message_name_their_own_entries(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("".join(f"number {n} of a long file\n" for n in range(5000)))
    greps = [ToolUse(f"g{n}", "grep", {"pattern": f"number .*{n} of"}) for n in range(1, 5)]
    runtime, _ = begun(tmp_path, [calls(*greps), says("Seen.")])
    await runtime.submit("search")
    found = results(runtime)
    assert len(found) == 4
    for seq, result in found:
        assert result.spilled is not None
        assert f"| recall {seq} lines " in result.spilled.shown
    await runtime.close()
