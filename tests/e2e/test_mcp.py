"""MCP servers in a session whose thinking is bound: they come and go, and no byte before them changes."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from prunecli.agent.asking import Answer, Asked
from prunecli.commands.command import InThread, Say, Submit, run_line
from prunecli.features.mcp.server_state import Wanted
from prunecli.features.mcp.servers import DECLINED, NONE_LEFT, TITLE
from prunecli.front.presentation.entries import Notice as Line
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.front.presentation.questions import sheet_of
from prunecli.model.events import ToolResult, ToolStarted, UserMessage
from prunecli.model.messages import plain_text
from prunecli.model.notes import newest_notice, typed
from prunecli.model.signals import Notice
from prunecli.providers.tokenizer import SHIPPED, counter
from prunecli.runtime import Runtime
from prunecli.runtime.forms import Elicitation
from prunecli.runtime.forms import Reply as ServerReply
from tests.e2e.bound import OPUS, clear, dropped, environment, project, results, session
from tests.e2e.terminal import HAS_TMUX, ROOT, Terminal
from tests.endpoint import Call, Endpoint, Reply, Thinking, serve
from tests.mcp.running import raw, sdk
from tests.waiting import until


def call(tool: str, **arguments: object) -> Reply:
    given = {"server": "fake", "tool": tool, "arguments": arguments}
    return Reply([Thinking(f"I call {tool}."), Call("mcp_call", given)])


def search(words: str) -> Reply:
    return Reply([Thinking("I look."), Call("mcp_search", {"words": words})])


DONE = Reply([Thinking("That is all."), "Done."])


@asynccontextmanager
async def with_servers(folder: Path, endpoint: Endpoint, *wanted: Wanted) -> AsyncIterator[Runtime]:
    async with session(folder, endpoint, 'permissions.allow=["mcp(fake:*)"]') as runtime:
        runtime.parts["mcp"].load = lambda: wanted
        runtime.parts["mcp"].starting()
        await runtime.parts["mcp"].settled(60)
        yield runtime


def knows(runtime: Runtime) -> str | None:
    return newest_notice((item.event for item in reversed(runtime.session.context.items)), TITLE)


def same_beginning(endpoint: Endpoint) -> None:
    """Every request was taken, begins with the same system prompt and tools, and lost no thinking."""
    bodies = [json.loads(request.body) for request in endpoint.requests]
    assert endpoint.rejected == []
    assert len({json.dumps([body["system"], body["tools"]]) for body in bodies}) == 1
    assert set(dropped(endpoint)) == {0}


async def test_servers_come_and_go_without_a_changed_byte(tmp_path: Path) -> None:
    script = [
        search("echo text"),
        call("echo", text="hello"),
        DONE,
        DONE,
        call("echo", text="again"),
        DONE,
        DONE,
    ]
    async with Endpoint(script) as endpoint, with_servers(tmp_path, endpoint, Wanted(sdk())) as runtime:
        await runtime.submit("say hello")
        assert knows(runtime) is not None
        assert "fake: 7 tools" in str(knows(runtime))
        found, said = (
            plain_text(runtime.session.context.entries[seq].event.content) for seq in results(runtime)
        )
        assert '"text":{"type":"string"' in found.replace(" ", "").replace('"title":"Text",', "")
        assert said == "hello"
        started = [one.event for one in runtime.session.records if isinstance(one.event, ToolStarted)]
        assert started[1].touches is not None
        assert started[1].touches.to_json() == {"calls": ["fake:echo"]}

        runtime.parts["mcp"].load = lambda: (Wanted(sdk()), Wanted(raw("noise")))
        runtime.parts["mcp"].configured()
        await until(lambda: all(one.state == "connected" for one in runtime.parts["mcp"].servers))
        await runtime.submit("and now?")
        assert "noise: 1 tool" in str(knows(runtime))

        runtime.parts["mcp"].switch("fake", on=False)
        await until(lambda: runtime.parts["mcp"].named("fake").state == "disabled")  # type: ignore[union-attr]
        await runtime.submit("call it")
        assert "fake: disabled" in str(knows(runtime))
        last = plain_text(runtime.session.context.entries[results(runtime)[-1]].event.content)
        assert last == "The server fake is not available: off in this session."

        runtime.parts["mcp"].load = lambda: ()
        runtime.parts["mcp"].configured()
        await runtime.submit("go on")
        assert knows(runtime) == NONE_LEFT
        same_beginning(endpoint)


async def test_a_long_result_is_shortened_recalled_and_pruned_like_any_other(tmp_path: Path) -> None:
    script = [call("big", size=90_000), DONE, DONE]
    async with Endpoint(script) as endpoint, with_servers(tmp_path, endpoint, Wanted(sdk())) as runtime:
        runtime.use_config(runtime.config.with_value("pruning.enabled", "true"))
        await runtime.submit("get it")
        (seq,) = results(runtime)
        entry = runtime.session.context.entries[seq]
        assert isinstance(entry.event, ToolResult)
        assert entry.event.spilled is not None
        sent = endpoint.requests[-1].body.decode()
        assert f"recall {seq}" in sent
        assert 100 < sent.count("xxxxxxxxxx") < 3_000
        assert plain_text(entry.event.content) == "x" * 90_000, "the log has all of it"
        clear(runtime, seq)
        await runtime.submit("and now?")
        assert "xxxxxxxxxx" not in endpoint.requests[-1].body.decode()
        assert endpoint.rejected == []


async def test_a_server_that_dies_leaves_the_session_valid(tmp_path: Path) -> None:
    die = raw("die=4")
    given = {"server": die.name, "tool": "echo", "arguments": {}}
    script = [Reply([Thinking("I call."), Call("mcp_call", given)]), DONE, DONE]
    async with Endpoint(script) as endpoint, with_servers(tmp_path, endpoint, Wanted(die)) as runtime:
        runtime.gatekeeper.mode = "auto"
        await runtime.submit("call it")
        event = runtime.session.context.entries[results(runtime)[0]].event
        assert event.is_error
        assert "exited with code 3" in plain_text(event.content)
        await until(lambda: runtime.parts["mcp"].servers[0].state == "failed")
        await runtime.submit("and now?")
        assert f"{die.name}: failed (exited with code 3)" in str(knows(runtime))
        same_beginning(endpoint)


async def test_a_question_that_nobody_can_answer_is_declined_and_that_is_said_once(tmp_path: Path) -> None:
    use = {"server": "asks", "tool": "echo", "arguments": {}}
    step = Reply([Thinking("I call."), Call("mcp_call", use)])
    asks = Wanted(raw("asks"))
    async with Endpoint([step, step, DONE]) as endpoint, with_servers(tmp_path, endpoint, asks) as runtime:
        said: list[str] = []
        runtime.session.subscribe(lambda one: said.append(one.text) if isinstance(one, Notice) else None)
        runtime.gatekeeper.mode = "auto"
        await runtime.submit("call it twice")
        answers = [plain_text(runtime.session.context.entries[seq].event.content) for seq in results(runtime)]
        assert answers == ['{"action": "decline"}'] * 2
        assert [one for one in said if "asked a question" in one] == [DECLINED.format("asks")]
        same_beginning(endpoint)


async def test_a_question_of_a_server_fires_the_notification_hook(tmp_path: Path) -> None:
    kept = tmp_path / "given"
    use = {"server": "asks", "tool": "echo", "arguments": {}}
    hook = {"matcher": "elicitation_dialog", "hooks": [{"command": f"cat > {kept}; echo >> {kept}"}]}

    async def answer(_: Elicitation) -> ServerReply:
        await until(lambda: kept.exists() and kept.read_text().endswith("\n"))
        return ServerReply("decline")

    script = [Reply([Thinking("I call."), Call("mcp_call", use)]), DONE]
    sets = 'permissions.allow=["mcp"]', f"hooks.Notification={json.dumps([hook])}"
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint, *sets) as runtime:
        runtime.parts["mcp"].load = lambda: (Wanted(raw("asks")),)
        runtime.fill_form = answer
        await runtime.submit("call it")
        assert json.loads(kept.read_text())["message"] == "The MCP server asks asks: Which color?"
        same_beginning(endpoint)


async def test_ten_servers_with_200_tools_add_at_most_500_tokens(tmp_path: Path) -> None:
    async with (
        Endpoint([DONE]) as endpoint,
        session(tmp_path / "a", endpoint, 'tools.enabled=["read"]') as runtime,
    ):
        await runtime.submit("hello")
        without = endpoint.requests[0].body
    wanted = [Wanted(replace(raw("tools=20"), name=f"server-{number}")) for number in range(10)]
    async with (
        Endpoint([DONE]) as endpoint,
        session(tmp_path / "b", endpoint, 'tools.enabled=["read", "mcp"]') as runtime,
    ):
        runtime.parts["mcp"].load = lambda: wanted
        runtime.parts["mcp"].starting()
        await runtime.parts["mcp"].settled(120)
        assert sum(len(one.offer.tools) for one in runtime.parts["mcp"].servers) == 200
        await runtime.submit("hello")
        count = counter(SHIPPED).count
        assert count(endpoint.requests[0].body.decode()) - count(without.decode()) <= 500


async def test_the_question_shows_server_tool_and_arguments(tmp_path: Path) -> None:
    asked: list[Asked] = []

    async def ask(one: Asked) -> Answer:
        asked.append(one)
        return Answer("deny", "not now")

    async with (
        Endpoint([call("echo", text="hel\x1blo"), DONE]) as endpoint,
        session(tmp_path, endpoint) as runtime,
    ):
        runtime.parts["mcp"].load = lambda: (Wanted(sdk()),)
        runtime.asker = ask
        runtime.parts["mcp"].starting()
        await runtime.parts["mcp"].settled(60)
        await runtime.submit("say hello")
        sheet = sheet_of(asked[0], lambda _: None, tmp_path)
        assert (sheet.title, sheet.text) == ("Call this MCP tool?", "fake:echo\ntext: hel␛lo")
        assert sheet.rule == "mcp(fake:echo)"
        assert "says that it only reads, which is not verified" in sheet.reason


async def test_a_named_resource_follows_the_words_and_is_not_shown_as_typed(tmp_path: Path) -> None:
    async with Endpoint([DONE, DONE]) as endpoint, with_servers(tmp_path, endpoint, Wanted(sdk())) as runtime:
        assert "fake:fake://notes" in runtime.parts["mcp"].resources()
        await runtime.submit("read @fake:fake://notes, and me@fake:x")
        await runtime.submit("read @fake:fake://nothing and @other:thing")
        prompts = [one.event for one in runtime.session.records if isinstance(one.event, UserMessage)]
        sent = [one for one in prompts if one.origin == "prompt"]
        assert plain_text(sent[0].content[1:]) == "[resource] fake:fake://notes\nthe notes are here"
        assert typed(sent[0]) == "read @fake:fake://notes, and me@fake:x"
        assert len(sent[1].content) == 2
        assert "could not be read" in plain_text(sent[1].content[1:])
        shown = present_all(Presenter(lambda *_: "", lambda _: None), runtime.session.records)
        lines = [entry.text for entry in shown if isinstance(entry, Line)]
        assert "Attached fake:fake://notes" in lines
        assert any(line.startswith("fake:fake://nothing could not be read: ") for line in lines)


async def test_what_is_sent_while_the_agent_works_brings_its_resources_too(tmp_path: Path) -> None:
    async with Endpoint([DONE] * 3) as endpoint, with_servers(tmp_path, endpoint, Wanted(sdk())) as runtime:
        runtime.steer("first @fake:fake://notes")
        runtime.follow_up("then @fake:fake://nothing")
        await runtime.submit("hello")
        prompts = [one.event for one in runtime.session.records if isinstance(one.event, UserMessage)]
        steered, followed = (one for one in prompts if one.origin in ("steering", "follow_up"))
        assert typed(steered) == "first @fake:fake://notes"
        assert plain_text(steered.content[1:]) == "[resource] fake:fake://notes\nthe notes are here"
        assert "could not be read" in plain_text(followed.content[1:])
        assert runtime.status().waiting == ()
        runtime.new_session()
        runtime.follow_up("again @fake:fake://notes")
        await runtime.submit("in another session")
        again = next(
            one.event for one in reversed(runtime.session.records) if isinstance(one.event, UserMessage)
        )
        assert "the notes are here" in plain_text(again.content)
        assert endpoint.rejected == []


async def test_a_prompt_of_a_server_is_a_command(tmp_path: Path) -> None:
    async with Endpoint([DONE]) as endpoint, with_servers(tmp_path, endpoint, Wanted(sdk())) as runtime:
        await runtime.submit("hello")
        (effect,) = run_line(runtime, "/fake:review a.py terse")
        assert isinstance(effect, InThread)
        assert effect.work() == [Submit("Review a.py in a terse style.")]
        (effect,) = run_line(runtime, "/fake:review")
        assert isinstance(effect, Say)
        assert "it needs <file> [style]" in effect.text
        (effect,) = run_line(runtime, "/fake:none")
        assert isinstance(effect, Say)
        assert effect.level == "error"


def test_the_sdk_is_imported_only_when_a_server_is_started() -> None:
    import subprocess

    code = (
        "import sys, prunecli.runtime.make, prunecli.commands.command as c; c.all_commands();"
        "assert not {'mcp', 'mcp_types', 'pydantic_core', 'prunecli.features.mcp.hub'} & sys.modules.keys() - "
        "({'pydantic_core'} if 'anthropic' in sys.modules else set())"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def configured(folder: Path, endpoint: Endpoint) -> tuple[Path, dict[str, str]]:
    """A project, and an environment whose config.toml has one server."""
    server = sdk()
    place = folder / "home/.config/prunecli/config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(f"[mcp.fake]\ncommand = {server.command!r}\nargs = {list(server.args)!r}\n")
    environ = environment(folder, endpoint) | {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return project(folder / "project"), environ


@pytest.mark.terminal
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_a_server_by_keys(tmp_path: Path) -> None:
    with serve([search("echo"), call("echo", text="hello"), DONE, call("echo", text="no"), DONE]) as endpoint:
        folder, environ = configured(tmp_path, endpoint)
        with Terminal(["--trust", "--model", OPUS], folder, environ) as terminal:
            terminal.wait_for("Ask, or / for commands")
            terminal.say("say hello")
            screen = terminal.answer("Call this MCP tool?", "1")
            assert "fake:echo" in screen
            terminal.wait_for("Done.")
            terminal.type("/fake:")
            terminal.wait_for("Review a file.")
            terminal.press("C-u")
            terminal.type("see @fake:")
            terminal.wait_for("fake:fake://notes")
            terminal.press("C-u")
            terminal.say("/mcp disable fake")
            terminal.wait_for("fake is off in this session.")
            terminal.say("and now")
            terminal.wait_for("The server fake is not available: off in this session.")
            terminal.say("/mcp enable fake")
            terminal.wait_for("fake is on in this session.")
            terminal.say("/quit")
            terminal.wait_until(lambda _: terminal.exit_code is not None, "the program to end")
        same_beginning(endpoint)
