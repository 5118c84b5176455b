"""An editor drives the program over its standard streams, on the strict endpoint with bound thinking."""

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, resource_link_block, text_block
from acp.schema import (
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    TextResourceContents,
)
from PIL import Image as Pillow

from prunecli.config.credentials import save_key
from prunecli.providers.available.anthropic import KEYS
from prunecli.util.paths import Places
from tests.acp.editor import KEY, Editor, at_work, editing, environment, say
from tests.e2e.bound import step, turn
from tests.endpoint import Call, Endpoint, ErrorEvent, HttpError, Reply, Stall, Thinking
from tests.tools.files.pdfs import pdf

EDIT = Call("edit", {"path": "0.txt", "old_string": "line of file 0\n" * 40, "new_string": "new\n"})
AUTO = ("--permission-mode", "auto")
DONE = Reply([Thinking("That is all."), "Done."])
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def edits(*calls: Call) -> list[Reply]:
    """A file is read, then these calls, then the end."""
    return [
        Reply([Thinking("look"), Call("read", {"path": "0.txt"})]),
        Reply([Thinking("change"), *calls]),
        DONE,
    ]


def picks(kind: str) -> Any:
    """Answers each question with the option of this kind."""

    def pick(_: Any, options: list[Any]) -> str:
        return next(one.option_id for one in options if one.kind == kind)

    return pick


def sent(endpoint: Endpoint, number: int = -1) -> str:
    """The messages of a request as text."""
    return json.dumps(endpoint.requests[number].json["messages"])


async def test_a_turn_streams_thinking_text_and_calls(tmp_path: Path) -> None:
    script = [step(0), DONE]
    async with at_work(tmp_path, script, alone=True) as (endpoint, editor, agent, work, session):
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "edits", "plan", "auto"]
        done = await agent.prompt(session_id=session.session_id, prompt=say("look"))
        assert done.stop_reason == "end_turn"
        assert editor.text() == "Step 0.Done."
        (call,) = editor.calls().values()
        assert (call["title"], call["kind"], call["status"]) == ("read 0.txt", "read", "completed")
        assert (editor.of("tool_call")[0].kind, editor.of("tool_call")[0].status) == ("read", "pending")
        assert call["locations"][0]["path"] == str(work / "0.txt")
        assert "line of file 0" in call["content"][0]["content"]["text"]
        figures = editor.of("usage_update")[-1]
        assert 0 < figures.used < figures.size
        assert figures.cost.amount > 0
        assert editor.of("session_info_update")[-1].title == "look"
        offered = {one.name for one in editor.of("available_commands_update")[0].available_commands}
        assert {"prune", "compact", "undo", "cost", "status", "context", "prune-stats"} <= offered
        assert not {"quit", "theme", "login", "new", "rewind"} & offered
        assert endpoint.rejected == []


async def test_an_edit_is_asked_with_its_diff_and_made_when_allowed(tmp_path: Path) -> None:
    async with at_work(tmp_path, edits(EDIT)) as (endpoint, editor, agent, work, session):
        await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        ((_, asked, options),) = editor.asked
        kinds = [one.kind for one in options]
        assert kinds == ["allow_once", "allow_always", "reject_once", "allow_always"], "the third is No"
        diff = asked.content[0]
        assert (diff.path, diff.old_text, diff.new_text) == (
            str(work / "0.txt"),
            "line of file 0\n" * 40,
            "new\n",
        )
        call = editor.calls()[asked.tool_call_id]
        assert (call["status"], call["kind"]) == ("completed", "edit")
        assert call["content"][0]["type"] == "diff"
        assert (work / "0.txt").read_text() == "new\n"
        assert endpoint.rejected == []


async def test_an_edit_that_will_fail_is_shown_at_no_place_and_says_so(tmp_path: Path) -> None:
    """Only one of a secret is asked about: the model may not learn without a question what it holds."""
    edit = Call("edit", {"path": ".env", "old_string": "line", "new_string": "word"})
    async with at_work(tmp_path, edits(edit)) as (_, editor, agent, work, session):
        (work / ".env").write_text("line\n" * 40)
        await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        diff, about = editor.asked[0][1].content
        assert (diff.old_text, diff.new_text) == ("line", "word")
        assert about.content.text.startswith("This edit will fail: old\\_string matches 40 places")


