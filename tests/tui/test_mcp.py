"""MCP servers on the screen: the question of a server, resources and prompts in the menu, and the keys meanwhile."""

from pathlib import Path
from time import monotonic

import pytest

from prunecli.features.mcp.server_state import Wanted
from prunecli.model.messages import ToolUse, plain_text
from prunecli.runtime.forms import Elicitation, Field, Reply
from prunecli.tui.screens.table import TableScreen
from prunecli.tui.widgets.long_question import LongQuestion
from prunecli.tui.widgets.question import WRITE
from tests.mcp.running import raw, sdk
from tests.scripted import calls, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown

COLOR = Field("color", "Color", "choice", "any color", (("red", "Red"), ("green", "Green")), required=True)
COUNT = Field("count", "How many", "integer", least=1)
ASKED = Elicitation("shop", "What shall it be?", (COLOR, COUNT))


async def ready(s: Shown, *texts: str) -> None:
    """Waits for a new panel with these texts that takes answers."""
    await s.until_shown(*texts)
    panel = list(s.frame.query(LongQuestion))[-1]
    await s.until(lambda: panel.answering.is_ready(monotonic()))


async def test_a_form_is_asked_field_by_field_and_a_wrong_value_again(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        replies: list[Reply] = []

        async def ask() -> None:
            assert s.runtime.fill_form is not None
            replies.append(await s.runtime.fill_form(ASKED))

        s.conversation.run(ask(), "asked")
        await ready(s, "The MCP server shop asks: Color", "What shall it be?", "1 Red", "2 Green")
        await s.until_shown("Enter or a digit to answer")
        await s.pilot.press("down", "enter")
        await ready(s, "asks: How many", "Leave it out", "Type an answer, then Enter")
        await s.pilot.press("enter")
        await s.until_shown(WRITE[0])
        assert not replies, "Enter alone is no answer"
        await s.type("many", "enter")
        await ready(s, "Not accepted: expected a whole number.")
        await s.type("0", "enter")
        await ready(s, "Not accepted: expected at least 1.")
        await s.type("3", "enter")
        await s.until(lambda: replies)
        assert replies == [Reply("accept", {"color": "green", "count": 3})]
        assert not s.frame.query(LongQuestion)


async def test_escape_declines_and_a_page_is_only_shown(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        replies: list[Reply] = []

        async def ask(asked: Elicitation) -> None:
            assert s.runtime.fill_form is not None
            replies.append(await s.runtime.fill_form(asked))

        s.conversation.run(ask(ASKED), "asked")
        await ready(s, "No, decline")
        await s.pilot.press("escape")
        await s.until(lambda: replies == [Reply("decline")])
        s.conversation.run(
            ask(Elicitation("shop", "Pay\x1b[2J here", url="https://shop.example/pay")), "asked"
        )
        await ready(s, "https://shop.example/pay", "Open it in the browser")
        await s.pilot.press("enter")
        await ready(s, "No browser could be opened here", "https://shop.example/pay")
        await s.pilot.press("2")
        await s.until(lambda: replies[1:] == [Reply("accept")])


async def test_a_servers_question_during_a_call_is_answered_on_the_screen(tmp_path: Path) -> None:
    use = ToolUse("t1", "mcp_call", {"server": "asks", "tool": "echo", "arguments": {}})
    runtime = start(tmp_path, [calls(use), says("all right")], sets=('permissions.allow=["mcp"]',))
    runtime.parts["mcp"].load = lambda: (Wanted(raw("asks")),)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("go", "enter")
        await ready(s, "The MCP server asks asks: color")
        await s.pilot.press("enter")
        await ready(s, "asks: count", "Leave it out")
        await s.pilot.press("down", "enter")
        await s.idle()
        (result,) = [one for one in runtime.session.context.entries.values() if one.kind == "result"]
        assert plain_text(result.event.content) == '{"action": "accept", "content": {"color": "red"}}'


async def test_resources_and_prompts_complete(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.parts["mcp"].load = lambda: (Wanted(sdk()),)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until(lambda: runtime.parts["mcp"].resources())
        await s.type("read @fake:no")
        await s.until_shown("fake:fake://notes")
        await s.pilot.press("tab")
        assert s.frame.prompt.text == "read @fake:fake://notes "
        s.frame.prompt.set_text("")
        await s.type("/fake:")
        await s.until_shown("/fake:review", "Review a file.")


async def test_the_table_of_servers_shows_their_changes_while_it_is_open(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.parts["mcp"].load = lambda: (Wanted(raw("plain"), "disabled", "off"),)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until(lambda: runtime.parts["mcp"].servers)
        s.conversation.command("/mcp")
        await s.until_shown("MCP servers", "disabled")
        runtime.parts["mcp"].load = lambda: (Wanted(raw("plain")), Wanted(raw("plain", name="other")))
        runtime.parts["mcp"].configured()
        await s.until_shown("connected", "other")
        assert "disabled" not in s.screen_text()
        await s.pilot.press("escape")
        await s.until(lambda: not isinstance(s.app.screen, TableScreen))
        runtime.parts["mcp"].load = lambda: ()
        runtime.parts["mcp"].configured()
        await s.until(lambda: not runtime.parts["mcp"].servers)


@pytest.mark.parametrize("faults", [("hang", "only_noise", "flood_first")])
async def test_keys_echo_while_three_servers_start_badly(tmp_path: Path, faults: tuple[str, ...]) -> None:
    runtime = start(tmp_path)
    runtime.parts["mcp"].load = lambda: [Wanted(raw(fault, timeout=20)) for fault in faults]
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until(lambda: len(runtime.parts["mcp"].servers) == 3)
        await s.type("hello")
        assert s.frame.prompt.text == "hello"
