"""The loop: what it says to the model, what it records, and what is left after every kind of end."""

import asyncio
from dataclasses import replace

import pytest

from prunecli.agent.asking import Answer
from prunecli.agent.decide import MAX_CYCLE, Limits
from prunecli.agent.policy import MAX_REPEATS, Policy
from prunecli.context.render import INTERRUPTED
from prunecli.context.strategies import importance, pi
from prunecli.context.strategy import Chosen, FunctionFailed
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    RequestSent,
    RunEnded,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import INVALID_INPUT, Image, Opaque, Text, Thinking, ToolUse, Usage, plain_text
from prunecli.model.signals import Notice, RetryScheduled
from prunecli.tools.recall import Recall
from prunecli.util.errors import (
    BadRequest,
    ConnectionLost,
    ContextOverflow,
    InvalidRequest,
    Overloaded,
    RateLimited,
    SignatureRejected,
    Unauthorized,
)
from tests.agent.running import Bench
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says


def echo(id_: str, words: str, times: int = 1, name: str = "echo") -> ToolUse:
    return ToolUse(id_, name, {"words": words, "times": times})


def scripted(*script: Scripted) -> ScriptedProvider:
    return ScriptedProvider(script)


def kinds(bench: Bench) -> list[str]:
    return [type(record.event).__name__ for record in bench.session.records]


def results(bench: Bench) -> list[ToolResult]:
    return [r.event for r in bench.session.records if isinstance(r.event, ToolResult)]


async def test_a_prompt_is_answered_and_recorded() -> None:
    bench = Bench(scripted(says("Hello.")))
    done = await bench.talk("hi")
    assert done.reason == "finished"
    assert kinds(bench) == ["SessionStarted", "UserMessage", "RequestSent", "AssistantMessage", "RunEnded"]
    assert bench.texts() == ["hi", "Hello."]


async def test_a_call_is_run_and_its_result_is_sent() -> None:
    provider = scripted(calls(echo("t1", "one")), says("Done."))
    bench = Bench(provider)
    await bench.talk("go")
    assert results(bench)[0].content == (Text("one"),)
    assert b'"tool_use_id":"t1"' in provider.requests[1].messages[-1].canonical


async def test_a_start_is_recorded_before_its_call_runs() -> None:
    bench = Bench(scripted(calls(echo("t1", "one", name="change")), says("Done.")))
    await bench.talk("go")
    assert kinds(bench).index("ToolStarted") < kinds(bench).index("ToolResult")


async def test_calls_that_change_nothing_run_beside_each_other_and_are_recorded_in_source_order() -> None:
    bench = Bench(scripted(calls(echo("t1", "wait"), echo("t2", "two")), says("Done.")))
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    while bench.echo.ran != ["wait", "two"]:
        await asyncio.sleep(0)
    assert results(bench) == []
    bench.echo.gate.set()
    await running
    assert [result.tool_use_id for result in results(bench)] == ["t1", "t2"]


async def test_calls_that_change_something_run_alone() -> None:
    bench = Bench(scripted(calls(echo("t1", "wait", name="change"), echo("t2", "two")), says("Done.")))
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    await bench.change.started.wait()
    assert bench.echo.ran == []
    bench.change.gate.set()
    await running
    assert bench.echo.ran == ["two"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolUse("t1", "nothing", {}), "There is no tool"),
        (ToolUse("t1", "echo", {INVALID_INPUT: '{"words":"rm'}), "not a complete JSON object"),
        (ToolUse("t1", "echo", {}), "words is missing"),
        (ToolUse("t1", "echo", {"words": 3}), "words must be a string"),
        (ToolUse("t1", "echo", {"words": None}), "words must be a string"),
        (ToolUse("t1", "echo", {"words": "boom"}), "it went boom"),
        (ToolUse("t1", "echo", {"words": "defect"}), "The tool failed: RuntimeError"),
    ],
)
async def test_a_bad_call_becomes_an_error_result(call: ToolUse, said: str) -> None:
    bench = Bench(scripted(calls(call), says("Done.")))
    done = await bench.talk("go")
    assert done.reason == "finished"
    result = results(bench)[0]
    assert result.is_error
    assert said in bench.texts()[2]