@pytest.mark.parametrize(
    "command",
    [EDIT, Call("write", {"path": "new.txt", "content": "x"}), Call("bash", {"command": "touch y"})],
)
async def test_a_rejected_call_changes_nothing_and_the_turn_goes_on(tmp_path: Path, command: Call) -> None:
    async with at_work(tmp_path, edits(command)) as (endpoint, editor, agent, work, session):
        editor.answer = picks("reject_once")
        before = sorted(work.iterdir())
        done = await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        assert done.stop_reason == "end_turn"
        assert sorted(work.iterdir()) == before
        assert "did not allow" in sent(endpoint)
        assert editor.calls()[editor.asked[0][1].tool_call_id]["status"] == "failed"


async def test_always_asks_once_and_shows_the_command_and_why(tmp_path: Path) -> None:
    again = [Call("bash", {"command": "mkdir -p made"}), Call("bash", {"command": "mkdir -p made"})]
    async with at_work(tmp_path, edits(*again), "sandbox.mode=off") as (_, editor, agent, work, session):
        editor.answer = picks("allow_always")
        await agent.prompt(session_id=session.session_id, prompt=say("go"))
        ((_, asked, _),) = editor.asked
        assert (asked.title, asked.kind) == ("mkdir -p made", "execute")
        assert "mkdir -p made" in asked.content[0].content.text
        assert "Asked because" in asked.content[0].content.text
        assert (work / "made").is_dir()


async def test_a_question_that_the_editor_takes_back_cancels_the_turn(tmp_path: Path) -> None:
    async with at_work(tmp_path, edits(EDIT)) as (endpoint, editor, agent, _, session):
        editor.answer = lambda _call, _options: None
        done = await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        assert done.stop_reason == "cancelled"
        assert len(endpoint.requests) == 2


async def test_modes_are_set_and_a_plan_is_approved_by_a_question(tmp_path: Path) -> None:
    script = [Reply([Thinking("plan"), "## Plan\n1. Write a.txt"]), *edits(EDIT)]
    async with at_work(tmp_path, script) as (endpoint, editor, agent, work, session):
        await agent.set_session_mode(session_id=session.session_id, mode_id="plan")
        editor.answer = lambda _call, options: "edits"
        await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        ((_, asked, options),) = editor.asked
        assert asked.title == "Carry out this plan?"
        assert "Write a.txt" in asked.content[0].content.text
        assert [one.option_id for one in options] == ["edits", "ask", "no"]
        assert [one.current_mode_id for one in editor.of("current_mode_update")] == ["plan", "edits"]
        assert (work / "0.txt").read_text() == "new\n", "without another question"
        with pytest.raises(RequestError, match="unknown mode") as refused:
            await agent.set_session_mode(session_id=session.session_id, mode_id="yolo")
        assert refused.value.code == -32602
        assert endpoint.rejected == []


async def test_model_and_effort_are_options(tmp_path: Path) -> None:
    async with at_work(tmp_path, [DONE, DONE]) as (endpoint, _, agent, _, session):
        found = {one.id: one for one in session.config_options}
        assert found["mode"].current_value == "ask"
        assert found["model"].current_value == "claude-opus-5-5"
        assert {"low", "high"} <= {one.value for one in found["effort"].options}
        id_ = session.session_id
        answer = await agent.set_config_option(session_id=id_, config_id="model", value="claude-haiku-5-5")
        assert {one.id: one.current_value for one in answer.config_options}["model"] == "claude-haiku-5-5"
        await agent.prompt(session_id=id_, prompt=say("hi"))
        assert endpoint.requests[0].json["model"] == "claude-haiku-5-5"
        for option, value in (("model", "none such"), ("weather", "rain"), ("mode", "yolo")):
            with pytest.raises(RequestError):
                await agent.set_config_option(session_id=id_, config_id=option, value=value)


async def test_cancel_stops_the_answer_and_the_session_goes_on(tmp_path: Path) -> None:
    script = [Reply([Thinking("x"), "A long answer. " * 20], faults=Stall(12)), DONE]
    async with at_work(tmp_path, script, alone=True) as (endpoint, editor, agent, _, session):
        running = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("talk")))
        await editor.until(editor.text)
        await agent.cancel(session_id=session.session_id)
        assert (await running).stop_reason == "cancelled"
        done = await agent.prompt(session_id=session.session_id, prompt=say("again"))
        assert done.stop_reason == "end_turn"
        assert endpoint.rejected == []


