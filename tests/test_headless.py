"""Headless runs: what is printed in each form, and the exit codes."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from prunecli.front.headless.run import NOTHING_TO_DO, OutputFormat, Turn, run_headless
from prunecli.front.headless.stream import user_turn
from prunecli.model.events import AssistantMessage, Pinned
from prunecli.model.messages import Text, ToolUse, plain_text
from prunecli.runtime import Runtime
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.errors import ConnectionLost, PrunecliError, Unauthorized
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says
from tests.starting import closed, start

AUTO = (
    "permissions.mode=auto",
    "pruning.strategy=pi",
    "pruning.pi.protected_turns=0",
    "pruning.pi.prune_protect=10",
)


async def run(
    folder: Path, script: list[Scripted], form: OutputFormat = "text", prompts: tuple[str, ...] = ("hi",)
) -> Any:
    out: list[str] = []
    err: list[str] = []
    runtime = start(folder, script, sets=AUTO)
    code = await run_headless(runtime, prompts, form=form, out=out.append, err=err.append)
    return code, out, err


async def test_text_prints_the_answer_alone(tmp_path: Path) -> None:
    assert await run(tmp_path, [calls(ToolUse("t", "ls", {}), text="Looking"), says("Hello.")]) == (
        0,
        ["Hello."],
        [],
    )


async def test_control_characters_of_the_model_never_reach_the_terminal(tmp_path: Path) -> None:
    _, out, _ = await run(tmp_path, [says("a\x1b]52;c;x\x07b\x9b31m")])
    assert not set(out[0]) & {"\x1b", "\x07", "\x9b"}


async def test_json_prints_one_object(tmp_path: Path) -> None:
    code, out, _ = await run(tmp_path, [says("Hello.")], "json")
    assert (code, len(out)) == (0, 1)
    result = json.loads(out[0])
    assert result["subtype"] == "success"
    assert result["result"] == "Hello."
    assert result["num_turns"] == 1
    assert result["usage"]["input_tokens"] == 100
    assert set(result["ledger"]) >= {"scanned_tokens", "pruned_tokens", "context_tokens", "window"}


async def test_stream_json_prints_an_object_for_each_event(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "x.txt").write_text("words\n" * 25_000)
    script = [
        *(calls(ToolUse(f"t{n}", "read", {"path": "x.txt", "limit": 20_000 + n})) for n in range(6)),
        says("Hello."),
    ]
    code, out, _ = await run(tmp_path, script, "stream-json")
    objects = [json.loads(line) for line in out]
    kinds = [(one["type"], one.get("subtype")) for one in objects]
    assert code == 0
    assert kinds[0] == ("system", "init")
    assert kinds[-1] == ("result", "success")
    assert ("system", "prun_applied") in kinds
    assert objects[2]["message"]["content"][0]["type"] == "tool_use"
    assert objects[3]["message"]["content"][0]["type"] == "tool_result"


async def test_a_summary_is_announced_and_is_no_answer(tmp_path: Path) -> None:
    long = "long answer " * 1100
    limits = ("compaction.max_context_tokens=10000", "compaction.compact_at_pct=0.5")
    turns = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1", "model.name=claude-opus-5")
    runtime = start(tmp_path, [*[says(long)] * 3, says("The gist."), says("Go.")], sets=(*limits, *turns))
    out: list[str] = []
    err: list[str] = []
    await run_headless(runtime, ("a", "b", "c", "d"), form="text", out=out.append, err=err.append)
    assert out[-1] == "Go."
    assert err == ["summarizing the older part of the session …"]


async def test_retries_are_told(tmp_path: Path) -> None:
    _, out, err = await run(tmp_path, [fails(ConnectionLost("gone")), says("Now.")], "stream-json")
    assert any(json.loads(line).get("subtype") == "api_retry" for line in out)
    assert "retrying in" in err[0]


async def test_a_failure_of_the_model_is_exit_code_1_with_one_line(tmp_path: Path) -> None:
    code, out, err = await run(
        tmp_path, [fails(Unauthorized("the key is not valid", "prunecli login"))], "json"
    )
    assert code == 1
    assert json.loads(out[0])["subtype"] == "error"
    assert err == ["prunecli: the key is not valid\nprunecli login"]


async def test_a_refusal_is_exit_code_3(tmp_path: Path) -> None:
    code, _, err = await run(tmp_path, [Scripted((Text("No."),), "refusal")])
    assert code == 3
    assert "refused" in err[0]


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
async def test_signals_end_a_run_in_order(tmp_path: Path, number: signal.Signals, expected: int) -> None:
    provider = ScriptedProvider([Scripted((Text("word " * 9),), until=asyncio.Event())])
    runtime = start(tmp_path, provider=provider)
    out: list[str] = []
    running = asyncio.ensure_future(
        run_headless(runtime, ["hi"], form="json", out=out.append, err=out.append)
    )
    await provider.paused.wait()
    os.kill(os.getpid(), number)
    assert await running == expected
    assert json.loads(out[-1])["subtype"] == "interrupted"


async def test_several_prompts_run_one_after_the_other(tmp_path: Path) -> None:
    code, out, _ = await run(tmp_path, [says("One."), says("Two.")], "json", ("a", "b"))
    assert code == 0
    assert json.loads(out[0])["num_turns"] == 2


async def test_nobody_is_asked(tmp_path: Path) -> None:
    script = [calls(ToolUse("t", "bash", {"command": "rm -rf x"})), says("Ok.")]
    runtime = start(tmp_path, script)
    await run_headless(runtime, ["hi"], form="text", out=lambda _: None, err=lambda _: None)
    assert any("did not allow" in entry.text for entry in runtime.session.context.entries.values())


async def test_an_untrusted_directory_is_read_only(tmp_path: Path) -> None:
    script = [calls(ToolUse("t", "write", {"path": "x", "content": "y"})), says("Ok.")]
    runtime = start(tmp_path, script, sets=("permissions.mode=auto",), trusted=False)
    await run_headless(runtime, ["hi"], form="text", out=lambda _: None, err=lambda _: None)
    assert not (runtime.setup.cwd / "x").exists()


def test_a_line_of_stream_json_input_is_a_message() -> None:
    assert user_turn('{"type":"user","message":{"role":"user","content":"one"}}', 1) == Turn("one")
    blocks = [{"type": "text", "text": "two"}, {"type": "text", "text": "lines"}]
    assert user_turn(json.dumps({"type": "user", "message": {"content": blocks}}), 1) == Turn("two\nlines")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "not valid JSON: see character 1"),
        ('{"type":"user"', "not valid JSON: see character 15"),
        ("{}", "not a message with content"),
        ("[]", "not a message with content"),
        ('{"type":"user","message":"hi"}', "not a message with content"),
        ('{"type":"assistant","message":{"role":"assistant","content":"hi"}}', "a line of type 'assistant'"),
        ('{"type":"keep_alive"}', "a line of type 'keep_alive'; expected 'user' or 'control_request'"),
        ('{"type":5,"message":{"content":"hi"}}', "a line of type 5; expected 'user'"),
        ('{"type":null,"message":{"content":"hi"}}', "a line of type null; expected 'user'"),
        ('{"message":{"role":["user"],"content":"hi"}}', "a message of the role [\"user\"]; expected 'user'"),
        ('{"type":"user","message":{"role":"system","content":"hi"}}', "a message of the role 'system'"),
        ('{"message":{"content":[{"type":"image"}]}}', "a block of type 'image'"),
        ('{"message":{"content":7}}', "content is neither a string nor a list of blocks"),
    ],
)
def test_a_line_of_input_that_is_no_message_of_the_user_is_named_with_the_reason(line: str, why: str) -> None:
    with pytest.raises(PrunecliError) as raised:
        user_turn(line, 2)
    assert raised.value.message.startswith(f"standard input: line 2: {why}")
    assert '{"type":"user"' in (raised.value.hint or "")


FORMS: list[OutputFormat] = ["text", "json", "stream-json"]


def damaged(tmp_path: Path) -> Runtime:
    """A session of two turns whose first prompt can't be read, taken up again."""
    before = start(tmp_path, [says("One."), says("Two.")])
    asyncio.run(before.submit("first words"))
    asyncio.run(before.submit("second words"))
    path = before.session.path
    assert path is not None
    asyncio.run(before.close())
    path.write_bytes(path.read_bytes().replace(b"first words", b"first w0rds"))
    runtime = start(tmp_path, [says("Three.")])
    runtime.open_session(path)
    runtime.notices.append("a notice of the configuration")
    return runtime