async def test_an_input_that_was_cut_is_never_executed() -> None:
    bench = Bench(scripted(calls(ToolUse("t1", "echo", {INVALID_INPUT: "{", "words": "x"})), says("Done.")))
    await bench.talk("go")
    assert bench.echo.ran == []


async def test_a_denied_call_says_so_to_the_model() -> None:
    bench = Bench(
        scripted(calls(echo("t1", "x", name="change")), says("Done.")),
        answers=[Answer("deny", "not today")],
        mode="ask",
    )
    await bench.talk("go")
    assert bench.change.ran == []
    assert "not today" in bench.texts()[2]


async def test_a_steering_message_goes_in_after_the_current_calls() -> None:
    bench = Bench(scripted(calls(echo("t1", "wait", name="change")), says("Done.")))
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    await bench.change.started.wait()
    bench.mailbox.steering.append(UserMessage((Text("and mind the gap"),), "steering"))
    bench.change.gate.set()
    await running
    last = bench.provider.requests[1].messages[-1]
    assert [b'"tool_result"' in block for block in last.blocks] == [True, False]
    assert b"mind the gap" in last.blocks[1]
    assert bench.mailbox.steering == []


async def test_a_follow_up_waits_until_the_agent_would_be_done() -> None:
    bench = Bench(scripted(calls(echo("t1", "x")), says("First."), says("Second.")))
    bench.mailbox.follow_ups.append(UserMessage((Text("then this"),), "follow_up"))
    await bench.talk("go")
    assert bench.texts()[-3:] == ["First.", "then this", "Second."]


async def test_esc_in_mid_stream_keeps_the_partial_text_marked() -> None:
    gate = asyncio.Event()
    provider = scripted(Scripted((Text("word " * 20),), after=3, until=gate), says("Again."))
    bench = Bench(provider)
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    await provider.paused.wait()
    running.cancel()
    done = await running
    assert done.reason == "interrupted"
    last = [r.event for r in bench.session.records if isinstance(r.event, AssistantMessage)][-1]
    assert last.stop_reason == "interrupted"
    assert "word" in bench.texts()[-1]
    assert (await bench.talk("go on")).reason == "finished"


async def test_esc_in_a_tool_answers_every_open_call() -> None:
    script = calls(echo("t1", "one"), echo("t2", "wait", name="change"), echo("t3", "three"))
    bench = Bench(scripted(script, says("Again.")))
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    await bench.change.started.wait()
    running.cancel()
    assert (await running).reason == "interrupted"
    assert [result.is_error for result in results(bench)] == [False, True, True]
    assert (await bench.talk("go on")).reason == "finished"
    assert bench.change.ran == ["wait"]


async def test_esc_keeps_what_parallel_calls_had_finished() -> None:
    bench = Bench(scripted(calls(echo("t1", "wait"), echo("t2", "two")), says("Again.")))
    bench.say("go")
    running = asyncio.ensure_future(bench.run().run())
    while bench.echo.ran != ["wait", "two"]:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    await running
    by_id = {result.tool_use_id: result.is_error for result in results(bench)}
    assert by_id == {"t1": True, "t2": False}
    assert (await bench.talk("go on")).reason == "finished"


@pytest.mark.parametrize("error", [Overloaded("busy"), RateLimited("slow", "", 3.0), ConnectionLost("gone")])
async def test_what_passes_by_itself_is_tried_again_with_a_countdown(error: Exception) -> None:
    bench = Bench(scripted(fails(error), fails(error), says("Now.")))
    assert (await bench.talk("go")).reason == "finished"
    waits = [told for told in bench.told if isinstance(told, RetryScheduled)]
    assert [wait.attempt for wait in waits] == [1, 2]
    assert bench.slept == [wait.seconds for wait in waits]
    assert kinds(bench).count("RequestSent") == 1


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (Unauthorized("no", "/login"), "\n/login"),
        (BadRequest("bad"), ""),
        (RateLimited("tomorrow", "", 86_400.0), "\ntry again in 24h00m, as the endpoint asks"),
    ],
)
async def test_what_will_not_pass_is_raised_after_one_request(error: Exception, hint: str) -> None:
    bench = Bench(scripted(fails(error)))
    with pytest.raises(type(error)):
        await bench.talk("go")
    assert len(bench.provider.requests) == 1
    assert bench.session.records[-1].event == RunEnded("error", str(error) + hint), "the log says why"