async def test_cancel_while_a_question_is_open_ends_the_turn(tmp_path: Path) -> None:
    async with at_work(tmp_path, edits(EDIT)) as (_, editor, agent, work, session):
        answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        editor.answer = lambda _call, _options: answered
        running = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("change it")))
        await editor.until(lambda: editor.asked)
        await agent.cancel(session_id=session.session_id)
        answered.set_result(None)
        assert (await running).stop_reason == "cancelled"
        assert (work / "0.txt").read_text() != "new\n"


async def test_a_prompt_during_a_turn_steers_it_and_both_end_with_it(tmp_path: Path) -> None:
    script = [
        Reply([Thinking("x"), Call("read", {"path": "0.txt"}), Call("write", {"path": "a", "content": "b"})]),
        DONE,
    ]
    async with at_work(tmp_path, script) as (endpoint, editor, agent, _, session):
        answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        editor.answer = lambda _call, _options: answered
        cut = ImageContentBlock(type="image", data="bm90IGFuIGltYWdl", mime_type="image/png")
        first = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("go")))
        await editor.until(lambda: editor.asked)
        with pytest.raises(RequestError, match="image 1 was not attached: not an image"):
            await agent.prompt(session_id=session.session_id, prompt=[cut])
        second = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=say("be brief")))
        await agent.set_session_mode(session_id=session.session_id, mode_id="ask")  # the prompt came before
        answered.set_result("once")
        assert (await first).stop_reason == (await second).stop_reason == "end_turn"
        assert len(endpoint.requests) == 2
        assert "be brief" in sent(endpoint)
        assert endpoint.rejected == []


async def test_a_prompt_right_after_stop_is_a_turn_of_its_own(tmp_path: Path) -> None:
    script = [Reply([Call("bash", {"command": "echo begun; sleep 30"})]), DONE]
    async with at_work(tmp_path, script, flags=("--permission-mode", "auto")) as (
        endpoint,
        editor,
        agent,
        _,
        session,
    ):
        id_ = session.session_id
        first = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("first")))
        await editor.until(lambda: "begun" in str(editor.calls()))
        await agent.cancel(session_id=id_)
        second = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("second")))
        third = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("third")))
        assert (await first).stop_reason == "cancelled"
        assert (await second).stop_reason == (await third).stop_reason == "end_turn"
        assert "second" in sent(endpoint, 1)
        assert "third" in sent(endpoint, -1)


async def test_a_second_stop_stops_the_prompt_that_waits_for_the_end_of_the_first_and_says_so(
    tmp_path: Path,
) -> None:
    script = [Reply([Call("bash", {"command": "echo begun; sleep 30"})]), DONE]
    async with at_work(tmp_path, script, flags=("--permission-mode", "auto")) as (
        endpoint,
        editor,
        agent,
        _,
        session,
    ):
        id_ = session.session_id
        first = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("first")))
        await editor.until(lambda: "begun" in str(editor.calls()))
        await agent.cancel(session_id=id_)
        second = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("second")))
        await asyncio.sleep(0)  # the prompt is sent before the second stop
        await agent.cancel(session_id=id_)
        assert (await first).stop_reason == (await second).stop_reason == "cancelled"
        assert "send it again: second" in editor.notices()
        assert len(endpoint.requests) == 1


async def test_a_prompt_that_steers_a_turn_which_then_fails_is_a_turn_of_its_own(tmp_path: Path) -> None:
    fails = Reply(["A long answer. " * 20], faults=[Stall(6), ErrorEvent(7, "invalid_request_error", "no")])
    async with at_work(tmp_path, [fails, DONE]) as (endpoint, editor, agent, _, session):
        id_ = session.session_id
        first = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("first")))
        await editor.until(editor.text)
        second = asyncio.ensure_future(agent.prompt(session_id=id_, prompt=say("second")))
        await agent.set_session_mode(session_id=id_, mode_id="ask")  # the prompt came before
        endpoint.release()
        with pytest.raises(RequestError):
            await first
        assert (await second).stop_reason == "end_turn"
        assert "second" in sent(endpoint)


