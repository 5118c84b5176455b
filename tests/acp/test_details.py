"""Details of an editor's session: broken answers, limits, plans, tasks, interrupted sessions, custom commands."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ResourceContentBlock, TextContentBlock

from prunecli.features.acp.calls import hunks, plan_of_todos
from prunecli.features.acp.feed import Feed, Update
from prunecli.features.acp.prompts import read_prompt
from prunecli.features.acp.texts import escaped, fenced, noticed, said, thought
from prunecli.tools.files.diff import change
from tests.acp.editor import at_work, editing, say
from tests.e2e.bound import step
from tests.e2e.tasking import cast, last, task
from tests.endpoint import Call, Close, Endpoint, HttpError, Reply, Stall, Text, Thinking

DONE = Reply([Thinking("That is all."), "Done."])


async def test_an_answer_that_breaks_off_is_said_and_its_calls_end(tmp_path: Path) -> None:
    cut = Reply([Thinking("x"), "Half an answer. " * 4, Call("read", {"path": "0.txt"})], faults=Close(10))
    async with at_work(tmp_path, [cut, step(0), DONE]) as (_, editor, agent, _, session):
        await agent.prompt(session_id=session.session_id, prompt=say("look"))
        assert "The answer was cut off; starting it again" in editor.notices()
        assert "retrying" in editor.notices()
        assert editor.text().endswith("Step 0.Done.")
        states = [call["status"] for call in editor.calls().values()]
        assert "pending" not in states
        assert states[-1] == "completed"


async def test_an_id_that_a_server_uses_again_is_another_one_here(tmp_path: Path) -> None:
    again = Reply([Text("a"), Call("read", {"path": "0.txt"}, id="call_0")])
    async with (
        Endpoint([again, again, Reply("Done.")]) as endpoint,
        editing(tmp_path, endpoint.base_url, "model.thinking=0", model="claude-sonnet-4-5") as found,
    ):
        editor, agent, work = found
        session = await agent.new_session(cwd=str(work))
        await agent.prompt(session_id=session.session_id, prompt=say("look"))
        assert list(editor.calls()) == ["call_0", "call_0-2"]
        assert [call["status"] for call in editor.calls().values()] == ["completed", "completed"]


async def test_a_list_of_todos_is_a_plan(tmp_path: Path) -> None:
    todos = [{"content": "look", "status": "completed"}, {"content": "change", "status": "in_progress"}]
    script = [Reply([Thinking("x"), Call("todo", {"todos": todos})]), DONE]
    async with at_work(tmp_path, script) as (_, editor, agent, _, session):
        await agent.prompt(session_id=session.session_id, prompt=say("go"))
        (plan,) = editor.of("plan")
        assert [(one.content, one.status) for one in plan.entries] == [
            ("look", "completed"),
            ("change", "in_progress"),
        ]


@pytest.mark.parametrize("given", [{}, {"todos": "x"}, {"todos": None}])
def test_what_is_no_list_of_todos_is_no_plan(given: Any) -> None:
    assert plan_of_todos(given) is None


def test_malformed_todos_are_left_out() -> None:
    entries = plan_of_todos({"todos": [3, {}, {"content": " "}, {"content": "a", "status": "later"}]})
    assert [(one.content, one.status) for one in entries or ()] == [("a", "pending")]


async def test_a_task_s_question_names_it_and_its_work_is_shown(tmp_path: Path) -> None:
    tasks = {"touch it": [Reply([Thinking("x"), Call("bash", {"command": "touch made"})]), last("Made.")]}
    script = cast([Reply([Thinking("t"), task("touch it", None)]), DONE], tasks)
    async with at_work(tmp_path, script, "sandbox.mode=off") as (_, editor, agent, work, session):
        await agent.prompt(session_id=session.session_id, prompt=say("go"))
        asked = [call for _, call, _ in editor.asked if "touch made" in call.title]
        assert asked
        assert asked[0].title != "touch made", "it says which task asks"
        ended = [one for one in editor.of("tool_call_update") if one.tool_call_id == asked[0].tool_call_id]
        assert [one.status for one in ended] == ["completed"]
        assert (work / "made").exists()


async def test_an_interrupted_session_says_so_and_goes_on(tmp_path: Path) -> None:
    script = [step(0), HttpError(400), DONE]
    async with Endpoint(script) as endpoint:
        async with editing(tmp_path, endpoint.base_url) as (_, agent, work):
            session = await agent.new_session(cwd=str(work))
            with pytest.raises(RequestError):
                await agent.prompt(session_id=session.session_id, prompt=say("look"))
        async with editing(tmp_path, endpoint.base_url) as (editor, agent, work):
            await agent.load_session(cwd=str(work), session_id=session.session_id, mcp_servers=[])
            await editor.until(lambda: "was interrupted" in editor.notices())
            await agent.prompt(session_id=session.session_id, prompt=say("go on"))
            assert editor.text().endswith("Done.")
        assert len(endpoint.rejected) == 0


async def test_the_cost_limit_is_a_stop_reason(tmp_path: Path) -> None:
    script, flags = [step(0), step(1), DONE], ("--max-turns", "1")
    async with at_work(tmp_path, script, flags=flags) as (
        _,
        editor,
        agent,
        _,
        session,
    ):
        done = await agent.prompt(session_id=session.session_id, prompt=say("look"))
        assert done.stop_reason == "max_turn_requests"
        assert "--max-turns" in editor.notices()


async def test_a_command_of_the_project_is_offered_and_runs(tmp_path: Path) -> None:
    async with (
        Endpoint([DONE]) as endpoint,
        editing(tmp_path, endpoint.base_url) as (editor, agent, work),
    ):
        (work / ".prunecli" / "commands").mkdir(parents=True)
        (work / ".prunecli" / "commands" / "greet.md").write_text("Say hello to $ARGUMENTS")
        session = await agent.new_session(cwd=str(work))
        await agent.prompt(session_id=session.session_id, prompt=say("/greet Ann"))
        assert b"Say hello to Ann" in endpoint.requests[0].body
        offers = editor.of("available_commands_update")[0].available_commands
        assert "greet" in {one.name for one in offers}


async def test_a_prompt_of_a_canceled_turn_that_was_not_taken_is_dropped(tmp_path: Path) -> None:
    script = [Reply([Thinking("x"), "A long answer. " * 20], faults=Stall(12)), DONE]
    async with at_work(tmp_path, script) as (endpoint, editor, agent, _, session):
        first = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("talk")))
        await editor.until(editor.text)
        second = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("tarry")))
        await agent.set_session_mode(session_id=session.session_id, mode_id="ask")
        await agent.cancel(session_id=session.session_id)
        assert (await first).stop_reason == (await second).stop_reason == "cancelled"
        await agent.prompt(session_id=session.session_id, prompt=say("again"))
        assert b'"tarry"' not in endpoint.requests[-1].body
        assert "send it again: tarry" in editor.notices()


# Parts -------------------------------------------------------------------------------------------------------


def test_the_hunks_of_a_diff_are_old_and_new_text() -> None:
    old = "".join(f"line {number}\n" for number in range(30))
    new = old.replace("line 3\n", "three\n").replace("line 20\n", "")
    assert hunks(change(old, new).diff) == [
        (
            "\n".join(f"line {number}" for number in range(7)),
            "\n".join(["line 0", "line 1", "line 2", "three", "line 4", "line 5", "line 6"]),
        ),
        (
            "\n".join(f"line {number}" for number in range(17, 24)),
            "\n".join(f"line {number}" for number in (17, 18, 19, 21, 22, 23)),
        ),
    ]


def test_texts_show_what_is_hidden_and_cannot_leave_their_fence() -> None:
    assert said("a\x1b[31m\u202eb\tc").content.text == "a␛[31m\ufffdb\tc"  # type: ignore[union-attr]
    assert fenced("```\nx\n````") == "`````\n```\nx\n````\n`````"
    assert escaped("*a* <b>\nc") == "\\*a\\* \\<b\\>␊c"
    assert noticed("one\ntwo").content.text == "\n\n> one  \n> two  \n\n"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file:///w/src/a%20b.py", "src/a b.py"),
        ("file:///w/a.py#L10:20", "a.py (lines 10-20)"),
        ("file:///elsewhere/b.py", "/elsewhere/b.py"),
        ("https://example.com/x?y#z", "https://example.com/x?y#z"),
        ("file:///w/%ff", "file:///w/%ff"),
        ("file://[bad", "file://[bad"),
        ("zed:///agent/symbol\nx", "zed:///agent/symbol␊x"),
    ],
)
def test_a_link_becomes_what_the_tools_take(uri: str, words: str) -> None:
    link: Any = {"type": "resource_link", "name": "n", "uri": uri}
    found = read_prompt([ResourceContentBlock.model_validate(link)], Path("/w"))
    assert (found.text, found.images, found.embedded) == (words, (), ())


async def test_texts_that_wait_are_sent_as_one_and_in_order() -> None:
    sent: list[Update] = []

    async def send(update: Update) -> None:
        sent.append(update)

    feed = Feed(send)
    for update in (said("a"), said("b"), thought("c"), noticed("n"), said("d"), said("e")):
        feed.tell(update)
    assert sent == []
    feed.begin()
    await feed.sent()
    texts = [
        one.content.text
        for one in sent
        if isinstance(one, AgentMessageChunk | AgentThoughtChunk)
        and isinstance(one.content, TextContentBlock)
    ]
    assert texts == ["ab", "c", "\n\n> n  \n\n", "de"]
    await feed.close()


async def test_an_editor_that_is_gone_holds_nothing_up() -> None:
    async def send(update: Update) -> None:
        raise ConnectionError("gone")

    feed = Feed(send)
    feed.begin()
    feed.tell(said("a"))
    await asyncio.wait_for(feed.sent(), 10)
    feed.tell(said("b"))
    await asyncio.wait_for(feed.sent(), 10)
    await feed.close()


def test_a_list_of_another_agent_is_a_plan_too() -> None:
    rows = [{"step": "Look", "status": "completed"}, {"content": " ", "status": "pending"}, "x"]
    entries = plan_of_todos({"todos": rows})
    assert entries is not None
    assert [(one.content, one.status) for one in entries] == [("Look", "completed")]
    assert plan_of_todos({"todos": "x"}) is None
