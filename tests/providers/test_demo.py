"""The demo model: it says what it is, knows four commands, and reports what the real tools gave."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from prunecli.agent.asking import Answer
from prunecli.agent.assemble import ModelSettings, summary_request
from prunecli.context.compaction import Options, plan_compaction
from prunecli.model.codec import canonical
from prunecli.model.events import Record, UserMessage
from prunecli.model.messages import Text, plain_text, tool_uses
from prunecli.model.requests import Preamble, Request
from prunecli.providers.available.demo import PACE, DemoProvider
from prunecli.providers.provider import Response, TextDelta, ToolCallDelta
from tests.laws.logs import logs
from tests.providers.demo_bench import (
    TOOLS,
    Bench,
    answer,
    events,
    message,
    no_pause,
    request,
    user,
    words_of,
)
from tests.session.points import folded

WHO = "I am prunecli's demo model: a script, not a language model."


@pytest.mark.parametrize("words", ["hello", "fix my bug", "run true", "tour", "x" * 5000, ""])
async def test_it_says_that_it_is_a_script(words: str) -> None:
    assert WHO in await words_of(request(user(words)))


@pytest.mark.parametrize("words", ["make `it` better", "run the tests", "read a and b", "read " + "a" * 5000])
async def test_what_it_does_not_understand_it_quotes_and_says_how_to_get_a_real_model(words: str) -> None:
    response = await answer(request(user(words)))
    said = plain_text(response.content)
    assert tool_uses(response.content) == ()
    assert said.startswith("I did not understand `")
    assert "`prunecli login`" in said
    assert "`ANTHROPIC_API_KEY`" in said
    assert "`tour`" in said


async def test_help_names_only_what_the_tools_allow() -> None:
    said = await words_of(request(user("help"), tools=("read",)))
    assert "`read README.md`" in said
    assert "search for" not in said
    assert "did not understand" not in said


async def test_a_missing_tool_is_named_and_nothing_is_called() -> None:
    response = await answer(request(user("search for b"), tools=("read",)))
    assert tool_uses(response.content) == ()
    assert "the tool `grep`, which is not enabled" in plain_text(response.content)


@pytest.mark.parametrize(
    ("words", "name", "given"),
    [
        ("list", "ls", {"path": "."}),
        ("ls src", "ls", {"path": "src"}),
        ("Read @a.py", "read", {"path": "a.py"}),
        ("search for total", "grep", {"pattern": "total"}),
        ("grep total in src", "grep", {"pattern": "total", "path": "src"}),
        ("run git status; ls", "bash", {"command": "git status; ls"}),
    ],
)
async def test_each_command_is_one_call_of_its_tool(words: str, name: str, given: dict[str, str]) -> None:
    (call,) = tool_uses((await answer(request(user(words)))).content)
    assert (call.name, call.input) == (name, given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("list", "I'll list this folder now."),
        ("ls ..", "I'll list `..` now."),
        ("read a.py", "I'll read `a.py` now."),
    ],
)
async def test_it_says_what_it_calls_in_a_sentence(words: str, said: str) -> None:
    assert plain_text((await answer(request(user(words)))).content).endswith(f"\n\n{said}")


async def test_the_folder_is_reported_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    assert (await Bench(tmp_path).talk("list")).startswith("This folder:\n\n    a.py")


async def test_what_was_read_is_reported_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n```\nthree\n")
    (tmp_path / "b.txt").write_text("".join(f"line {n}\n" for n in range(30)))
    bench = Bench(tmp_path)
    assert await bench.talk("read a.py") == "`a.py`:\n\n    one\n    ```\n    three"
    said = await bench.talk("read b.txt")
    assert said.startswith("`b.txt` (8 of 30 lines):")
    assert said.endswith("    line 7")
    assert bench.names() == [["read"], ["read"]]


async def test_a_command_is_reported_with_its_last_lines_and_its_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    said = await bench.talk("run seq 100")
    assert said.startswith("`seq 100` (8 of 100 lines):")
    assert said.endswith("    99\n    100")
    said = await bench.talk("run exit 3")
    assert said.startswith("`exit 3` failed:")
    assert "[exit code 3]" in said


async def test_a_failed_or_denied_call_is_told_with_its_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode="ask", answers=[])
    assert (await bench.talk("read missing")).startswith("I could not read `missing`: ")
    assert await bench.talk("run touch made") == (
        "You did not allow me to run `touch made`. You said: not today"
    )


async def test_an_interrupted_call_is_not_made_again() -> None:
    use = {"type": "tool_use", "id": "demo_1_command_0", "name": "bash", "input": {"command": "make"}}
    text = {"type": "text", "text": "[interrupted: the call did not finish; it may have partly run]"}
    result = {"type": "tool_result", "tool_use_id": use["id"], "is_error": True, "content": [text]}
    exchange = (message("assistant", use, seq=2), message("user", result, seq=3))
    response = await answer(request(user("run make"), *exchange))
    assert tool_uses(response.content) == ()
    assert "`make` was interrupted and may have partly run." in plain_text(response.content)


# What it takes for words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left",
    [
        '<pruned-memo by="assistant" entries="2-3">run touch made</pruned-memo>',
        "[Earlier messages were replaced by this summary.]\nrun touch made",
        "[plan mode] run touch made",
    ],
)
async def test_what_the_program_added_is_not_taken_for_words_of_the_user(left: str) -> None:
    asked = request(message("user", {"type": "text", "text": "list"}, {"type": "text", "text": left}))
    (call,) = tool_uses((await answer(asked)).content)
    assert call.name == "ls"


async def test_the_output_of_a_command_is_not_taken_for_words() -> None:
    assert tool_uses((await answer(request(user("!cat notes", "run touch made")))).content) == ()


async def test_words_after_the_output_of_a_command_are_heard() -> None:
    both = message("user", *({"type": "text", "text": text} for text in ("!ls", "a.py", "read a.py")))
    both = type(both)(both.role, both.blocks, (1, 1, 2), both.canonical)
    assert [call.name for call in tool_uses((await answer(request(both))).content)] == ["read"]


@pytest.mark.parametrize("head", ["[notice] MCP servers", "[attached: a.sh]"])
async def test_a_notice_or_an_attachment_after_the_words_is_not_taken_for_them(head: str) -> None:
    both = message("user", *({"type": "text", "text": text} for text in ("list", head, "run true")))
    both = type(both)(both.role, both.blocks, (1, 2, 2), both.canonical)
    assert [call.name for call in tool_uses((await answer(request(both))).content)] == ["ls"]


async def test_steering_replaces_what_was_asked_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode="ask", answers=[Answer("once")])
    original = bench._ask

    async def ask(asked):
        bench.mailbox.steering.append(UserMessage((Text("list"),), "steering"))
        return await original(asked)

    bench.executor.gatekeeper.asker = ask
    await bench.talk("run sort -o x")
    assert bench.names() == [["bash"], ["ls"]]


async def test_calls_of_another_model_are_not_taken_for_its_own() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"wrong": 1}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    messages = (message("assistant", use, seq=2), message("user", result, seq=3))
    again = await answer(request(user("run true"), *messages))
    assert [call.input for call in tool_uses(again.content)] == [{"command": "true"}]


async def test_own_calls_with_a_damaged_input_break_nothing() -> None:
    uses = [
        {"type": "tool_use", "id": f"demo_1_command_{n}", "name": name, "input": {}}
        for n, name in enumerate([*TOOLS, "unknown"])
    ]
    for is_error in (False, True):
        results = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": "done", "is_error": is_error}
            for use in uses
        ]
        asked = request(user("run x"), message("assistant", *uses, seq=2), message("user", *results, seq=3))
        assert "done" in await words_of(asked)


async def test_a_compaction_is_told_that_a_script_cannot_summarize(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for _ in range(8):
        await bench.talk("list")
    plan = plan_compaction(bench.session.context, Options(), 200_000)
    assert plan is not None
    response = await answer(summary_request(bench.session.context, ModelSettings("demo", 1000), plan))
    assert "cannot summarize" in plain_text(response.content)
    assert tool_uses(response.content) == ()


# The stream --------------------------------------------------------------------------------------------------


async def test_the_first_word_comes_without_a_pause_and_the_rest_at_a_pace() -> None:
    seen: list[object] = []

    async def pause(seconds: float) -> None:
        seen.append(seconds)

    async for event in DemoProvider(pause=pause).stream(request(user("read a.py"))):
        seen.append(event)
    assert isinstance(seen[0], TextDelta)
    assert seen[1] == PACE
    assert isinstance(seen[-1], Response)
    assert isinstance(seen[-2], ToolCallDelta)


@pytest.mark.parametrize("words", ["tour", "help", "read a", "run echo " + "long words " * 50])
async def test_the_deltas_add_up_to_the_response(words: str) -> None:
    *deltas, last = await events(request(user(words)))
    assert isinstance(last, Response)
    assert "".join(event.text for event in deltas if isinstance(event, TextDelta)) == plain_text(last.content)
    for call in tool_uses(last.content):
        pieces = [event for event in deltas if isinstance(event, ToolCallDelta) and event.id == call.id]
        assert pieces[0] == ToolCallDelta(call.id, call.name)
        assert json.loads("".join(event.json for event in pieces)) == call.input
    assert last.stop_reason == ("tool_use" if tool_uses(last.content) else "end_turn")


async def test_it_can_be_canceled_between_two_words() -> None:
    waiting = asyncio.Event()

    async def pause(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(events(request(user("help")), DemoProvider(pause=pause)))
    await asyncio.wait_for(waiting.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_same_request_gets_the_same_answer_with_new_ids_in_each_turn(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for words in ("tour", "read missing", "list", "tour"):
        await bench.talk(words)
    ids = [call.id for calls in bench.calls() for call in calls]
    assert len(ids) > 20
    assert len(set(ids)) == len(ids)
    for asked, response in bench.provider.exchanged:
        assert (await answer(asked)).content == response.content


# Tokens ------------------------------------------------------------------------------------------------------


async def test_what_the_requests_share_is_read_from_the_cache_and_the_rest_is_written() -> None:
    provider = DemoProvider(pause=no_pause)
    first = (user("hello " * 100),)
    more = (*first, message("assistant", {"type": "text", "text": "Hello."}, seq=2), user("help", seq=3))
    one = (await events(request(*first, cache_marks=(0,)), provider))[-1].usage
    two = (await events(request(*more, cache_marks=(0, 2)), provider))[-1].usage
    assert (one.input_tokens, one.cache_read_input_tokens) == (0, 0)
    assert one.cache_creation_input_tokens >= 150
    assert two.cache_read_input_tokens == one.prompt_tokens
    assert 0 < two.cache_creation_input_tokens < 40


# Any conversation --------------------------------------------------------------------------------------------


@given(logs())
@settings(max_examples=60, deadline=None)
def test_any_conversation_is_answered_with_new_ids(records: list[Record]) -> None:
    context = folded(records)
    messages = context.messages()
    tools = tuple({"name": name} for name in TOOLS)
    asked = Request("demo", 1000, Preamble.of((), tools), messages)
    response = asyncio.run(answer(asked))
    assert plain_text(response.content).strip()
    body = b"".join(one.canonical for one in messages)
    for call in tool_uses(response.content):
        assert canonical(call.id) not in body