async def test_a_session_is_listed_loaded_with_its_history_and_goes_on(tmp_path: Path) -> None:
    script = [*edits(EDIT), *turn(1)]
    async with Endpoint(script) as endpoint:
        async with editing(tmp_path, endpoint.base_url) as (editor, agent, work):
            session = await agent.new_session(cwd=str(work))
            await agent.prompt(session_id=session.session_id, prompt=say("change it"))
            live = editor.calls()
        async with editing(tmp_path, endpoint.base_url) as (editor, agent, work):
            listed = (await agent.list_sessions(cwd=str(work))).sessions
            assert [(one.session_id, one.title, one.cwd) for one in listed] == [
                (session.session_id, "Change it", str(work))
            ]
            loaded = await agent.load_session(cwd=str(work), session_id=session.session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "ask"
            assert [one.content.text for one in editor.of("user_message_chunk")] == ["change it"]
            assert editor.text() == "Done."
            for id_, call in editor.calls().items():
                assert (call["title"], call["kind"], call["status"]) == tuple(
                    live[id_][key] for key in ("title", "kind", "status")
                )
                assert call["content"] == live[id_]["content"]
            await agent.prompt(session_id=session.session_id, prompt=say("go on"))
            assert editor.text() == "Done.Step 1.Done."
            again = await agent.load_session(cwd=str(work), session_id=session.session_id, mcp_servers=[])
            assert again.modes.current_mode_id == "ask", "an open session is read again"
            for wanted in ("20200101-000000-abcdef", session.session_id[:9], "../x"):
                with pytest.raises(RequestError, match=r"[Nn]o session|sessions start"):
                    await agent.load_session(cwd=str(work), session_id=wanted, mcp_servers=[])
        async with editing(tmp_path, endpoint.base_url) as (editor, agent, work):
            await agent.resume_session(cwd=str(work), session_id=session.session_id)
            copy = await agent.fork_session(cwd=str(work), session_id=session.session_id)
            assert copy.session_id != session.session_id
            await agent.close_session(session_id=copy.session_id)
            with pytest.raises(RequestError, match="No open session"):
                await agent.prompt(session_id=copy.session_id, prompt=say("hi"))
            assert editor.of("user_message_chunk") == []
        assert endpoint.rejected == []


async def test_two_sessions_run_side_by_side(tmp_path: Path) -> None:
    def reply(request: Any, _: int) -> Reply:
        words = json.dumps(request["messages"])
        return Reply([Thinking("so"), "One." if "the first" in words else "Two."])

    async with (
        Endpoint(reply) as endpoint,
        editing(tmp_path, endpoint.base_url) as (editor, agent, work),
    ):
        one, two = await asyncio.gather(agent.new_session(cwd=str(work)), agent.new_session(cwd=str(work)))
        await asyncio.gather(
            agent.prompt(session_id=one.session_id, prompt=say("the first")),
            agent.prompt(session_id=two.session_id, prompt=say("the second")),
        )
        assert editor.text(one.session_id) == "One."
        assert editor.text(two.session_id) == "Two."


async def test_links_embedded_texts_and_images_reach_the_model(tmp_path: Path) -> None:
    image = ImageContentBlock(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")
    async with at_work(tmp_path, [DONE, DONE]) as (endpoint, _, agent, work, session):
        embedded = TextResourceContents(uri=f"file://{work}/1.txt", text="what the editor has unsaved")
        picture = BlobResourceContents(uri="file:///x.png", mime_type="image/png", blob=image.data)
        paper = base64.b64encode(pdf("one page")).decode()
        paper_block = BlobResourceContents(uri="file:///x.pdf", mime_type="application/pdf", blob=paper)
        blocks = [
            text_block("compare"),
            resource_link_block("0.txt", f"file://{work}/0.txt"),
            text_block("and "),
            EmbeddedResourceContentBlock(type="resource", resource=embedded),
            EmbeddedResourceContentBlock(type="resource", resource=picture),
            EmbeddedResourceContentBlock(type="resource", resource=paper_block),
            image,
        ]
        await agent.prompt(session_id=session.session_id, prompt=blocks)
        assert "compare 0.txt and 1.txt" in sent(endpoint)
        assert "what the editor has unsaved" in sent(endpoint)
        assert sent(endpoint).count('"type": "image"') == 2
        assert sent(endpoint).count('"type": "document"') == 1
        wide = io.BytesIO()
        Pillow.new("RGB", (9_000, 10)).save(wide, "PNG")
        data = base64.b64encode(wide.getvalue()).decode()
        large = ImageContentBlock(type="image", data=data, mime_type="image/png")
        await agent.prompt(session_id=session.session_id, prompt=[large])
        assert endpoint.rejected == []


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (ImageContentBlock(type="image", data="bm90IGFuIGltYWdl", mime_type="image/png"), "image"),
        (ImageContentBlock(type="image", data="%%%", mime_type="image/png"), "image"),
        ({"type": "audio", "data": "eA==", "mimeType": "audio/wav"}, "audio"),
        (
            EmbeddedResourceContentBlock(
                type="resource",
                resource=BlobResourceContents(uri="file:///x.zip", blob="eA==", mime_type="application/zip"),
            ),
            "only text, images and PDF files",
        ),
        (text_block(" \n"), "empty"),
    ],
)
async def test_what_cannot_be_sent_is_refused_in_words(tmp_path: Path, block: Any, why: str) -> None:
    async with at_work(tmp_path, []) as (endpoint, _, agent, _, session):
        with pytest.raises(RequestError, match=why):
            await agent.prompt(session_id=session.session_id, prompt=[block])
        assert endpoint.requests == []