async def test_a_length_that_nothing_can_reduce_ends_the_run() -> None:
    bench = Bench(scripted(fails(ContextOverflow("prompt is too long"))))
    with pytest.raises(ContextOverflow):
        await bench.talk("go")
    assert len(bench.provider.requests) == 1


async def test_a_refused_signature_strips_earlier_thinking_once_and_for_all() -> None:
    thought = Scripted((Thinking("hm", "sig"), Text("First.")))
    bench = Bench(scripted(thought, fails(SignatureRejected("signature")), says("Second."), says("Third.")))
    await bench.talk("one")
    await bench.talk("two")
    await bench.talk("three")
    assert b"thinking" not in bench.provider.requests[-1].body()
    assert len(bench.provider.requests) == 4


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("end_turn", "finished"),
        ("refusal", "limit"),
        ("max_tokens", "finished"),
        ("something_new", "finished"),
    ],
)
async def test_every_stop_reason_ends_the_run_in_its_way(stop_reason: str, reason: str) -> None:
    bench = Bench(scripted(Scripted((Text("so"),), stop_reason)))
    assert (await bench.talk("go")).reason == reason


async def test_a_refusal_is_shown_and_not_replayed() -> None:
    provider = scripted(Scripted((Text("I will not"),), "refusal"), says("Fine."))
    bench = Bench(provider)
    await bench.talk("bad")
    await bench.talk("good")
    assert b"I will not" not in provider.requests[1].body()


async def test_turns_are_limited() -> None:
    bench = Bench(scripted(*[calls(echo(f"t{n}", f"{n}")) for n in range(3)]), limits=Limits(max_turns=3))
    done = await bench.talk("go")
    assert done.reason == "limit"
    assert "3 turns" in done.note


async def test_after_such_a_stop_the_users_word_goes_to_the_model() -> None:
    """It stops to ask; with the answer it goes on, as far as before."""
    bench = Bench(scripted(*[calls(echo(f"t{n}", "same")) for n in range(20)]))
    for times in (1, 2, 3):
        assert (await bench.talk("go on")).reason == "limit"
        assert len(bench.provider.requests) == 5 * times


async def test_a_call_that_the_user_asks_for_again_and_again_is_no_loop() -> None:
    script = [one for n in range(8) for one in (calls(echo(f"t{n}", "same")), says("There it is."))]
    bench = Bench(scripted(*script))
    assert [(await bench.talk("run it again")).reason for _ in range(8)] == ["finished"] * 8


@pytest.mark.parametrize(("each", "said"), [(0.1, "$0.30"), (0.001, "$0.0030"), (1_000.0, "$3,000.00")])
async def test_a_run_stops_when_it_has_cost_what_it_may(each: float, said: str) -> None:
    """Answers and summaries count."""
    bench = Bench(
        scripted(*[calls(echo(f"t{n}", f"{n}")) for n in range(9)]),
        limits=Limits(max_cost=2.5 * each),
        cost=lambda _: each,
    )
    done = await bench.talk("go")
    assert (done.reason, done.note) == ("limit", f"stopped at {said} (--max-cost)")
    assert len(bench.provider.requests) == 3


async def test_a_prun_is_applied_before_the_next_request_exactly_as_it_was_promised() -> None:
    provider = scripted(
        calls(echo("t1", "long ", 2_000)),
        calls(ToolUse("p1", "prun_with_memo", {"tokens": 100, "memo": "it was <long>"})),
        says("Done."),
    )
    bench = Bench(provider)
    await bench.talk("go")
    prune = next(r.event for r in bench.session.records if isinstance(r.event, PrunApplied))
    assert prune.source == "model"
    assert prune.memo == "it was <long>"
    assert "Will remove 1 exchange" in bench.texts()[4]
    body = provider.requests[2].body()
    assert b"long long" not in body
    assert b'<pruned-memo by=\\"assistant\\" entries=\\"3-5\\">it was &lt;long&gt;</pruned-memo>' in body


