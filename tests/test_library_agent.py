"""The agent of the library: events, permissions, steering, stop and resume, and the four example programs."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest

from prunecli.library import (
    Agent,
    AgentEvent,
    Answer,
    Asked,
    Figures,
    Finished,
    Message,
    Notice,
    Pruned,
    StreamDiscarded,
    TextDelta,
    ThinkingDelta,
    ToolContext,
    ToolOutput,
    ToolResult,
    ToolUse,
    Touches,
    text_output,
)
from prunecli.model.events import RunEnded
from prunecli.session.log import read_log
from prunecli.session.verify import verify_session
from prunecli.util.errors import ConfigError, PrunecliError, SessionNotFound, Unauthorized, UsageError
from tests.e2e.bound import OPUS, project, step, turn
from tests.endpoint import (
    Call,
    Close,
    Endpoint,
    HttpError,
    Reply,
    Stall,
    Thinking,
    serve,
)
from tests.examples import plain_loop
from tests.test_library import PATH, environ

DONE = Reply([Thinking("That is all."), "Done."])
WRITE = Reply([Thinking("x"), Call("write", {"path": "new.txt", "content": "x"})])
EXAMPLES = Path(__file__).parent / "examples"


def agent(tmp_path: Path, endpoint: Endpoint, **more: Any) -> Agent:
    """An agent on the endpoint in a project."""
    given = {"cwd": project(tmp_path / "work"), "trust": True, "model__name": OPUS, "model__thinking": 2000}
    return Agent(environ=environ(tmp_path, endpoint.base_url), **(given | more))


async def all_of(events: AsyncIterator[AgentEvent]) -> list[AgentEvent]:
    return [event async for event in events]


def verified(path: Path | None) -> Any:
    """The log of a session, which proves its requests."""
    assert path is not None
    log = read_log(path)
    assert verify_session(path, log).clean
    return log


async def test_a_run_yields_its_events_and_ends_with_finished(tmp_path: Path) -> None:
    async with Endpoint([step(0), DONE]) as endpoint, agent(tmp_path, endpoint) as running:
        events = await all_of(running.run("look"))
        assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "Step 0.Done."
        assert [type(one) for one in events if not isinstance(one, TextDelta | ThinkingDelta | Notice)] == [
            Message,
            ToolUse,
            Figures,
            ToolResult,
            Message,
            Figures,
            Finished,
        ]
        assert events[-1] == Finished("finished", "Done.")
        figures = [one for one in events if isinstance(one, Figures)][-1]
        assert 0 < figures.context_tokens < figures.window
        assert (figures.requests, figures.cost_usd > 0) == (2, True)
        assert running.text == "Done."
        assert endpoint.rejected == []
    verified(running.path)


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        (True, True),
        (False, False),
        (Answer("once"), True),
        (Answer("deny", "not now"), False),
        ("yes", False),
    ],
)
@pytest.mark.parametrize("asynchronous", [True, False])
async def test_the_callback_decides_what_the_mode_leaves_open(
    tmp_path: Path, answer: Any, made: bool, asynchronous: bool
) -> None:
    asked: list[Asked] = []

    def permit(one: Asked) -> Any:
        asked.append(one)
        return answer

    async def permit_later(one: Asked) -> Any:
        return permit(one)

    permissions = permit_later if asynchronous else permit
    async with (
        Endpoint([WRITE, DONE]) as endpoint,
        agent(tmp_path, endpoint, permissions=permissions) as running,
    ):
        results = [one for one in await all_of(running.run("go")) if isinstance(one, ToolResult)]
        assert [one.call.name for one in asked] == ["write"]
        assert results[0].is_error != made
        assert (tmp_path / "work" / "new.txt").exists() == made


async def test_without_a_callback_such_calls_are_denied(tmp_path: Path) -> None:
    async with Endpoint([WRITE, DONE]) as endpoint, agent(tmp_path, endpoint) as running:
        await all_of(running.run("go"))
        assert not (tmp_path / "work" / "new.txt").exists()


async def test_a_callback_that_fails_denies_and_ends_the_run_with_its_error(tmp_path: Path) -> None:
    def permissions(_: Asked) -> bool:
        raise LookupError("no such list")

    async with Endpoint([WRITE, DONE]) as endpoint:
        async with agent(tmp_path, endpoint, permissions=permissions) as running:
            with pytest.raises(LookupError, match="no such list"):
                await all_of(running.run("go"))
            assert not (tmp_path / "work" / "new.txt").exists()
        assert len(endpoint.requests) == 1
    assert verified(running.path).records[-1].event == RunEnded("interrupted")


async def test_steering_reaches_the_running_agent(tmp_path: Path) -> None:
    async with Endpoint([step(0), DONE]) as endpoint, agent(tmp_path, endpoint) as running:
        with pytest.raises(UsageError, match="not running"):
            running.steer("too early")
        async for event in running.run("look"):
            if isinstance(event, ToolUse):
                running.steer("be brief")
                with pytest.raises(UsageError, match="blank"):
                    running.steer(" ")
                with pytest.raises(UsageError, match="running"):
                    await anext(running.run("another"))
        assert b"be brief" in endpoint.requests[-1].body
        assert endpoint.rejected == []


LONG = Reply([Thinking("x"), "A long answer. " * 40], faults=Stall(14))


@pytest.mark.parametrize("way", ["stop", "break", "cancel", "leave"])
async def test_however_a_run_is_ended_the_log_is_complete(tmp_path: Path, way: str) -> None:
    events: list[AgentEvent] = []

    async def run(running: Agent) -> None:
        async for event in running.run("talk"):
            events.append(event)
            if isinstance(event, TextDelta) and "answer" in event.text:
                if way == "stop":
                    running.stop()
                    running.stop()
                elif way == "cancel":
                    asyncio.ensure_future(asyncio.sleep(0)).add_done_callback(lambda _: task.cancel())
                elif way == "break":
                    break
                else:
                    raise KeyError("the program's own error")

    async with Endpoint([LONG, DONE]) as endpoint:
        running = agent(tmp_path, endpoint)

        async def whole() -> None:
            async with running:
                await run(running)

        task = asyncio.ensure_future(whole())
        await asyncio.wait({task})
        assert task.cancelled() == (way == "cancel")
        if way == "leave":
            assert isinstance(task.exception(), KeyError)
        if way == "stop":
            assert isinstance(events[-1], Finished)
            assert events[-1].reason == "interrupted"
        assert verified(running.path).records[-1].event == RunEnded("interrupted")


async def test_a_session_goes_on_by_its_id_and_an_interrupted_one_without_a_prompt(tmp_path: Path) -> None:
    async with Endpoint([*turn(0), HttpError(400), DONE, *turn(1)]) as endpoint:
        async with agent(tmp_path, endpoint) as first:
            await all_of(first.run("one"))
            with pytest.raises(PrunecliError):
                await all_of(first.run("two"))
        async with agent(tmp_path, endpoint, session=first.session_id) as second:
            events = await all_of(second.run())
            assert events[-1] == Finished("finished", "Done.")
            (again,) = [one for one in await all_of(second.run()) if isinstance(one, Finished)]
            assert "nothing to do" in again.note
            assert (await all_of(second.run("three")))[-1] == Finished("finished", "Done.")
        assert second.session_id == first.session_id
    verified(second.path)
    with pytest.raises(SessionNotFound):
        async with Agent.resume("nothing-like-it", environ=environ(tmp_path, "http://127.0.0.1:9")):
            pass


@dataclass(frozen=True)
class LookupInput:
    word: str


class Glossary:
    """A tool of a program."""

    name: ClassVar[str] = "glossary"
    description: ClassVar[str] = "Look a word up in the company's glossary."
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = LookupInput

    def summary(self, given: Mapping[str, Any]) -> str:
        return str(given.get("word"))

    def touches(self, _: LookupInput) -> Touches:
        return Touches()

    async def run(self, given: LookupInput, context: ToolContext) -> ToolOutput:
        return text_output(f"{given.word} means prune in {context.cwd.name}")


async def test_a_tool_of_the_program_is_offered_and_run(tmp_path: Path) -> None:
    script = [Reply([Thinking("x"), Call("glossary", {"word": "prun"})]), DONE, *turn(0)]
    async with Endpoint(script) as endpoint:
        async with agent(tmp_path, endpoint, tools=[Glossary()]) as running:
            events = await all_of(running.run("what is prun?"))
            (result,) = [one for one in events if isinstance(one, ToolResult)]
            assert (result.is_error, result.content[0]) == (
                False,
                text_output("prun means prune in work").content[0],
            )
        async with agent(tmp_path, endpoint, session=running.session_id, tools=[Glossary()]) as again:
            await all_of(again.run("and now?"))
        assert endpoint.rejected == []


async def test_a_tool_that_cannot_be_offered_is_named(tmp_path: Path) -> None:
    class Read(Glossary):
        name = "read"

    class Shapeless(Glossary):
        name = "shapeless"
        Input = set

    for tool in (Read(), Shapeless()):
        with pytest.raises(UsageError, match=tool.name):
            async with Agent(tools=[tool], environ=environ(tmp_path, "http://127.0.0.1:9"), cwd=tmp_path):
                pass


async def test_errors_are_prunecli_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mode"):
        Agent(mode="yolo")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not ready"):
        _ = Agent().session_id
    with pytest.raises(ConfigError, match="modle"):
        async with Agent(environ=environ(tmp_path, ""), modle__name="x"):
            pass
    async with Endpoint([HttpError(401)]) as endpoint, agent(tmp_path, endpoint) as running:
        with pytest.raises(Unauthorized):
            await all_of(running.run("hi"))


async def test_a_prune_is_an_event_and_an_answer_that_broke_off_is_void(tmp_path: Path) -> None:
    cut = Reply([Thinking("x"), "Half an answer. " * 9], faults=Close(9))
    script = [*[step(0)] * 4, cut, DONE]
    async with (
        Endpoint(script) as endpoint,
        agent(
            tmp_path,
            endpoint,
            model__name="claude-sonnet-4-5",
            model__thinking=0,
            pruning__strategy="pi",
            pruning__gate="always",
            pruning__pi__prune_protect=10,
            pruning__pi__prune_minimum=10,
            pruning__pi__protected_turns=0,
        ) as running,
    ):
        events = await all_of(running.run("look"))
        prunes = [one for one in events if isinstance(one, Pruned)]
        assert prunes
        assert prunes[0].tokens > 0
        assert any(isinstance(one, Figures) and one.pruned_tokens > 0 for one in events)
        assert StreamDiscarded() in events
        assert events[-1] == Finished("finished", "Done.")


# The examples ------------------------------------------------------------------------------------------------


def ran(tmp_path: Path, base_url: str, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a process of its own."""
    work = project(tmp_path / "work")
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(work), *words],
        env=environ(tmp_path, base_url) | {"PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_the_review_bot_denies_writes(tmp_path: Path) -> None:
    with serve([WRITE, Reply([Thinking("so"), "Rename it."])]) as endpoint:
        done = ran(tmp_path, endpoint.base_url, "review_bot.py")
        assert done.stdout == "Rename it.\n"
        assert "denied: ['write" in done.stderr
        assert not (tmp_path / "work" / "new.txt").exists()
        assert b"say what you would change" in endpoint.requests[1].body
        assert endpoint.rejected == []


def test_live_figures_show_context_and_cost_and_steer(tmp_path: Path) -> None:
    with serve([step(0), DONE]) as endpoint:
        done = ran(tmp_path, endpoint.base_url, "live_figures.py", "look", "be brief")
        assert "→ read {'path': '0.txt'}" in done.stdout
        assert " tokens, 0 pruned, $" in done.stdout
        assert done.stdout.endswith("finished\n")
        assert b"be brief" in endpoint.requests[-1].body
        assert endpoint.rejected == []


def test_stop_and_resume_in_two_processes(tmp_path: Path) -> None:
    with serve([step(0), DONE]) as endpoint:
        session = ran(tmp_path, endpoint.base_url, "stop_and_resume.py", "look").stdout.strip()
        done = ran(tmp_path, endpoint.base_url, "stop_and_resume.py", "--go-on", session)
        assert done.stdout == "Done.\n"
        assert len(endpoint.requests) == 2
        assert endpoint.rejected == []


def test_a_plain_loop_keeps_the_prefix_of_each_of_its_59_requests(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a line of a file\n" * 400)
    headers = {"x-api-key": "sk-ant-test", "anthropic-version": "2023-06-01"}
    script = [*(Reply([Call("Read", {"file_path": "a.py"})]) for _ in range(59)), "Read."]
    with serve(script) as endpoint:
        with httpx2.Client(base_url=endpoint.base_url, headers=headers, timeout=None) as client:
            assert plain_loop.run(tmp_path, "read it", client) == "Read."
        sent = [request.messages for request in endpoint.requests]
        assert endpoint.rejected == []
    kept = [unmarked(after)[: len(before)] == unmarked(before) for before, after in pairwise(sent)]
    assert kept == [True] * 59


def unmarked(messages: list[dict[str, Any]]) -> list[Any]:
    return [
        {key: value for key, value in block.items() if key != "cache_control"}
        for message in messages
        for block in message["content"]
    ]


@pytest.mark.long
def test_programs_that_use_the_library_are_checked_strictly() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(EXAMPLES)],
        cwd=EXAMPLES.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