@pytest.mark.parametrize("form", FORMS)
def test_what_could_not_be_read_is_said_in_every_form(tmp_path: Path, form: OutputFormat) -> None:
    runtime = damaged(tmp_path)
    out: list[str] = []
    err: list[str] = []
    asyncio.run(run_headless(runtime, ["third"], form=form, out=out.append, err=err.append))
    said = "\n".join(err)
    assert "a notice of the configuration" in said
    assert f"{runtime.session.id}.jsonl line 3" in said
    assert ".quarantine" in said
    if form != "text":
        objects = [json.loads(line) for line in out]
        notices = [one["text"] for one in objects if one.get("subtype") == "notice"]
        notices = objects[-1]["notices"] if form == "json" else notices
        assert any("line 3" in notice for notice in notices)


DENIED = [
    calls(ToolUse("t", "bash", {"command": "rm -rf x"})),
    calls(ToolUse("u", "write", {"path": "f", "content": "c"})),
    says("Ok."),
]


async def test_text_says_on_standard_error_which_tools_were_denied_and_why(tmp_path: Path) -> None:
    runtime = start(tmp_path, DENIED)
    out: list[str] = []
    err: list[str] = []
    await run_headless(runtime, ("hi",), form="text", out=out.append, err=err.append)
    assert out == ["Ok."]
    assert [line.partition(" (")[0] for line in err] == [
        "prunecli: denied: bash rm -rf x",
        "prunecli: denied: write f",
    ]
    assert all("--allowed-tools" in line for line in err)