async def test_several_pruns_of_one_message_are_applied_in_their_order() -> None:
    provider = scripted(
        calls(echo("t1", "aa ", 900)),
        calls(echo("t2", "bb ", 900)),
        calls(ToolUse("p1", "prun", {"tokens": 10}), ToolUse("p2", "prun", {"tokens": 10})),
        says("Done."),
    )
    bench = Bench(provider)
    await bench.talk("go")
    prunes = [r.event for r in bench.session.records if isinstance(r.event, PrunApplied)]
    assert [len(prune.edits) for prune in prunes] == [1, 1]
    assert [prune.edits[0].seq for prune in prunes] == [7, 3]


async def test_nothing_to_prune_is_no_error() -> None:
    bench = Bench(scripted(calls(ToolUse("p1", "prun", {"tokens": 10})), says("Done.")))
    await bench.talk("go")
    assert not results(bench)[0].is_error
    assert bench.texts()[2].startswith("Nothing to prune")


async def test_a_strategy_prunes_between_turns_and_its_edits_stay() -> None:
    options = pi.Options(prune_minimum=100, prune_protect=100, protected_turns=0, prunable_tools=())
    policy = Policy((Chosen("pi", pi, options),))
    script = [calls(echo(f"t{n}", f"{n} ", 500)) for n in range(4)]
    provider = scripted(*script, says("Done."))
    bench = Bench(provider, policy=policy)
    await bench.talk("go")
    prunes = [r.event for r in bench.session.records if isinstance(r.event, PrunApplied)]
    assert prunes
    assert {prune.strategy for prune in prunes} == {"pi"}
    assert b"[output pruned" in provider.requests[-1].body()


async def test_a_context_that_outgrows_its_window_is_pruned_before_the_endpoint_refuses() -> None:
    script = [replace(calls(echo(f"t{n}", f"{n} ", 4_000)), usage=Usage()) for n in range(12)]
    bench = Bench(scripted(*script, says("Done.")), policy=Policy(window=20_000, max_tokens=1_000))
    assert (await bench.talk("go")).reason == "finished"
    sent = [r.event for r in bench.session.records if isinstance(r.event, RequestSent)]
    assert max(request.tokens for request in sent) < 20_000
    assert any(isinstance(r.event, PrunApplied) for r in bench.session.records)


async def test_a_refused_image_is_left_out_for_good_and_the_words_stay() -> None:
    refusal = BadRequest("messages.0.content.1: image exceeds the limit of 5 MB")
    bench = Bench(scripted(fails(refusal), says("I see no picture."), says("Still none.")))
    bench.session.emit(UserMessage((Text("look at this"), Image("image/png", "AAAA"))))
    assert (await bench.run().run()).reason == "finished"
    await bench.talk("and now?")
    assert len(bench.provider.requests) == 3
    for request in bench.provider.requests[1:]:
        assert b"AAAA" not in request.body()
        assert b"look at this" in request.body()


async def test_a_refusal_that_names_no_image_is_raised() -> None:
    bench = Bench(scripted(fails(BadRequest("messages.0.content.0: something else"))))
    with pytest.raises(BadRequest):
        await bench.talk("go")
    assert len(bench.provider.requests) == 1


async def test_a_recalled_original_is_an_ordinary_result() -> None:
    provider = scripted(
        calls(echo("t1", "long ", 2_000)),
        calls(ToolUse("p1", "prun", {"tokens": 100})),
        calls(ToolUse("r1", "recall", {"entry": 5})),
        says("Done."),
    )
    bench = Bench(provider)
    bench.tools["recall"] = Recall()
    await bench.talk("go")
    assert results(bench)[-1].content == (Text("long " * 2_000),)
    assert b"long long" in provider.requests[3].body()
    assert b"long long" not in provider.requests[2].body()