async def test_without_a_key_the_editor_is_told_how_to_get_one(tmp_path: Path) -> None:
    async with editing(tmp_path, "", key="") as (_, agent, work):
        for call in (agent.new_session(cwd=str(work)), agent.authenticate(method_id="api-key")):
            with pytest.raises(RequestError, match="prunecli login") as refused:
                await call
            assert refused.value.code == -32000
        with pytest.raises(RequestError, match="Unknown authentication method: telepathy"):
            await agent.authenticate(method_id="telepathy")
        save_key(Places.of(environment(tmp_path, "")), KEY, KEYS)
        await agent.authenticate(method_id="api-key")
        await agent.new_session(cwd=str(work))


async def test_an_endpoint_that_wants_a_key_wants_it_from_an_editor_too(tmp_path: Path) -> None:
    sets = "model.endpoint=openrouter", "model.base_url=http://127.0.0.1:9"
    async with editing(tmp_path, "", *sets, key="") as (_, agent, _work):
        with pytest.raises(RequestError, match="prunecli login"):
            await agent.authenticate(method_id="api-key")


async def test_a_key_that_the_endpoint_rejects_is_an_error_of_the_turn(tmp_path: Path) -> None:
    async with at_work(tmp_path, [HttpError(401), DONE]) as (_, _, agent, _, session):
        with pytest.raises(RequestError, match="401") as refused:
            await agent.prompt(session_id=session.session_id, prompt=say("hi"))
        assert refused.value.code == -32000
        done = await agent.prompt(session_id=session.session_id, prompt=say("and now"))
        assert done.stop_reason == "end_turn"


@pytest.mark.parametrize(("reason", "expected"), [("max_tokens", "max_tokens"), ("refusal", "refusal")])
async def test_the_model_s_stop_reasons_are_passed_on(tmp_path: Path, reason: str, expected: str) -> None:
    async with at_work(tmp_path, [Reply("No.", stop_reason=reason)]) as (_, _, agent, _, session):
        done = await agent.prompt(session_id=session.session_id, prompt=say("hi"))
        assert done.stop_reason == expected


async def test_slash_commands_answer_as_text_and_prunes_are_notices(tmp_path: Path) -> None:
    script = [step(0), step(1), DONE]
    async with (
        Endpoint(script) as endpoint,
        editing(
            tmp_path,
            endpoint.base_url,
            "pruning.pi.prune_protect=10",
            "pruning.strategy=pi",
            "pruning.pi.protected_turns=0",
            "pruning.pi.prune_minimum=10",
        ) as (editor, agent, work),
    ):
        session = await agent.new_session(cwd=str(work))

        async def typed(line: str) -> str:
            before = editor.notices()
            done = await agent.prompt(session_id=session.session_id, prompt=say(line))
            assert done.stop_reason == "end_turn"
            return editor.notices()[len(before) :]

        await typed("look")
        assert "Prun" in await typed("/prune")
        assert "Undid 1 prune" in await typed("/undo")
        assert "| version |" in await typed("/status")
        assert "**Cost**" in await typed("/cost")
        assert "tokens" in await typed("/context")
        assert "No command named" in await typed("/prnue")
        assert "terminal" in await typed("/rewind")
        assert "config.toml in the editor" in await typed("/config")
        editor.answer = picks("reject_once")
        assert await typed("/effort") == "", "nothing is chosen"
        editor.answer = lambda _call, options: options[-2].option_id
        assert "Effort: max" in await typed("/effort")
        editor.answer = picks("reject_once")
        assert "Not saved." in await typed("# use tabs")
        assert "Plan mode" in await typed("/plan")
        assert editor.of("current_mode_update")[-1].current_mode_id == "plan"
        assert len(endpoint.requests) == 3
        assert endpoint.rejected == []