@pytest.mark.parametrize("form", ["json", "stream-json"])
async def test_json_lists_what_was_denied(tmp_path: Path, form: OutputFormat) -> None:
    runtime = start(tmp_path, DENIED)
    out: list[str] = []
    await run_headless(runtime, ("hi",), form=form, out=out.append, err=lambda _: None)
    assert json.loads(out[-1])["permission_denials"] == [
        {"tool_name": "bash", "tool_use_id": "t", "tool_input": {"command": "rm -rf x"}},
        {"tool_name": "write", "tool_use_id": "u", "tool_input": {"path": "f", "content": "c"}},
    ]


async def cut(tmp_path: Path) -> tuple[Path, bytes]:
    """A session that a signal ended in the middle of an answer: its file and the request it had sent."""
    answer = Scripted((Text("The answer is forty-two. " * 4),), after=2, until=asyncio.Event())
    provider = ScriptedProvider([answer])
    runtime = start(tmp_path, provider=provider)
    running = asyncio.ensure_future(
        run_headless(runtime, ["what is it?"], form="text", out=lambda _: None, err=lambda _: None)
    )
    await provider.paused.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    path = await closed(runtime)
    return path, provider.requests[0].body()


async def test_an_answer_that_a_signal_cut_is_asked_for_again(tmp_path: Path) -> None:
    path, asked = await cut(tmp_path)
    provider = ScriptedProvider([says("42.")])
    runtime = start(tmp_path, provider=provider)
    runtime.open_session(path)
    out: list[str] = []
    code = await run_headless(runtime, (), form="text", out=out.append, err=lambda _: None)
    assert (code, out) == (0, ["42."])
    assert json.loads(provider.requests[0].body())["messages"] == json.loads(asked)["messages"]
    assert any(
        "forty-two" in plain_text(r.event.content)
        for r in runtime.session.records
        if r.seq and isinstance(r.event, AssistantMessage)
    ), "what came before the signal stays in the log"
    await runtime.close()
    assert verify_session(path, read_log(path)).clean


async def test_what_the_user_pruned_after_a_cut_answer_stays_pruned(tmp_path: Path) -> None:
    path, _ = await cut(tmp_path)
    runtime = start(tmp_path, [says("never")])
    runtime.open_session(path)
    runtime.emit(Pinned((3,), True))
    err: list[str] = []
    await run_headless(runtime, (), form="text", out=lambda _: None, err=err.append)
    assert err == [f"prunecli: {NOTHING_TO_DO}"]


