"""System prompt and tool list stay those of a session's beginning; what changes later is told behind a prompt."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prunecli.features.rewind.rewinding import rewind
from prunecli.model.codec import canonical
from prunecli.model.events import SettingChanged, ToolResult, UserMessage
from prunecli.model.messages import Text, ToolUse, plain_text
from prunecli.model.notes import CHANGED, DELETED, change_in_words, typed
from prunecli.model.requests import PREAMBLE
from prunecli.runtime import Runtime, reconfiguring
from prunecli.runtime.notices import session_notices
from prunecli.session.log import read_log
from prunecli.session.timeline import points
from prunecli.session.verify import verify_session
from tests.scripted import calls, says
from tests.starting import closed, start

ANSWERS = [says(f"Answer {number}.") for number in range(9)]


def instruct(folder: Path, text: str) -> None:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / "AGENTS.md").write_text(text)


def preambles(runtime: Runtime) -> list[SettingChanged]:
    events = (record.event for record in runtime.session.records)
    return [event for event in events if isinstance(event, SettingChanged) and event.key == PREAMBLE]


def notes(runtime: Runtime) -> list[str]:
    """What the model was told of changes, in the messages that it gets now."""
    blocks = [json.loads(block) for message in runtime.session.context.messages() for block in message.blocks]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in texts if text.startswith(CHANGED)]


def said(runtime: Runtime) -> list[UserMessage]:
    events = (record.event for record in runtime.session.records)
    return [event for event in events if isinstance(event, UserMessage)]


async def test_changed_instructions_leave_the_preamble_and_are_told_once(tmp_path: Path) -> None:
    instruct(tmp_path, "Use tabs.")
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    before = runtime.session.context.preamble
    instruct(tmp_path, "Use spaces.")
    await runtime.submit("second")
    await runtime.submit("third")
    assert runtime.session.context.preamble == before
    assert len(preambles(runtime)) == 1
    (note,) = notes(runtime)
    assert "Use spaces." in note
    assert "Use tabs." not in note
    assert note in plain_text(said(runtime)[1].content), "it stands behind the prompt after the change"
    instruct(tmp_path, "Use nothing.")
    await runtime.submit("fourth")
    assert ["Use nothing." in one for one in notes(runtime)] == [False, True]
    instruct(tmp_path, "Use tabs.")
    await runtime.submit("fifth")
    await runtime.submit("sixth")
    assert len(notes(runtime)) == 3
    assert "applies again" in notes(runtime)[-1]
    await runtime.close()
    assert runtime.session.path is not None
    report = verify_session(runtime.session.path, read_log(runtime.session.path))
    assert report.clean, report.lines


async def test_a_resumed_session_keeps_its_preamble_and_a_new_one_takes_the_new_text(tmp_path: Path) -> None:
    instruct(tmp_path, "Use tabs.")
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    before = runtime.session.context.preamble
    path = await closed(runtime)
    (tmp_path / "work" / "AGENTS.md").unlink()
    again = start(tmp_path, ANSWERS)
    again.open_session(path)
    await again.submit("second")
    assert again.session.context.preamble == before
    (note,) = notes(again)
    assert "no longer there" in note
    assert "AGENTS.md" in note
    assert change_in_words(said(again)[-1].content) == (
        "AGENTS.md no longer applies. This prompt tells the model."
    )
    instruct(tmp_path, "Use spaces.")
    again.new_session()
    await again.submit("first")
    assert notes(again) == []
    assert b"Use spaces." in b"".join(again.session.context.preamble.system)
    await again.close()


async def test_a_folder_whose_name_is_no_text_is_worked_in_like_any_other(tmp_path: Path) -> None:
    work = os.fsdecode(b"caf\xe9")
    try:
        (tmp_path / work).mkdir()
    except OSError:
        pytest.skip("this file system takes only names that are text")
    runtime = start(tmp_path, ANSWERS, work=work)
    assert session_notices(runtime, runtime.session) == []
    await runtime.submit("first")
    assert "caf\ufffd".encode() in b"".join(runtime.session.context.preamble.system)
    path = await closed(runtime)
    again = start(tmp_path, ANSWERS, work=work)
    again.open_session(path)
    await again.submit("second")
    assert notes(again) == session_notices(again, again.session) == []
    await again.close()


async def test_a_session_of_another_folder_is_told_where_it_works_now(tmp_path: Path) -> None:
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    path = await closed(runtime)
    again = start(tmp_path, ANSWERS, work="elsewhere")
    again.open_session(path)
    await again.submit("second")
    (note,) = notes(again)
    assert f"Working directory: {tmp_path / 'elsewhere'}" in note
    assert change_in_words(said(again)[-1].content) == "", "the user is told when the session is opened"
    await again.close()


async def test_a_note_that_was_rewound_is_told_again(tmp_path: Path) -> None:
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    instruct(tmp_path, "Use spaces.")
    await runtime.submit("second")
    to = next(record.seq for record in runtime.session.records if record.event == said(runtime)[1]) - 1
    await rewind(runtime, to, conversation=True, files=False)
    assert notes(runtime) == []
    await runtime.submit("third")
    assert len(notes(runtime)) == 1
    await runtime.close()


async def test_trusting_a_folder_in_the_middle_tells_its_instructions(tmp_path: Path) -> None:
    instruct(tmp_path, "Use tabs.")
    runtime = start(tmp_path, ANSWERS, trusted=False)
    await runtime.submit("first")
    before = runtime.session.context.preamble
    reconfiguring.trust(runtime)
    await runtime.submit("second")
    assert runtime.session.context.preamble == before
    assert "Use tabs." in notes(runtime)[0]
    await runtime.close()


async def test_what_the_user_typed_is_shown_without_the_note(tmp_path: Path) -> None:
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    instruct(tmp_path, "Use spaces.")
    await runtime.submit("second")
    assert typed(said(runtime)[-1]) == "second"
    assert [point.text for point in points(runtime.session.records)] == ["second", "first"]
    assert change_in_words(said(runtime)[-1].content).startswith("AGENTS.md: new or changed since")
    await runtime.close()


@pytest.mark.parametrize("value", [None, "text", {}])
async def test_a_preamble_that_is_none_is_recorded_anew(tmp_path: Path, value: Any) -> None:
    runtime = start(tmp_path, ANSWERS)
    runtime.emit(SettingChanged(PREAMBLE, value))
    await runtime.submit("first")
    assert runtime.session.context.preamble.system
    await runtime.close()


async def test_a_disabled_tool_stays_in_the_list_and_its_calls_say_so(tmp_path: Path) -> None:
    runtime = start(tmp_path, ANSWERS)
    await runtime.submit("first")
    before, path = runtime.session.context.preamble, runtime.session.path
    await runtime.close()
    assert path is not None
    script = [calls(ToolUse("toolu_1", "ls", {})), says("So be it.")]
    again = start(tmp_path, script, sets=('tools.enabled=["read"]',))
    again.open_session(path)
    assert "calls are refused: " in "".join(session_notices(again, again.session))
    await again.submit("second")
    assert again.session.context.preamble == before
    (result,) = [one.event for one in again.session.records if isinstance(one.event, ToolResult)]
    assert plain_text(result.content) == "The user has disabled the tool 'ls'. Tools: read."
    await again.close()


async def test_a_tool_that_was_enabled_later_is_not_in_the_session_and_that_is_said_once(
    tmp_path: Path,
) -> None:
    runtime = start(tmp_path, ANSWERS, sets=('tools.enabled=["read"]',))
    await runtime.submit("first")
    before, path = runtime.session.context.preamble, runtime.session.path
    await runtime.close()
    assert path is not None
    script = [calls(ToolUse("toolu_1", "ls", {})), says("So be it.")]
    again = start(tmp_path, script, sets=('tools.enabled=["read", "ls"]',))
    again.open_session(path)
    assert session_notices(again, again.session) == [
        "Newly enabled, but not in this session: ls. /new to use it."
    ]
    await again.submit("second")
    assert again.session.context.preamble == before
    (result,) = [one.event for one in again.session.records if isinstance(one.event, ToolResult)]
    assert "There is no tool 'ls'" in plain_text(result.content)
    again.new_session()
    again.prepare()
    assert canonical("ls") in b"".join(again.session.context.preamble.tools)
    await again.close()


def test_a_prompt_without_a_note_says_nothing() -> None:
    assert change_in_words((Text("hello"),)) == ""


def test_changed_and_deleted_instructions_are_told_apart() -> None:
    files = {"/w/a.md": "new", "/w/b.md": DELETED, "/w/c.md": DELETED}
    told = [f'<instructions file="{path}">\n{text}\n</instructions>' for path, text in files.items()]
    assert change_in_words((Text("\n".join([CHANGED, *told])),)) == (
        "a.md: new or changed since this session began; b.md, c.md no longer apply. "
        "The model gets the new text with this prompt."
    )