@pytest.mark.parametrize("kind", ["allow_always", "reject_once"])
async def test_an_untrusted_folder_is_asked_about_at_the_first_prompt(tmp_path: Path, kind: str) -> None:
    async with (
        Endpoint(edits(EDIT)) as endpoint,
        editing(tmp_path, endpoint.base_url, trust=False) as (editor, agent, work),
    ):
        editor.answer = lambda call, options: (
            picks(kind)(call, options) if "trust" in call.title else options[0].option_id
        )
        session = await agent.new_session(cwd=str(work))
        await agent.prompt(session_id=session.session_id, prompt=say("change it"))
        trusts = kind == "allow_always"
        assert editor.asked[0][1].title == "Do you trust this folder?"
        assert len(editor.asked) == 1 + trusts
        assert ((work / "0.txt").read_text() == "new\n") == trusts
        assert ("is now trusted" in editor.notices()) == trusts


async def test_an_mcp_server_of_the_editor_runs_with_its_session(tmp_path: Path) -> None:
    script = [
        Reply([Thinking("x"), Call("mcp_search", {"query": "time"})]),
        Reply(
            [
                Thinking("y"),
                Call(
                    "mcp_call",
                    {"server": "clock", "tool": "get_current_time", "arguments": {"timezone": "UTC"}},
                ),
            ]
        ),
        DONE,
    ]
    import sys

    from acp.schema import AcpMcpServer, McpServerStdio

    clock = McpServerStdio(name="clock", command=sys.executable, args=["-m", "mcp_server_time"], env=[])
    async with (
        Endpoint(script) as endpoint,
        editing(tmp_path, endpoint.base_url) as (editor, agent, work),
    ):
        inside = AcpMcpServer(type="acp", name="inside", server_id="1")
        session = await agent.new_session(cwd=str(work), mcp_servers=[clock, inside])
        await agent.prompt(session_id=session.session_id, prompt=say("what time is it"))
        assert "inside: servers inside the editor are not supported" in editor.notices()
        ((_, asked, _),) = editor.asked
        assert "clock:get_current_time" in asked.content[0].content.text
        assert "UTC" in sent(endpoint)
        assert endpoint.rejected == []


@pytest.mark.parametrize(
    ("cwd", "why"),
    [
        ("relative", "not an absolute path"),
        ("/no/such/folder", "no such folder"),
        ("", "not an absolute path"),
    ],
)
async def test_a_session_needs_a_folder(tmp_path: Path, cwd: str, why: str) -> None:
    async with (
        Endpoint([]) as endpoint,
        editing(tmp_path, endpoint.base_url) as (_, agent, _),
    ):
        with pytest.raises(RequestError, match=f"cwd: {why}: {cwd}"):
            await agent.new_session(cwd=cwd)


def test_the_editor_of_the_tests_knows_what_was_said() -> None:
    editor = Editor()
    assert (editor.text(), editor.notices(), editor.calls()) == ("", "", {})


@pytest.mark.parametrize(("picked", "told"), [("1", "Tabs"), ("none", "declined"), (None, "declined")])
async def test_a_question_of_the_model_is_answered_in_the_editor(
    tmp_path: Path, picked: str | None, told: str
) -> None:
    ask = Call("ask", {"question": "Tabs or spaces?", "options": [{"label": "Spaces"}, {"label": "Tabs"}]})
    async with at_work(tmp_path, [Reply([Thinking("ask"), ask]), DONE]) as (
        endpoint,
        editor,
        agent,
        _,
        session,
    ):
        editor.answer = lambda _call, _options: picked
        done = await agent.prompt(session_id=session.session_id, prompt=say("indent it"))
        ((_, asked, options),) = editor.asked
        assert done.stop_reason == "end_turn"
        assert asked.title == "Tabs or spaces?"
        assert [one.name for one in options] == ["Spaces", "Tabs", "Don't answer"]
        assert told in sent(endpoint)
