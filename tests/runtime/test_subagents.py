"""Tasks in a runtime: definitions, notices, permissions, limits, the bill, copies and lists."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import Copy, InThread, Say, ShowScreen, Table, run_line
from prunecli.features.rewind.rewinding import points_of, rewind
from prunecli.features.subagents.task_records import number_of
from prunecli.features.subagents.tool import Task
from prunecli.front.headless.run import run_headless
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    Event,
    Record,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import ToolUse, Usage, plain_text
from prunecli.model.notes import notice_parts
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import PREAMBLE
from prunecli.providers.tokenizer import SHIPPED
from prunecli.runtime import Runtime
from prunecli.runtime.preamble import preamble
from prunecli.session.digest import Digest
from prunecli.session.log import read_log
from prunecli.session.session_tree import family
from prunecli.session.verify import verify_session
from tests.scripted import ScriptedProvider, calls, says
from tests.starting import result_events, start
from tests.waiting import DEADLINE

REVIEWER = "---\nname: reviewer\ndescription: reviews\ntools: Read\n---\nYou review."


def task(call_id: str = "t1", agent: str | None = None) -> ToolUse:
    return ToolUse(call_id, "task", {"prompt": "look", "description": "look around", "agent": agent})


def bash(call_id: str, command: str = "touch x") -> ToolUse:
    return ToolUse(call_id, "bash", {"command": command})


def notices(runtime: Runtime) -> list[str]:
    said = [notice_parts(one.event) for one in runtime.session.records if isinstance(one.event, UserMessage)]
    return [text for title, text in filter(None, said) if title == "subagents"]


def agents(runtime: Runtime) -> Path:
    folder = runtime.setup.cwd / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def test_a_definition_is_named_at_the_start_and_a_new_one_by_a_notice_once(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says(str(n)) for n in range(6)])
    (agents(runtime) / "reviewer.md").write_text(REVIEWER)
    await runtime.submit("one")
    before = runtime.session.context.settings[PREAMBLE]
    assert before["system"][-1] == "Agents for task:\n- reviewer: reviews"
    await runtime.submit("two")
    assert notices(runtime) == []
    (agents(runtime) / "writer.md").write_text(REVIEWER.replace("reviewer", "writer"))
    await runtime.submit("three")
    await runtime.submit("four")
    assert notices(runtime) == ["Agents for task:\n- reviewer: reviews\n- writer: reviews"]
    for file in agents(runtime).iterdir():
        file.unlink()
    await runtime.submit("five")
    assert notices(runtime)[1:] == ["The only agent now is explore."]
    point = points_of(runtime)[-1].seq
    await rewind(runtime, point, conversation=True, files=False)
    await runtime.submit("six")
    assert len(notices(runtime)) == 3, "the rewind removed it from the context"
    assert runtime.session.context.settings[PREAMBLE] == before
    await runtime.close()


async def test_definitions_of_an_untrusted_project_do_not_exist(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(task(agent="reviewer")), says("No.")], trusted=False)
    (agents(runtime) / "reviewer.md").write_text(REVIEWER)
    await runtime.submit("go")
    assert "There is no agent 'reviewer'" in plain_text(result_events(runtime)[0].content)
    assert "Agents for task" not in str(runtime.session.context.settings[PREAMBLE])
    await runtime.close()


async def test_a_subagent_gets_its_prompt_and_its_tools_and_cannot_start_tasks(tmp_path: Path) -> None:
    provider = ScriptedProvider(
        [calls(task(agent="reviewer")), calls(task("t2")), says("Fine."), says("Ok.")]
    )
    runtime = start(tmp_path, provider=provider)
    (agents(runtime) / "reviewer.md").write_text(REVIEWER)
    await runtime.submit("go")
    inner = json.loads(provider.requests[1].body())
    assert inner["system"][0]["text"].startswith("You review.\n\nYou work on one task for another agent")
    assert [tool["name"] for tool in inner["tools"]] == ["read", "prun", "prun_with_memo", "recall"]
    child = runtime.parts["subagents"].subagents.children[0].session
    refused = next(one.event for one in child.records if isinstance(one.event, ToolResult))
    assert "There is no tool 'task'" in plain_text(refused.content)
    await runtime.close()


async def test_questions_of_tasks_come_one_at_a_time_say_who_asks_and_always_counts_for_all(
    tmp_path: Path,
) -> None:
    script = [
        calls(task("t1"), task("t2")),
        *[calls(bash(f"b{n}")) for n in range(2)],
        *[says("Done.")] * 3,
    ]
    runtime = start(tmp_path, script)
    asked: list[Asked] = []
    asking = 0

    async def ask(question: Asked) -> Answer:
        nonlocal asking
        asking += 1
        assert asking == 1, "one at a time"
        asked.append(question)
        await asyncio.sleep(0)
        asking -= 1
        return Answer("always")

    runtime.asker = ask
    await runtime.submit("go")
    assert [one.who for one in asked] in (["task 1"], ["task 2"]), "the rule of the answer allows the other"
    assert [one.is_error for one in result_events(runtime)] == [False, False]
    assert (runtime.setup.cwd / "x").exists()
    await runtime.close()


async def test_plan_mode_and_deny_rules_hold_for_tasks(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(task()), calls(bash("b")), says("Denied."), says("I see.")])
    runtime.gatekeeper.mode = "plan"
    await runtime.submit("go")
    child = runtime.parts["subagents"].subagents.children[0].session
    (denied,) = (one.event for one in child.records if isinstance(one.event, ToolResult))
    assert denied.details["denied"]
    prompt = next(one.event for one in child.records if isinstance(one.event, UserMessage))
    assert plain_text(prompt.content) == "look", "no plan is asked of a task"
    assert not (runtime.setup.cwd / "x").exists()
    await runtime.close()


def test_a_deny_rule_forbids_tasks(tmp_path: Path) -> None:
    runtime = start(tmp_path, sets=('permissions.deny=["task"]',))
    assert runtime.gatekeeper.judge("task", Task().touches(None)).kind == "deny"


async def test_changes_of_tasks_can_be_rewound_with_the_session(tmp_path: Path) -> None:
    write = ToolUse("w", "write", {"path": "new.txt", "content": "x\n"})
    runtime = start(
        tmp_path,
        [calls(task()), calls(write), says("Written."), says("Ok.")],
        sets=("permissions.mode=auto",),
    )
    (runtime.setup.cwd / "old.txt").write_text("old\n")
    await runtime.submit("go")
    assert (runtime.setup.cwd / "new.txt").exists()
    await rewind(runtime, points_of(runtime)[0].seq, conversation=True, files=True)
    assert not (runtime.setup.cwd / "new.txt").exists()
    assert len(list(runtime.session.path.parent.glob("*-t1.jsonl"))) == 1, "the log of the task stays"
    await runtime.close()


async def test_a_call_that_starts_no_task_uses_up_no_number(tmp_path: Path) -> None:
    malformed, blank = (
        ToolUse("a", "task", {"task": "look"}),
        ToolUse("b", "task", {"prompt": " ", "description": ""}),
    )
    runtime = start(
        tmp_path,
        [calls(malformed, blank, task("c")), says("Found."), calls(task("d")), says("Too."), says("Ok.")],
    )
    await runtime.submit("go")
    assert [child.name for child in runtime.parts["subagents"].subagents.children] == ["task 1", "task 2"]
    records = runtime.session.records
    assert [number_of(records, call)[0] for call in "abcd"] == [0, 0, 1, 2]
    (said,) = run_line(runtime, "/agents open 0")
    assert isinstance(said, Say)
    assert "started no task" in said.text
    await runtime.close()


def test_numbers_of_earlier_versions_stay_and_are_not_given_again() -> None:
    given = {"prompt": "look", "description": "x"}
    events: list[Event] = [
        AssistantMessage((ToolUse("a", "task", {}), ToolUse("b", "task", given)), "m"),
        ToolResult("a", "task", (), is_error=True),
        ToolStarted("b", "task", given),
        ToolResult("b", "task", (), details={"task": {"number": 2, "child": "x-t2"}}),
        AssistantMessage((ToolUse("b", "task", given),), "m"),
        ToolStarted("b", "task", given),
    ]
    records = [Record(seq, 0, event) for seq, event in enumerate(events, 1)]
    assert number_of(records[:4], "b") == (2, 1)
    assert number_of(records, "b") == (3, 5), "the id is given again"


async def test_the_lists_show_a_task_below_its_session_and_never_pick_it(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(task()), says("Found."), says("Ok.")])
    await runtime.submit("go")
    path, cwd = runtime.session.path, runtime.setup.cwd
    listed = runtime.store.list(cwd)
    assert [one.is_task for one in sorted(listed, key=lambda one: one.id)] == [False, True]
    members = family(listed)
    assert [(one.session.is_task, one.lines) for one in members] == [(False, ""), (True, "└ ")]
    child = members[1].session
    assert Digest.from_text(child.digest.to_text()) == child.digest
    assert runtime.store.last(cwd) == path
    assert runtime.store.find(path.stem[:-2]) == path, "a prefix of both is the session"
    assert runtime.store.find(child.id) == child.path
    await runtime.close()
    again = start(tmp_path, [says("More.")])
    again.open_session(child.path)
    await again.submit("go on")
    assert verify_session(child.path, read_log(child.path)).clean
    await again.close()


async def test_the_bill_of_a_session_includes_its_tasks(tmp_path: Path) -> None:
    runtime = start(
        tmp_path, [calls(task()), says("Found."), says("Ok.")], sets=("model.name=claude-opus-5-5",)
    )
    await runtime.submit("go")
    billed = [one.event for one in runtime.session.records if isinstance(one.event, AttemptBilled)]
    assert [one.reason for one in billed] == ["task"]
    assert runtime.bill.requests == 3
    own = [one.event for one in runtime.session.records if isinstance(one.event, AssistantMessage)]
    price = runtime.choices.price
    assert runtime.bill.cost == pytest.approx(sum(price(one.model, one.usage) for one in (*own, *billed)))
    (cost,) = run_line(runtime, "/cost all")
    assert isinstance(cost, Table)
    assert "Task 1 (no agent, claude-opus-5-5): finished, 1 request," in cost.note
    assert any(row[0].endswith(" task") for row in cost.rows)
    listed = next(one for one in runtime.store.list() if one.path == runtime.session.path)
    assert sum(counts[0] for counts in listed.digest.spent.values()) == 3
    assert runtime.status().cached_at == runtime.session.records[-2].timestamp, "the age of its own cache"
    await runtime.close()


def test_a_billed_request_of_a_task_is_kept_by_the_log() -> None:
    event = AttemptBilled("m", Usage(1, 2), "task", {"id": "a-t1", "seq": 4})
    record = Record(3, 5, event)
    assert decode_record(encode_record(record)) == record
    plain = AttemptBilled("m", Usage(1, 2))
    assert b"child" not in encode_record(Record(3, 5, plain))


async def test_a_copy_keeps_the_handles_of_its_tasks_and_an_export_names_them(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(task()), says("Found it."), says("Ok.")])
    await runtime.submit("go")
    child = runtime.parts["subagents"].subagents.children[0].session.id
    for form in ("html", "markdown"):
        (export,) = run_line(runtime, f"/export {form} out.{form}")
        assert isinstance(export, InThread)
        export.work()
        assert child in (runtime.setup.cwd / f"out.{form}").read_text()
    runtime.open_session(runtime.session.path, fork=True)
    listed = plain_text(runtime.parts["subagents"].subagents.original(1, 0))
    seq = next(int(line.split()[0]) for line in listed.split("\n") if line.endswith(" answer: Found it."))
    assert plain_text(runtime.parts["subagents"].subagents.original(1, seq)) == "Found it."
    (shown,) = run_line(runtime, "/agents open 1")
    assert isinstance(shown, ShowScreen)
    assert shown.given[1] == 1
    assert getattr(shown.given[2], "read_only", False)
    (lines,) = shown.instead()
    assert isinstance(lines, Copy)
    assert "Found it." in lines.text
    (said,) = run_line(runtime, "/agents open 9")
    assert isinstance(said, Say)
    assert said.level == "error"
    (said,) = run_line(runtime, "/agents shut")
    assert isinstance(said, Say)
    assert "open NUMBER" in said.text
    await runtime.close()


async def test_agents_lists_definitions_problems_and_tasks(tmp_path: Path) -> None:
    runtime = start(tmp_path, [calls(task(agent="explore")), says("Found."), says("Ok.")])
    (agents(runtime) / "reviewer.md").write_text(REVIEWER.replace("Read", "Read, Skill"))
    (agents(runtime) / "bad.md").write_text("---\nname: bad\n---\nx")
    await runtime.submit("go")
    (table,) = run_line(runtime, "/agents")
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["reviewer", "explore"]
    assert table.rows[1][1] == "claude-haiku-5-5"
    assert "reviewer: no such tools here: Skill" in table.note
    assert "bad.md: description: missing" in table.note
    assert "Task 1 (explore, " in table.note
    await runtime.close()


async def test_stream_json_says_which_call_a_message_of_a_task_belongs_to(tmp_path: Path) -> None:
    runtime = start(
        tmp_path, [calls(task()), says("Found."), says("Ok.")], sets=("model.name=claude-opus-5-5",)
    )
    lines: list[str] = []
    code = await run_headless(runtime, ["go"], form="stream-json", out=lines.append, err=lambda _: None)
    assert code == 0
    objects = [json.loads(line) for line in lines]
    said = [(one["type"], one["parent_tool_use_id"]) for one in objects if "message" in one]
    assert said == [
        ("user", None),
        ("assistant", None),
        ("user", "t1"),
        ("assistant", "t1"),
        ("user", None),
        ("assistant", None),
    ]
    assert objects[-1]["total_cost_usd"] == round(runtime.bill.cost, 6)
    assert (objects[-1]["num_turns"], objects[-1]["result"]) == (2, "Ok.")
    usages = [one.event.usage for one in runtime.session.records if hasattr(one.event, "usage")]
    assert objects[-1]["usage"]["input_tokens"] == sum(one.input_tokens for one in usages)
    await runtime.close()


async def test_without_a_log_tasks_work_too(tmp_path: Path) -> None:
    script = [
        calls(task()),
        says("Found."),
        calls(ToolUse("r", "recall", {"entry": 0, "task": 1})),
        says("Ok."),
    ]
    runtime = start(tmp_path, script, keep_log=False)
    await asyncio.wait_for(runtime.submit("go"), DEADLINE)
    assert "answer: Found." in plain_text(result_events(runtime)[1].content)
    await runtime.close()


def test_everything_on_the_base_prompt_stays_small_and_nothing_is_listed(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    assert "task" in runtime.tools
    assert runtime.parts["subagents"].subagents.listed() == ()
    now = preamble(runtime.setup, runtime.tools.values(), 0, window=1_000_000, trusted=True)
    text = "\n".join([*now["system"], json.dumps(now["tools"], separators=(",", ":"))])
    assert SHIPPED.count(text) < 2_500


def test_no_start_imports_the_code_of_tasks_or_reads_their_definitions(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.starting import start; "
        f"start(Path({str(tmp_path)!r})); import prunecli.front.headless.run; "
        "print([one for one in sys.modules if 'subagents.subagents' in one or '_files' in one or one == 'yaml'])"
    )
    root = Path(__file__).parent.parent.parent
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