async def test_a_session_with_nothing_left_to_do_says_so_and_sends_nothing(tmp_path: Path) -> None:
    provider = ScriptedProvider([says("Done.")])
    runtime = start(tmp_path, provider=provider)
    await runtime.submit("go")
    before = list(runtime.session.records)
    err: list[str] = []
    code = await run_headless(runtime, (), form="text", out=lambda _: None, err=err.append)
    assert (code, err) == (0, [f"prunecli: {NOTHING_TO_DO}"])
    assert len(provider.requests) == 1
    assert runtime.session.records == before


@pytest.mark.parametrize("form", FORMS)
async def test_an_empty_answer_is_named(tmp_path: Path, form: OutputFormat) -> None:
    code, out, err = await run(tmp_path, [says("")], form)
    assert (code, err) == (0, ["prunecli: the model's answer is empty"])
    assert form == "text" or json.loads(out[-1])["note"] == "the model's answer is empty"


async def test_an_answer_that_was_cut_keeps_the_prompts_after_it_back(tmp_path: Path) -> None:
    script = [Scripted((Text("Half"),), "max_tokens"), says("never")]
    code, out, err = await run(tmp_path, script, prompts=("a", "b"))
    assert (code, out) == (3, ["Half"])
    assert "length limit" in err[-1]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("/compact", 0, "Nothing to summarize yet: the session has 0 turns"),
        ("/status", 0, "model"),
        ("/prune", 0, ""),
        ("/model", 0, "/model "),
        ("/restore 99", 1, "99 is not an entry"),
        ("/rewind", 2, "/rewind does not work with -p"),
        ("/new", 2, "/new does not work with -p"),
        ("/quit", 2, "/quit does not work with -p"),
    ],
)
async def test_a_slash_command_is_run_or_refused_and_never_sent_to_the_model(
    tmp_path: Path, line: str, code: int, said: str
) -> None:
    ended, out, err = await run(tmp_path, [], prompts=(line,))
    assert ended == code, (out, err)
    assert said in "\n".join(err if code else out)
    assert len(err) == (code > 0)


@pytest.mark.parametrize("words", ["/etc/hosts is odd", "/nosuch thing", "// a comment"])
async def test_other_words_after_a_slash_go_to_the_model(tmp_path: Path, words: str) -> None:
    assert await run(tmp_path, [says("Hm.")], prompts=(words,)) == (0, ["Hm."], [])


async def test_a_command_that_was_piped_in_is_no_command(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("Hm.")])
    out: list[str] = []
    await run_headless(
        runtime, ["/permissions auto"], form="text", out=out.append, err=out.append, is_typed=False
    )
    assert (out, runtime.gatekeeper.mode) == (["Hm."], "ask")


async def test_a_compaction_is_run_and_its_effect_printed(tmp_path: Path) -> None:
    long = "long answer " * 1100
    turns = ("compaction.keep_first_turns=1", "compaction.keep_recent_turns=1", "model.name=claude-opus-5")
    runtime = start(tmp_path, [*[says(long)] * 3, says("The gist.")], sets=turns)
    out: list[str] = []
    code = await run_headless(
        runtime, ("a", "b", "c", "/compact"), form="text", out=out.append, err=lambda _: None
    )
    assert code == 0
    assert out[-1].startswith("Compacted: ")


@pytest.mark.parametrize("content", ['" "', '""', "[]", '[{"type":"text","text":"\\n"}]'])
def test_a_blank_message_of_stream_json_is_named(content: str) -> None:
    line = f'{{"type":"user","message":{{"role":"user","content":{content}}}}}'
    with pytest.raises(PrunecliError, match="line 2: the message is empty"):
        user_turn(line, 2)


@pytest.mark.parametrize("words", [" ", "\n\t", "\u2003"])
async def test_a_blank_prompt_is_refused_in_one_line_and_recorded_nowhere(tmp_path: Path, words: str) -> None:
    code, _, err = await run(tmp_path, [says("never")], prompts=(words,))
    assert code == 1
    assert len(err) == 1
    assert "blank" in err[0]
    assert not (tmp_path / "home" / ".local").exists(), "no session was begun"
