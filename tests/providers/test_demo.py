"""The demo model: it says what it is, does what it is told with real tools, and reports what really came back."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from prunecli.agent.assemble import ModelSettings, summary_request
from prunecli.agent.execute import Answer
from prunecli.context.compaction import Options, plan_compaction
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.codec import canonical
from prunecli.model.events import Record, UserMessage
from prunecli.model.messages import Text, plain_text, tool_uses
from prunecli.model.requests import Preamble, Request
from prunecli.providers.demo import MAX_DELTAS, PACE, DemoProvider
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

WHO = "I am prunecli's demo model: a script, not a language model."


# What it says of itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["hello", "fix my bug", "run true", "tour", "x" * 5000])
async def test_the_first_answer_says_that_it_is_a_script(words: str) -> None:
    assert WHO in await words_of(request(user(words)))


async def test_what_it_does_not_understand_it_quotes_and_says_how_to_get_a_real_model() -> None:
    before = (user("run true"), message("assistant", {"type": "text", "text": "Yes."}, seq=2))
    said = await words_of(request(*before, user("make `it` better", seq=3)))
    assert "I did not understand `` make `it` better ``." in said
    assert WHO in said
    assert "`prunecli login`" in said
    assert "`ANTHROPIC_API_KEY`" in said


async def test_later_answers_do_not_repeat_it() -> None:
    before = (user("hello"), message("assistant", {"type": "text", "text": "Hello."}, seq=2))
    assert WHO not in await words_of(request(*before, user("run true", seq=3)))


async def test_help_names_only_what_the_tools_allow() -> None:
    said = await words_of(request(user("help"), tools=("read",)))
    assert "`read README.md`" in said
    assert "search for" not in said
    assert "prune 2000" not in said


async def test_a_missing_tool_is_named_and_nothing_is_called() -> None:
    response = await answer(request(user("read a; search for b"), tools=("read",)))
    assert tool_uses(response.content) == ()
    assert "the tool `grep`, which is not enabled" in plain_text(response.content)


# What it does ------------------------------------------------------------------------------------------------


async def test_what_was_read_is_reported_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n```\nthree\n")
    (tmp_path / "b.txt").write_text("".join(f"line {n}\n" for n in range(30)))
    bench = Bench(tmp_path)
    said = await bench.talk("read a.py and b.txt")
    assert bench.names() == [["read", "read"]]
    assert "`a.py`: 3 lines:\n\n````py\none\n```\nthree\n````" in said
    assert "`b.txt`: 30 lines, the first of them:" in said
    assert "line 7" in said
    assert "line 8" not in said


async def test_the_notes_of_a_tool_are_told_apart_from_the_lines_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = 1\n[section]\n")
    (tmp_path / "b.txt").write_text("1\n2\n3\n4\n")
    said = await Bench(tmp_path).talk("read a.toml; read b.txt lines 2-3")
    assert "`a.toml`: 2 lines:\n\n```toml\nx = 1\n[section]\n```" in said
    assert "`b.txt`: 2 lines:\n\n```txt\n2\n3\n```\n\n[lines 2-3 of 4; continue with offset=4]" in said


async def test_searching_finding_and_listing_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1  # TODO\n")
    (tmp_path / "b.py").write_text("")
    bench = Bench(tmp_path)
    said = await bench.talk("search for TODO; find files *.py; list; search for nowhere_to_be_found")
    assert bench.names() == [["grep", "find", "ls", "grep"]]
    assert "`TODO`: 1 matching line:" in said
    assert "`*.py`: 2 paths:" in said
    assert "`.`: 2 entries:" in said
    assert "`nowhere_to_be_found`: no matches." in said


async def test_a_command_is_reported_with_its_end_and_its_last_lines(tmp_path: Path) -> None:
    said = await Bench(tmp_path).talk("run seq 100; run true; run echo '[1, 2]'; run exit 3")
    assert "`seq 100` ended with exit code 0; it printed 100 lines, the last of them:" in said
    assert "\n100\n" in said
    assert "\n92\n" not in said
    assert "`true` ended with exit code 0 and printed nothing." in said
    assert "```\n[1, 2]\n```" in said
    assert "`exit 3` failed (exit code 3) and printed nothing." in said


async def test_an_edit_reads_first_and_the_file_changes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    bench = Bench(tmp_path)
    said = await bench.talk("edit a.py: x = 1 -> x = 2")
    assert bench.names() == [["read"], ["edit"]]
    assert (tmp_path / "a.py").read_text() == "x = 2\n"
    assert said.startswith("Edited ")


async def test_a_file_is_written_and_not_overwritten_unseen(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("precious\n")
    said = await Bench(tmp_path).talk("write new.txt: hello; write old.txt: gone")
    assert (tmp_path / "new.txt").read_text() == "hello\n"
    assert (tmp_path / "old.txt").read_text() == "precious\n"
    assert "I could not write `old.txt`" in said


async def test_after_a_failure_only_looking_goes_on(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("why\n")
    bench = Bench(tmp_path)
    said = await bench.talk("run false; read log; run touch made; list")
    assert bench.names() == [["bash"], ["read"]]
    assert not (tmp_path / "made").exists()
    assert "why" in said
    assert said.endswith("I stop here. Not done: run `touch made`; list `.`.")


async def test_a_denial_stops_it_and_is_told_in_the_users_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode="ask", answers=[Answer("deny", "too dangerous")])
    said = await bench.talk("run touch made; read a")
    assert bench.names() == [["bash"]]
    assert said == (
        "You did not allow me to run `touch made`. The answer was: too dangerous\n\n"
        "I stop here. Not done: read `a`."
    )


async def test_an_interrupted_call_is_not_made_again() -> None:
    use = {"type": "tool_use", "id": "demo_1_0_0", "name": "bash", "input": {"command": "make"}}
    text = {"type": "text", "text": "[interrupted: the call did not finish; it may have partly run]"}
    result = {"type": "tool_result", "tool_use_id": "demo_1_0_0", "is_error": True, "content": [text]}
    response = await answer(
        request(user("run make; read a"), message("assistant", use, seq=2), message("user", result, seq=3))
    )
    assert tool_uses(response.content) == ()
    assert "The call to run `make` was interrupted; it may have partly run." in plain_text(response.content)


# Pruning -----------------------------------------------------------------------------------------------------


async def test_a_prune_is_reported_as_it_was_applied(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word " * 500)
    bench = Bench(tmp_path)
    await bench.talk("read a")
    said = await bench.talk("prune 100 tokens")
    (prune,) = bench.prunes()
    assert prune.tokens_removed > 100
    assert said.startswith("Removed 2 exchanges (entries ")
    (result,) = bench.results("prun")
    promised = re.search(r"~[\d,]+ tokens", plain_text(result.content))
    assert promised
    assert f"{promised[0]}." in said
    assert "`/undo` brings it back" in said


async def test_nothing_to_prune_is_said_plainly(tmp_path: Path) -> None:
    said = await Bench(tmp_path).talk("prune 100 tokens")
    assert said == "Nothing to prune: no finished exchange can be removed."


async def test_forgetting_leaves_a_memo_of_what_was_done(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word " * 500)
    bench = Bench(tmp_path)
    await bench.talk("read a; run false")
    await bench.talk("forget everything")
    (prune,) = bench.prunes()
    assert prune.memo == "Done before: read `a`; run `false` (failed)"


async def test_a_prune_in_the_middle_does_not_start_the_steps_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word " * 500)
    (tmp_path / "b").write_text("short\n")
    bench = Bench(tmp_path)
    said = await bench.talk("read a; prune 100; read b; prune 1; run true")
    assert bench.names() == [["read"], ["prun"], ["read"], ["prun"], ["bash"]]
    assert "no longer in my context: they were pruned" in said
    assert "`true` ended" in said


# What it takes for words -------------------------------------------------------------------------------------


async def test_a_memo_is_not_taken_for_words_of_the_user() -> None:
    memo = '<pruned-memo by="assistant" entries="2-3">run touch made</pruned-memo>'
    text = {"type": "text", "text": "hello"}
    asked = request(message("user", text, {"type": "text", "text": memo}))
    assert tool_uses((await answer(asked)).content) == ()


async def test_the_output_of_a_command_is_not_taken_for_words() -> None:
    response = await answer(request(user("!cat notes", "run touch made")))
    assert tool_uses(response.content) == ()
    assert "I see what `!cat notes` printed (1 line)" in plain_text(response.content)


async def test_words_after_the_output_of_a_command_are_heard() -> None:
    blocks = [{"type": "text", "text": text} for text in ("!ls", "a.py", "read a.py")]
    both = message("user", *blocks)
    both = type(both)(both.role, both.blocks, (1, 1, 2), both.canonical)
    assert [call.name for call in tool_uses((await answer(request(both))).content)] == ["read"]


async def test_steering_replaces_what_was_asked_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode="ask", answers=[Answer("once")] * 9)
    original = bench._ask

    async def ask(asked):
        bench.mailbox.steering.append(UserMessage((Text("list"),), "steering"))
        return await original(asked)

    bench.executor.gatekeeper.asker = ask
    await bench.talk("run sort -o x; run sort -o y")
    assert bench.names() == [["bash"], ["ls"]]


async def test_calls_of_another_model_are_not_taken_for_its_own() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"wrong": 1}}
    text = {"type": "text", "text": "done"}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text]}
    messages = (message("assistant", use, seq=2), message("user", result, seq=3))
    again = await answer(request(user("run true"), *messages))
    assert [call.input for call in tool_uses(again.content)] == [{"command": "true"}]
    forgetting = (*messages, message("assistant", text, seq=4), user("forget that", seq=5))
    (call,) = tool_uses((await answer(request(user("hello"), *forgetting))).content)
    assert call.input["memo"] == "Nothing was done that needs remembering."


async def test_own_calls_with_a_damaged_input_break_nothing() -> None:
    names = [*TOOLS, "unknown"]
    uses = [
        {"type": "tool_use", "id": f"demo_1_0_{n}", "name": name, "input": {}} for n, name in enumerate(names)
    ]
    text = {"type": "text", "text": "done"}
    results = [
        {"type": "tool_result", "tool_use_id": use["id"], "content": [text], "is_error": failed}
        for use in uses
        for failed in [False]
    ]
    asked = request(user("run true"), message("assistant", *uses, seq=2), message("user", *results, seq=3))
    assert "done" in await words_of(asked)
    for result in results:
        result["is_error"] = True
    asked = request(user("run true"), message("assistant", *uses, seq=2), message("user", *results, seq=3))
    assert "I could not run `?`: done" in await words_of(asked)


async def test_a_compaction_gets_the_calls_that_were_made(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word " * 500)
    bench = Bench(tmp_path)
    await bench.talk("read a; run false")
    for _ in range(7):
        await bench.talk("list")
    plan = plan_compaction(bench.session.context, Options(), 200_000)
    assert plan is not None
    asked = summary_request(bench.session.context, ModelSettings("demo", 1000), plan)
    said = await words_of(asked)
    assert "- read `a`\n- run `false` (failed)\n- list `.`" in said
    assert tool_uses((await answer(asked)).content) == ()


async def test_after_a_compaction_the_last_words_in_the_summary_are_still_the_users() -> None:
    summary = (
        "[Earlier messages were replaced by this summary.]\n<user-words>\nhello\n\nread a; read b; run true\n"
        "</user-words>\n<summary>\n- read\n</summary>"
    )
    use = {"type": "tool_use", "id": "demo_1_0_0", "name": "read", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "demo_1_0_0", "content": [{"type": "text", "text": "x"}]}
    asked = request(user(summary), message("assistant", use, seq=2), message("user", result, seq=3))
    assert [call.input for call in tool_uses((await answer(asked)).content)] == [{"command": "true"}]


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


@pytest.mark.parametrize("words", ["tour", "help", "read a and b", "write a: " + "long words " * 300])
async def test_the_deltas_add_up_to_the_response(words: str) -> None:
    *deltas, last = await events(request(user(words)))
    assert isinstance(last, Response)
    assert "".join(event.text for event in deltas if isinstance(event, TextDelta)) == plain_text(last.content)
    for call in tool_uses(last.content):
        pieces = [event for event in deltas if isinstance(event, ToolCallDelta) and event.id == call.id]
        assert pieces[0] == ToolCallDelta(call.id, call.name)
        assert json.loads("".join(event.json for event in pieces)) == call.input
    assert last.stop_reason == ("tool_use" if tool_uses(last.content) else "end_turn")


async def test_a_long_answer_comes_in_no_more_deltas_than_a_person_waits_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{'w ' * 70}{n}\n" for n in range(9)))
    bench = Bench(tmp_path)
    await bench.talk("read a")
    asked, _ = bench.provider.exchanged[-1]
    deltas = [event for event in await events(asked) if isinstance(event, TextDelta)]
    assert len(deltas) <= MAX_DELTAS
    assert len("".join(event.text for event in deltas).split()) > MAX_DELTAS


async def test_it_can_be_cancelled_between_two_words() -> None:
    waiting = asyncio.Event()

    async def pause(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(events(request(user("help")), DemoProvider(pause=pause)))
    await asyncio.wait_for(waiting.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_same_request_gets_the_same_answer_from_a_new_process(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.talk("tour")
    await bench.talk("read missing; forget that")
    assert len(bench.provider.exchanged) > 8
    for asked, response in bench.provider.exchanged:
        assert (await answer(asked)).content == response.content


async def test_tool_ids_are_unique_over_turns_and_prunes(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for words in ("tour", "read a; prune 1; read b", "forget everything", "read a", "tour"):
        await bench.talk(words)
    ids = [call.id for calls in bench.calls() for call in calls]
    assert len(ids) > 20
    assert len(set(ids)) == len(ids)


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


async def test_a_changed_message_breaks_the_cache_there() -> None:
    provider = DemoProvider(pause=no_pause)
    one = (await events(request(user("hello " * 100), cache_marks=(0,)), provider))[-1].usage
    two = (await events(request(user("other " * 100), cache_marks=(0,)), provider))[-1].usage
    assert 0 < two.cache_read_input_tokens == one.prompt_tokens - two.cache_creation_input_tokens


async def test_what_is_not_marked_is_not_cached() -> None:
    provider = DemoProvider(pause=no_pause)
    first = (await events(request(user("hello " * 100)), provider))[-1].usage
    again = (await events(request(user("hello " * 100)), provider))[-1].usage
    assert first.input_tokens >= 150
    assert again.input_tokens == first.input_tokens
    assert again.cache_read_input_tokens == first.cache_creation_input_tokens


async def test_a_picture_costs_what_a_picture_costs() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000},
    }
    asked = request(message("user", image, {"type": "text", "text": "help"}), cache_marks=(0,))
    assert 1_600 <= (await answer(asked)).usage.prompt_tokens < 10_000


async def test_it_offers_itself_and_closes_twice() -> None:
    provider = DemoProvider()
    assert await provider.models() == (("demo", 200_000),)
    await provider.close()
    await provider.close()


# Any conversation --------------------------------------------------------------------------------------------


@given(logs())
@settings(max_examples=60, deadline=None)
def test_any_conversation_is_answered_with_new_ids(records: list[Record]) -> None:
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    messages = context.messages()
    tools = tuple({"name": name} for name in TOOLS)
    asked = Request("demo", 1000, Preamble.of((), tools), messages)
    response = asyncio.run(answer(asked))
    assert plain_text(response.content).strip()
    body = b"".join(one.canonical for one in messages)
    for call in tool_uses(response.content):
        assert canonical(call.id) not in body


def test_importing_it_imports_no_third_party() -> None:
    code = (
        "import sys; import prunecli.providers.demo; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(Path.cwd())!r}); {code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert set(done.stdout.split()) <= {"__main__", "prunecli"}
