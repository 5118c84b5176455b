"""Hooks in a run: what each event may change, and that the log holds it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.front.presentation.activity import CurrentActivity
from prunecli.model.events import AssistantMessage, RunEnded, ToolStarted, UserMessage
from prunecli.model.messages import ToolUse, plain_text
from prunecli.util.errors import PromptBlocked
from tests.runtime.hooked import Hooked, closed, group, hooked, prints, special
from tests.scripted import ScriptedProvider, calls, says
from tests.waiting import until

ROOT = Path(__file__).parents[2]


def bash(command: str) -> ToolUse:
    return ToolUse("t1", "bash", {"command": command})


def bodies(at: Hooked) -> list[bytes]:
    provider = at.runtime.provider
    assert isinstance(provider, ScriptedProvider)
    return [request.body() for request in provider.requests]


def text(path: object) -> str:
    return Path(str(path)).read_text()


async def test_the_input_of_a_hook_has_claude_codes_fields(tmp_path: Path) -> None:
    kept = tmp_path / "given"
    script = [calls(ToolUse("t1", "write", {"path": "a.txt", "content": "x"})), says("Done.")]
    at = hooked(
        tmp_path,
        script,
        {
            "PreToolUse": [group(f"cat > {kept}-pre; env > {kept}-env", "Edit|Write")],
            "PostToolUse": [group(f"cat > {kept}-post", "Write")],
            "UserPromptSubmit": [group(f"cat > {kept}-prompt")],
            "SessionStart": [group(f"cat > {kept}-start", "startup")],
            "Stop": [group(f"cat > {kept}-stop")],
        },
    )
    assert (await at.runtime.submit("go")).reason == "finished"
    pre, post = (json.loads(text(f"{kept}-{name}")) for name in ("pre", "post"))
    work = tmp_path / "work"
    assert pre == {
        "session_id": at.runtime.session.id,
        "transcript_path": str(at.runtime.session.path),
        "cwd": str(work),
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(work / "a.txt"), "content": "x"},
        "tool_use_id": "t1",
    }
    assert post["tool_response"]["filePath"] == str(work / "a.txt")
    assert post["tool_response"]["success"] is True
    assert json.loads(text(f"{kept}-prompt"))["prompt"] == "go"
    start = json.loads(text(f"{kept}-start"))
    assert (start["source"], start["model"]) == ("startup", at.runtime.model_name)
    assert json.loads(text(f"{kept}-stop"))["stop_hook_active"] is False
    env = dict(line.partition("=")[::2] for line in text(f"{kept}-env").splitlines())
    assert env["CLAUDE_PROJECT_DIR"] == env["PRUNECLI_PROJECT_DIR"] == str(work)
    assert not [name for name in env if name.startswith("ANTHROPIC")]
    await closed(at)


async def test_a_denied_call_does_not_run_and_the_model_reads_why(tmp_path: Path) -> None:
    hook = "echo 'use rg, not grep' >&2; exit 2"
    script = [calls(bash("touch made")), says("I see.")]
    at = hooked(tmp_path, script, {"PreToolUse": [group(hook, "Bash")]})
    await at.runtime.submit("go")
    ((said, is_error),) = at.results()
    assert is_error
    assert said == "Not allowed by a hook: echo: use rg, not grep"
    assert not (tmp_path / "work" / "made").exists()
    assert not [record for record in at.runtime.session.records if isinstance(record.event, ToolStarted)]
    await closed(at)


async def test_a_changed_input_is_what_runs_is_asked_about_and_stands_in_the_log(tmp_path: Path) -> None:
    asked: list[Asked] = []

    async def answer(one: Asked) -> Answer:
        asked.append(one)
        return Answer("once")

    reply = special("PreToolUse", permissionDecision="ask", updatedInput={"command": "touch other"})
    at = hooked(
        tmp_path,
        [calls(bash("touch made")), says("Done.")],
        {"PreToolUse": [group(prints(reply), "Bash")]},
    )
    at.runtime.asker = answer
    await at.runtime.submit("go")
    assert [one.call.input for one in asked] == [{"command": "touch other"}]
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["other"]
    records = at.runtime.session.records
    started = [record.event.input for record in records if isinstance(record.event, ToolStarted)]
    assert started == [{"command": "touch other"}]
    first = next(record.event for record in records if isinstance(record.event, AssistantMessage))
    assert first.content[-1] == bash("touch made"), "the message keeps what the model wrote"
    assert 'changed the input of this call: {"command": "touch other"}' in at.results()[0][0]
    await closed(at)


async def test_a_changed_input_that_is_invalid_is_an_error_and_runs_nothing(tmp_path: Path) -> None:
    reply = special("PreToolUse", updatedInput={"command": 7})
    at = hooked(tmp_path, [calls(bash("touch a")), says("Done.")], {"PreToolUse": [group(prints(reply))]})
    await at.runtime.submit("go")
    ((said, is_error),) = at.results()
    assert is_error
    assert said.startswith("A hook changed this call, and now it cannot run. Invalid input: command")


@pytest.mark.parametrize("rules", [(), ('permissions.ask=["bash(touch *)"]',)])
async def test_a_hook_answers_for_the_user_but_not_where_a_rule_asks(
    tmp_path: Path, rules: tuple[str, ...]
) -> None:
    asked: list[Asked] = []

    async def answer(one: Asked) -> Answer:
        asked.append(one)
        return Answer("deny")

    reply = special("PreToolUse", permissionDecision="allow", permissionDecisionReason="fine")
    at = hooked(
        tmp_path,
        [calls(bash("touch made")), says("Done.")],
        {"PreToolUse": [group(prints(reply), "Bash")]},
        sets=("permissions.mode=ask", *rules),
    )
    at.runtime.asker = answer
    await at.runtime.submit("go")
    assert len(asked) == len(rules)
    assert (tmp_path / "work" / "made").exists() is not bool(rules)


async def test_no_hook_allows_what_plan_mode_or_a_rule_denies(tmp_path: Path) -> None:
    reply = special("PreToolUse", permissionDecision="allow")
    for number, sets in enumerate((("permissions.mode=plan",), ('permissions.deny=["bash(touch *)"]',))):
        folder = tmp_path / str(number)
        at = hooked(
            folder,
            [calls(bash("touch made")), says("No.")],
            {"PreToolUse": [group(prints(reply))]},
            sets=sets,
        )
        await at.runtime.submit("go")
        assert at.results()[0][1]
        assert not (folder / "work" / "made").exists()


async def test_feedback_follows_the_result_and_a_failure_has_its_own_event(tmp_path: Path) -> None:
    script = [calls(bash("echo hi")), calls(bash("echo no; exit 3")), says("Done.")]
    at = hooked(
        tmp_path,
        script,
        {
            "PostToolUse": [group(prints({"decision": "block", "reason": "format it"}), "Bash")],
            "PostToolUseFailure": [group("echo 'try again' >&2; exit 2", "Bash")],
        },
    )
    await at.runtime.submit("go")
    texts = [one for one, _ in at.results()]
    assert texts[0].endswith("[hook cat] format it")
    assert texts[1].endswith("[hook echo] try again")
    assert b"format it" in bodies(at)[1]
    await closed(at)


async def test_a_blocked_prompt_is_not_sent_and_leaves_no_record(tmp_path: Path) -> None:
    reply = {"decision": "block", "reason": "no secrets"}
    at = hooked(tmp_path, [says("Never.")], {"UserPromptSubmit": [group(prints(reply))]})
    with pytest.raises(PromptBlocked, match="no secrets"):
        await at.runtime.submit("my key is hush")
    assert not bodies(at)
    assert not [record for record in at.runtime.session.records if isinstance(record.event, UserMessage)]


async def test_the_reason_of_a_blocked_prompt_keeps_its_lines(tmp_path: Path) -> None:
    reply = {"decision": "block", "reason": "a.py:1: unused\nb.py:2: unused"}
    at = hooked(tmp_path, [says("Never.")], {"UserPromptSubmit": [group(prints(reply))]})
    with pytest.raises(PromptBlocked, match=r"a\.py:1: unused\nb\.py:2: unused"):
        await at.runtime.submit("go")


async def test_the_user_sees_which_hooks_the_agent_waits_for(tmp_path: Path) -> None:
    hooks = {"UserPromptSubmit": [group("true")], "PreToolUse": [group("true", "Bash")]}
    at = hooked(tmp_path, [calls(bash("echo hi")), says("Done.")], hooks)
    activity, words = CurrentActivity(), list[str]()
    at.runtime.session.subscribe(lambda event: words.append(activity.words) if activity.take(event) else None)
    await at.runtime.submit("go")
    assert words[:2] == ["Running UserPromptSubmit hooks", "Working"]
    called = words.index("Running PreToolUse hooks")
    assert words[called + 1 : called + 3] == ["Working", "Running bash"]


async def test_added_context_is_a_notice_after_the_prompt(tmp_path: Path) -> None:
    reply = special("UserPromptSubmit", additionalContext="branch: main")
    at = hooked(
        tmp_path,
        [says("Hello."), says("Again.")],
        {
            "UserPromptSubmit": [group("echo 'it rains'"), group(prints(reply))],
            "SessionStart": [group("echo 'welcome'", "startup|resume")],
        },
    )
    await at.runtime.submit("go")
    assert at.notices() == [("hook echo", "welcome"), ("hook echo", "it rains"), ("hook cat", "branch: main")]
    (body,) = bodies(at)
    assert body.index(b"it rains") > body.index(b'"go"')
    await at.runtime.submit("again")
    assert [one for _, one in at.notices()].count("welcome") == 1
    await closed(at)


async def test_a_message_that_steers_can_be_blocked_too(tmp_path: Path) -> None:
    hook = 'if grep -q hush; then echo "no secrets" >&2; exit 2; fi'
    at = hooked(tmp_path, [says("Hello."), says("More.")], {"UserPromptSubmit": [group(hook)]})
    at.runtime.follow_up("the key is hush")
    at.runtime.follow_up("and then?")
    await at.runtime.submit("go")
    said = [
        plain_text(r.event.content) for r in at.runtime.session.records if isinstance(r.event, UserMessage)
    ]
    assert said == ["go", "and then?"]
    assert "A hook blocked your message, so it was not sent: if: no secrets" in at.said


async def test_a_stop_hook_keeps_the_agent_working_until_it_is_content(tmp_path: Path) -> None:
    kept = tmp_path / "given"
    hook = f"cat >> {kept}; echo >> {kept}; test -e ok || {{ touch ok; echo 'run the tests' >&2; exit 2; }}"
    at = hooked(tmp_path, [says("Done."), says("Tested.")], {"Stop": [group(hook)]})
    assert (await at.runtime.submit("go")).reason == "finished"
    assert at.notices() == [("stop hook cat", "run the tests")]
    assert b"run the tests" in bodies(at)[1]
    given = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [one["stop_hook_active"] for one in given] == [False, True]
    assert [one["last_assistant_message"] for one in given] == ["Done.", "Tested."]
    assert [item.opens_turn for item in at.runtime.session.context.items].count(True) == 1
    await closed(at)


async def test_a_stop_hook_that_is_never_content_is_overruled(tmp_path: Path) -> None:
    at = hooked(tmp_path, [says("Done.")] * 20, {"Stop": [group("echo more >&2; exit 2")]})
    assert (await at.runtime.submit("go")).reason == "finished"
    assert len(bodies(at)) == 9
    assert "Hooks continued the run 8 times in a row; it stops now" in at.said


async def test_continue_false_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    reply = {"continue": False, "stopReason": "the build is broken"}
    script = [calls(bash("echo hi")), says("Never.")]
    at = hooked(tmp_path, script, {"PostToolUse": [group(prints(reply))]})
    done = await at.runtime.submit("go")
    assert (done.reason, done.note) == ("limit", "the build is broken")
    assert len(bodies(at)) == 1
    assert isinstance(at.runtime.session.records[-1].event, RunEnded)
    await closed(at)


async def test_a_hook_that_hangs_is_stopped_after_its_time_and_said(tmp_path: Path) -> None:
    at = hooked(
        tmp_path,
        [calls(bash("echo hi")), says("Done.")],
        {"PreToolUse": [group("sleep 600", "Bash", timeout=0.3)]},
    )
    await at.runtime.submit("go")
    assert at.results() == [("hi\n", False)]
    assert at.said == ["PreToolUse hook sleep failed: no answer within 0.3 s, so it was stopped"]


async def test_interrupting_stops_a_hook_and_ends_its_processes(tmp_path: Path) -> None:
    started = tmp_path / "started"
    at = hooked(tmp_path, [says("Never.")], {"UserPromptSubmit": [group(f"echo $$ > {started}; sleep 600")]})
    task = asyncio.ensure_future(at.runtime.submit("go"))
    while not started.exists() or not started.read_text().strip():
        await asyncio.sleep(0.01)
    assert at.runtime.running
    at.runtime.interrupt()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not at.runtime.running
    assert not (Path("/proc") / started.read_text().strip()).exists()


async def test_a_compaction_can_be_blocked_and_is_followed_by_session_start(tmp_path: Path) -> None:
    turns = ("compaction.keep_first_turns=0", "compaction.keep_recent_turns=1", "model.name=claude-opus-4-5")
    script = [says("long " * 400), says("two"), says("The gist."), says("three")]
    hook = 'if grep -q \'"custom_instructions": "not now"\'; then echo later >&2; exit 2; fi'
    at = hooked(
        tmp_path,
        script,
        {
            "PreCompact": [group(hook, "manual")],
            "SessionStart": [group("echo 'use bun'", "compact")],
        },
        sets=turns,
    )
    await at.runtime.submit("one")
    await at.runtime.submit("two")
    assert not await at.runtime.compact("not now")
    assert at.said == ["A hook blocked the compaction: if: later"]
    assert await at.runtime.compact("now")
    assert at.notices() == []
    await at.runtime.submit("three")
    assert at.notices() == [("hook echo", "use bun")]


async def test_a_notification_is_sent_while_a_question_waits(tmp_path: Path) -> None:
    kept = tmp_path / "given"

    async def answer(one: Asked) -> Answer:
        while not kept.exists() or not kept.read_text():
            await asyncio.sleep(0.01)
        return Answer("deny")

    at = hooked(
        tmp_path,
        [calls(bash("touch a")), says("Done.")],
        {"Notification": [group(f"cat > {kept}", "permission_prompt"), group("touch idle", "idle_prompt")]},
        sets=("permissions.mode=ask",),
    )
    at.runtime.asker = answer
    await at.runtime.submit("go")
    given = json.loads(kept.read_text())
    assert given["message"] == "prunecli needs your permission to use Bash"
    assert given["notification_type"] == "permission_prompt"
    await closed(at)


async def test_session_end_runs_once_a_session_was_used(tmp_path: Path) -> None:
    for number, prompts in enumerate(((), ("go",))):
        folder = tmp_path / str(number)
        at = hooked(folder, [says("Hello.")], {"SessionEnd": [group(f"cat > {folder}/ended")]})
        for prompt in prompts:
            await at.runtime.submit(prompt)
        await at.runtime.close()
        assert (folder / "ended").exists() is bool(prompts)


async def test_session_end_runs_when_another_session_is_opened(tmp_path: Path) -> None:
    ends = tmp_path / "ends"
    hooks = {
        "SessionEnd": [group(f"cat >> {ends}; echo >> {ends}")],
        "SessionStart": [group(f"cat >> {tmp_path}/starts; echo >> {tmp_path}/starts")],
    }
    at = hooked(tmp_path, [says(str(number)) for number in range(9)], hooks)

    def ended() -> int:
        return ends.read_text().count("}\n") if ends.exists() else 0

    first = at.runtime.session
    at.runtime.new_session()
    assert at.runtime.session is not first, "one that was not used has no end"
    await at.runtime.submit("go")
    used = at.runtime.session
    assert used.path is not None
    at.runtime.new_session()
    at.runtime.new_session()
    await until(lambda: ended() == 1)
    at.runtime.open_session(used.path)
    await at.runtime.submit("on")
    other = at.runtime.new_session()
    await until(lambda: ended() == 2)
    await at.runtime.submit("go")
    at.runtime.open_session(used.path)
    await at.runtime.close()
    given = [json.loads(line) for line in ends.read_text().splitlines() if line.strip()]
    found = [(one["session_id"], one["transcript_path"], one["reason"]) for one in given]
    assert found == [
        (used.id, str(used.path), "clear"),
        (used.id, str(used.path), "clear"),
        (other.id, str(other.path), "resume"),
    ]
    starts = [json.loads(line) for line in (tmp_path / "starts").read_text().splitlines() if line.strip()]
    assert [(one["session_id"], one["source"]) for one in starts] == [
        (used.id, "startup"),
        (used.id, "resume"),
        (other.id, "clear"),
    ]


def test_session_end_runs_where_no_loop_does(tmp_path: Path) -> None:
    at = hooked(tmp_path, [says("Hello.")], {"SessionEnd": [group(f"cat > {tmp_path}/ended")]})
    asyncio.run(at.runtime.submit("go"))
    at.runtime.new_session()
    assert json.loads((tmp_path / "ended").read_text())["reason"] == "clear"
    asyncio.run(at.runtime.close())


async def test_without_hooks_a_run_has_none(tmp_path: Path) -> None:
    at = hooked(tmp_path, [says("Hello.")])
    assert not at.runtime.parts["hooks"].exist
    await at.runtime.submit("go")
    assert at.runtime.parts["hooks"].sources == ()


def test_a_run_without_hooks_imports_nothing_of_them(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from prunecli.util.launch_options import Launch\n"
        "from prunecli.runtime.make import make_runtime\n"
        "asked = Launch(headless=True, trust=True, cwd=Path(sys.argv[1]), flags={'--model': 'demo'})\n"
        "runtime = make_runtime(asked, {'HOME': sys.argv[1]})\n"
        "asyncio.run(runtime.submit('hello'))\n"
        "print([name for name in sys.modules if 'extensions.hook' in name or 'hook_' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


async def test_an_idle_program_notifies(tmp_path: Path) -> None:
    kept = tmp_path / "given"
    at = hooked(tmp_path, [says("Hello.")], {"Notification": [group(f"cat > {kept}", "idle_prompt")]})
    at.runtime.parts["hooks"].idle_seconds = 0.01
    await at.runtime.submit("go")
    while not kept.exists() or not kept.read_text():
        await asyncio.sleep(0.01)
    assert json.loads(kept.read_text())["notification_type"] == "idle_prompt"
    await closed(at)


async def test_a_hook_in_the_background_holds_nothing_up_and_tells_the_model_later(tmp_path: Path) -> None:
    reply = special("PostToolUse", additionalContext="the tests pass")
    slow = f"while ! test -e {tmp_path}/go; do sleep 0.05; done; {prints(reply)}"
    script = [calls(bash("echo hi")), says("Done."), says("Good.")]
    at = hooked(tmp_path, script, {"PostToolUse": [{"hooks": [{"command": slow, "async": True}]}]})
    await at.runtime.submit("go")
    assert at.notices() == []
    (tmp_path / "go").touch()
    while not at.runtime.mailbox.notices:
        await asyncio.sleep(0.01)
    await at.runtime.submit("and?")
    assert at.notices() == [("hook while", "the tests pass")]
    await closed(at)