async def test_a_strategy_that_fails_is_said_once_in_a_run_and_stops_nothing() -> None:
    """A function that raises means no proposal, reported once."""

    def broken(*_: object) -> float:
        raise FunctionFailed("pruning.importance.function (mine:score): KeyError: 'x'")

    options = importance.Options(function="mine:score")
    one = Chosen("importance", importance, options, {"function": broken}, foreign=True)
    bench = Bench(
        scripted(calls(echo("t1", "a")), calls(echo("t2", "b")), says("Done.")), policy=Policy((one,))
    )
    assert (await bench.talk("go")).reason == "finished"
    said = [told.text for told in bench.told if isinstance(told, Notice)]
    assert len(said) == 1
    assert "mine:score" in said[0]


async def test_esc_keeps_what_a_running_call_had_printed_for_the_model() -> None:
    bench = Bench(scripted(calls(echo("t1", "wait", name="change")), says("I see.")))
    task = asyncio.ensure_future(bench.talk("go"))
    await bench.change.started.wait()
    await asyncio.sleep(0)
    task.cancel()
    assert (await task).reason == "interrupted"
    (result,) = results(bench)
    assert plain_text(result.content) == f"half\n{INTERRUPTED}"
    assert result.details == {"interrupted": True}
    await bench.talk("what did it print?")
    assert b"half" in bench.provider.requests[1].body()


async def test_a_paused_turn_is_sent_back_unchanged_and_goes_on() -> None:
    paused = Scripted((Text("I look it up. "),), "pause_turn")
    bench = Bench(scripted(paused, says("Found it."), says("Bye.")))
    assert (await bench.talk("search")).reason == "finished"
    last = bench.provider.requests[1].messages[-1]
    assert (last.role, last.blocks) == ("assistant", (b'{"text":"I look it up. ","type":"text"}',))
    await bench.talk("thanks")
    roles = [message.role for message in bench.provider.requests[2].messages]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize("beside", [1, 2])
@pytest.mark.parametrize("length", range(1, 6))
async def test_a_cycle_of_calls_with_the_same_results_is_stopped(length: int, beside: int) -> None:
    def step(number: int) -> Scripted:
        words = str(number % length)
        return calls(*(ToolUse(f"t{number}-{at}", "echo", {"words": words}) for at in range(beside)))

    bench = Bench(ScriptedProvider([*map(step, range(60)), says("Done.")]))
    done = await bench.talk("go")
    is_seen = length <= MAX_CYCLE
    assert done.reason == ("limit" if is_seen else "finished")
    assert ("with the same result" in done.note) == is_seen
    assert len(bench.provider.requests) == (MAX_REPEATS * length if is_seen else 61)


async def test_a_turn_that_is_always_paused_ends() -> None:
    bench = Bench(scripted(*[Scripted((Text("hm"),), "pause_turn")] * 30))
    done = await bench.talk("search")
    assert (done.reason, len(bench.provider.requests)) == ("limit", 10)
    assert "10 times in a row" in done.note
    assert (await bench.run().run()).reason == "limit", "Enter goes on with it, for as long again"
    assert len(bench.provider.requests) == 20


async def test_a_request_that_is_not_valid_ends_the_run_like_one_that_the_endpoint_refused() -> None:
    bench = Bench(scripted(says("never")))
    bench.session.emit(UserMessage((Text(" "),)))
    with pytest.raises(InvalidRequest, match="no messages") as caught:
        await bench.run().run()
    assert "/rewind" in caught.value.hint
    assert kinds(bench)[-1] == "RunEnded"
    assert bench.provider.requests == []


async def test_an_entry_that_makes_a_request_invalid_can_be_left_out() -> None:
    bench = Bench(scripted(says("x"), says("never")))
    await bench.talk("go")
    bench.session.emit(AssistantMessage((Opaque({"type": "text", "text": " "}), Text("words")), "m"))
    seq = bench.session.records[-1].seq
    bench.say("more")
    with pytest.raises(BadRequest) as caught:
        await bench.run().run()
    assert caught.value.hint == f"/doctor {seq} to leave that content out"
