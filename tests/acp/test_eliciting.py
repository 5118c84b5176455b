"""Questions of MCP servers in an editor: in its own forms and pages, as options, or declined."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp.schema import (
    AcceptElicitationResponse,
    CancelElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    McpServerStdio,
)

from tests.acp.editor import Editor, editing, say
from tests.endpoint import Call, Endpoint, Reply, Thinking
from tests.mcp.running import HERE

FORMS = ClientCapabilities(
    elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities())
)
PAGE = "https://shop.example/pay"
ACCEPTED = {"action": "accept", "content": {"color": "red"}}


class Talk:
    """One call of a server that asks before it answers."""

    def __init__(self, editor: Editor, agent: Any, work: Path, endpoint: Endpoint) -> None:
        self.editor = editor
        self._agent = agent
        self._work = work
        self._endpoint = endpoint

    async def result(self, fault: str) -> Any:
        """What the server got for its question."""
        words = ["-u", str(HERE / "raw_server.py"), fault]
        server = McpServerStdio(name="shop", command=sys.executable, args=words, env=[])
        session = await self._agent.new_session(cwd=str(self._work), mcp_servers=[server])
        await self._agent.prompt(session_id=session.session_id, prompt=say("buy it"))
        assert self._endpoint.rejected == []
        messages = json.loads(self._endpoint.requests[-1].body)["messages"]
        (block,) = [one for one in messages[-1]["content"] if one["type"] == "tool_result"]
        content = block["content"]
        return json.loads(content if isinstance(content, str) else content[0]["text"])


@asynccontextmanager
async def talk(folder: Path, able: ClientCapabilities | None) -> AsyncIterator[Talk]:
    given = {"server": "shop", "tool": "echo", "arguments": {"url": PAGE}}
    script = [
        Reply([Thinking("buy"), Call("mcp_call", given)]),
        Reply([Thinking("That is all."), "Done."]),
    ]
    async with (
        Endpoint(script) as endpoint,
        editing(folder, endpoint.base_url, 'permissions.allow=["mcp"]', able=able) as (editor, agent, work),
    ):
        yield Talk(editor, agent, work, endpoint)


async def test_an_editor_with_forms_shows_the_form(tmp_path: Path) -> None:
    async with talk(tmp_path, FORMS) as one:
        one.editor.fill = lambda _message, _mode: AcceptElicitationResponse(
            action="accept", content={"color": "red", "count": 2, "more": "x"}
        )
        assert await one.result("asks") == {"action": "accept", "content": {"color": "red", "count": 2}}
        ((message, mode),) = one.editor.forms
        assert message == "The MCP server shop asks: Which color?"
        shown = mode.requested_schema.model_dump(by_alias=True, exclude_none=True, mode="json")
        assert shown["required"] == ["color"]
        assert [option["const"] for option in shown["properties"]["color"]["oneOf"]] == ["red", "green"]
        assert shown["properties"]["count"] == {"title": "count", "type": "integer"}
        assert one.editor.asked == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"color": "blue"}, "color: expected one of red, green"),
        ({"color": "red", "count": "two"}, "count: expected a whole number"),
        ({"count": 2}, "color: an answer is required"),
        (None, "color: an answer is required"),
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_not_sent(
    tmp_path: Path, content: dict[str, Any] | None, why: str
) -> None:
    async with talk(tmp_path, FORMS) as one:
        one.editor.fill = lambda _message, _mode: AcceptElicitationResponse(action="accept", content=content)
        assert await one.result("asks") == {"action": "cancel"}
        assert f"The answer for the MCP server shop was not sent: {why}." in one.editor.notices()


@pytest.mark.parametrize("kind", [DeclineElicitationResponse, CancelElicitationResponse])
async def test_a_refusal_in_the_editor_reaches_the_server(tmp_path: Path, kind: Any) -> None:
    action = "decline" if kind is DeclineElicitationResponse else "cancel"
    async with talk(tmp_path, FORMS) as one:
        one.editor.fill = lambda _message, _mode: kind(action=action)
        assert await one.result("asks") == {"action": action}


async def test_a_page_is_opened_by_the_editor(tmp_path: Path) -> None:
    async with talk(tmp_path, FORMS) as one:
        one.editor.fill = lambda _message, _mode: AcceptElicitationResponse(action="accept")
        assert await one.result("opens") == {"action": "accept"}
        ((message, mode),) = one.editor.forms
        assert (message, str(mode.url)) == ("The MCP server shop asks: Pay", PAGE)


@pytest.mark.parametrize(
    ("picked", "reply"),
    [
        (["0", "1"], {"action": "accept", "content": {"color": "red", "sure": False}}),
        (["0", "2"], ACCEPTED),
        (["0", None], {"action": "decline"}),
        (["none"], {"action": "decline"}),
    ],
)
async def test_without_forms_choices_are_options(tmp_path: Path, picked: list[str], reply: Any) -> None:
    answers = iter(picked)
    async with talk(tmp_path, None) as one:
        one.editor.answer = lambda _call, _options: next(answers)
        assert await one.result("chooses") == reply
        shown = [(call.title, [option.name for option in options]) for _, call, options in one.editor.asked]
        assert shown[0] == ("The MCP server shop asks: color", ["red", "green", "Decline"])
        assert shown[1:] in (
            [],
            [("The MCP server shop asks: sure", ["Yes", "No", "Leave it out", "Decline"])],
        )
        assert one.editor.forms == []


@pytest.mark.parametrize(("picked", "action"), [("0", "accept"), ("none", "decline")])
async def test_without_pages_the_address_is_shown(tmp_path: Path, picked: str, action: str) -> None:
    async with talk(tmp_path, None) as one:
        one.editor.answer = lambda _call, _options: picked
        assert await one.result("opens") == {"action": action}
        ((_, call, options),) = one.editor.asked
        assert PAGE in call.content[0].content.text.replace("\\", "")
        assert [option.name for option in options] == ["Done, the page is open", "Decline"]


async def test_without_forms_a_text_is_declined_and_that_is_said(tmp_path: Path) -> None:
    async with talk(tmp_path, ClientCapabilities()) as one:
        assert await one.result("asks") == {"action": "decline"}
        assert "The MCP server shop asked for text. This editor has no field for it" in one.editor.notices()
        assert one.editor.asked == []
