"""What the endpoint's limits and moods do to a run: bytes, waits, blanks, broken text."""

import asyncio
from pathlib import Path

import pytest

from prunecli.model.events import ToolResult, UserMessage
from prunecli.model.messages import Image, Text, ToolUse
from prunecli.model.requests import MAX_BODY_BYTES
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.tools.tool import ToolContext, ToolOutput
from prunecli.util.errors import BadRequest, ContextOverflow, RateLimited
from tests.agent.running import Bench, Echo
from tests.faults.playing import accept
from tests.scripted import Scripted, ScriptedProvider, calls, fails, says


def scripted(*script: Scripted) -> ScriptedProvider:
    return ScriptedProvider(script)


def picture(megabytes: float) -> Image:
    return Image("image/png", "A" * int(megabytes * 1_000_000))


async def test_images_beyond_the_endpoints_bytes_are_left_out_before_it_refuses() -> None:
    """The oldest first, and for good; every word stays."""
    bench = Bench(scripted(says("I see."), says("Still.")))
    for number in range(10):
        bench.session.emit(UserMessage((Text(f"picture {number}"), picture(4))))
    assert (await bench.run().run()).reason == "finished"
    body = bench.provider.requests[0].body()
    assert len(body) <= MAX_BODY_BYTES
    assert all(f"picture {number}".encode() in body for number in range(10))
    assert body.count(b'"type":"image"') >= 4
    assert body.rindex(b"an image was left out") < body.index(b'"type":"image"')
    await bench.talk("and now?")
    assert bench.provider.requests[1].body().count(b'"type":"image"') == body.count(b'"type":"image"')


async def test_a_request_refused_for_its_bytes_is_sent_again_with_fewer_images() -> None:
    """A gateway with a smaller limit; at most three tries."""
    refused = fails(ContextOverflow("Request exceeds the maximum size"))
    bench = Bench(scripted(refused, says("Now.")))
    bench.session.emit(UserMessage((Text("look"), *[picture(2) for _ in range(5)])))
    bench.session.emit(UserMessage((Text("and here"), picture(2))))
    assert (await bench.run().run()).reason == "finished"
    first, second = (len(request.body()) for request in bench.provider.requests)
    assert second <= first // 2
    assert b"look" in bench.provider.requests[1].body()


async def test_too_many_images_lose_the_oldest_and_the_session_lives() -> None:
    """The hundred and first."""
    refused = fails(BadRequest("messages: too many images and documents: 101 > 100"))
    bench = Bench(scripted(refused, says("Now."), says("Still.")))
    for number in range(101):
        bench.session.emit(UserMessage((Text(f"picture {number}."), Image("image/png", "AAAA"))))
    assert (await bench.run().run()).reason == "finished"
    await bench.talk("more")
    for request in bench.provider.requests[1:]:
        assert request.body().count(b'"type":"image"') == 75
        assert all(f"picture {number}.".encode() in request.body() for number in range(101))


async def test_words_alone_that_are_too_large_end_the_run_with_an_explanation() -> None:
    bench = Bench(scripted(says("never")))
    with pytest.raises(ContextOverflow, match="bytes") as refused:
        await bench.talk("x" * (MAX_BODY_BYTES + 10))
    assert bench.provider.requests == []
    assert "(24.0 MB): /rewind to before it" in refused.value.hint


async def test_esc_ends_a_wait_that_the_endpoint_asked_for() -> None:
    """At once, whatever was asked for."""
    bench = Bench(scripted(fails(RateLimited("slow down", "", 60.0)), says("never")))
    waiting = asyncio.Event()

    async def wait(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    bench.say("go")
    run = bench.run()
    run.sleep = wait
    task = asyncio.ensure_future(run.run())
    await waiting.wait()
    task.cancel()
    assert (await task).reason == "interrupted"
    assert len(bench.provider.requests) == 1


BROKEN = ["", " ", "\n\t", "\ud800", "a\udfffb", "\x00", "\u2028"]


class Says(Echo):
    """Answers with what it was made with."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    async def run(self, given: Echo.Input, context: ToolContext) -> ToolOutput:
        return ToolOutput((Text(self.words),))


@pytest.mark.parametrize("words", BROKEN)
async def test_blank_and_broken_text_of_a_tool_becomes_a_valid_request(words: str) -> None:
    bench = Bench(scripted(calls(ToolUse("t1", "echo", {"words": "x"})), says("ok")))
    bench.tools["echo"] = Says(words)
    await bench.talk("go")
    for request in bench.provider.requests:
        accept(request)
    first, second = bench.provider.requests
    assert len(second.messages) == len(first.messages) + 2, "the call and its result are in it"


async def test_a_blank_result_is_recorded_as_it_is_sent() -> None:
    bench = Bench(scripted(calls(ToolUse("t1", "echo", {"words": "x"})), says("ok")))
    bench.tools["echo"] = Says(" \n")
    await bench.talk("go")
    (result,) = (record.event for record in bench.session.records if isinstance(record.event, ToolResult))
    assert result.content == (Text("(no output)"),), "so its tokens are those of the text that is sent"


@pytest.mark.parametrize("words", BROKEN[3:])
async def test_broken_text_of_the_user_becomes_a_valid_request(tmp_path: Path, words: str) -> None:
    """And the file gives the same request again."""
    bench = Bench(scripted(says("x"), says("ok")), path=tmp_path / "s.jsonl")
    await bench.talk(f"go {words}")
    await bench.talk("more")
    for request in bench.provider.requests:
        accept(request)
    bench.session.close()
    assert verify_session(tmp_path / "s.jsonl", read_log(tmp_path / "s.jsonl")).clean
