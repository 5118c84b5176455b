"""What the user says and what the agent does, on the screen."""

import asyncio
import re
from pathlib import Path

from prunecli.agent.asking import Answer
from prunecli.context.state import Context
from prunecli.front.presentation import entries as shown_entries
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, RunEnded
from prunecli.model.messages import Text, Thinking, ToolUse, Usage
from prunecli.providers.optional_fields import CACHE_TTL
from prunecli.runtime import Runtime
from prunecli.runtime.guide import Guide
from prunecli.runtime.make import DEMO_NOTICE
from prunecli.util.errors import ConnectionLost, Overloaded, Unauthorized
from prunecli.util.figures import in_tokens
from tests.scripted import Scripted, calls, fails, says
from tests.starting import start
from tests.tui.showing_app import Shown, shown

LIST = ToolUse("t1", "ls", {"path": "."})


def hanging(text: str = "I begin", *, after: int = 1) -> tuple[Scripted, asyncio.Event]:
    """A response that waits in the middle until the event is set."""
    event = asyncio.Event()
    return Scripted((Text(text),), after=after, until=event), event


def ends(running: Shown) -> list[RunEnded]:
    """How the runs of the session ended."""
    events = [record.event for record in running.runtime.session.records]
    return [event for event in events if isinstance(event, RunEnded)]


def kinds(running: Shown) -> list[str]:
    return [type(entry).__name__ for entry in running.entries]


async def test_a_prompt_its_calls_and_the_answer_appear_in_order(tmp_path: Path) -> None:
    script = [Scripted((Thinking("hm", "s"), Text("I look."), LIST)), says("It is **empty**.")]
    async with shown(tmp_path, script) as s:
        assert s.frame.welcome.display
        await s.type("what is here?", "enter")
        await s.idle()
        assert kinds(s) == ["Prompt", "Thinking", "Assistant", "ToolCall", "Assistant"]
        await s.until_shown("❯ what is here?", "✓ ls", "It is empty.")
        assert not s.frame.welcome.display


async def test_while_the_agent_works_enter_steers_and_alt_enter_waits_for_its_end(tmp_path: Path) -> None:
    response, event = hanging()
    async with shown(tmp_path, [response, says("steered"), says("followed")]) as s:
        await s.type("go", "enter")
        await s.until(lambda: s.runtime.running)
        await s.type("more tests", "enter")
        await s.type("then docs", "alt+enter")
        await s.until_shown("↳ more tests", "+ then docs", "Up to take it back")
        event.set()
        await s.idle()
        origins = [entry.origin for entry in s.entries if isinstance(entry, shown_entries.Prompt)]
        assert [str(origin) for origin in origins] == ["prompt", "steering", "follow-up"]
        assert not s.frame.waiting.display


async def test_up_in_an_empty_prompt_takes_the_last_waiting_message_back(tmp_path: Path) -> None:
    response, event = hanging()
    async with shown(tmp_path, [response, says("b")]) as s:
        await s.type("go", "enter")
        await s.until(lambda: s.runtime.running)
        await s.type("first", "enter")
        await s.type("second", "alt+enter")
        await s.until(lambda: s.frame.prompt.has_class("-waiting"))
        await s.pilot.press("up")
        assert s.frame.prompt.typed == "second"
        await s.until_shown("first  Alt+Up to take it back")
        await s.pilot.press("ctrl+u")
        await s.until_shown("first  Up to take it back")
        await s.pilot.press("alt+up")
        assert s.frame.prompt.typed == "first"
        await s.until(lambda: not s.frame.waiting.display)
        event.set()
        await s.idle()


async def test_esc_stops_the_agent_and_what_waited_comes_back_into_the_prompt(tmp_path: Path) -> None:
    response, _ = hanging("half of it " * 4, after=2)
    async with shown(tmp_path, [response]) as s:
        await s.type("go", "enter")
        await s.until(lambda: len(s.entries) > 1)
        await s.type("wait for me", "enter")
        await s.until(lambda: s.frame.waiting.display)
        await s.pilot.press("escape")
        await s.idle()
        assert s.frame.prompt.typed == "wait for me"
        await s.until_shown("Interrupted.")
        assert ends(s)


async def test_a_failure_says_what_it_was_and_enter_alone_tries_again(tmp_path: Path) -> None:
    broken = fails(Unauthorized("the key was refused", "prunecli login stores another"))
    async with shown(tmp_path, [broken, says("now it works")]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until_shown(
            "the key was refused", "prunecli login stores another", "empty prompt to try again"
        )
        await s.pilot.press("enter")
        await s.idle()
        await s.until_shown("now it works")
        prompts = [entry for entry in s.entries if isinstance(entry, shown_entries.Prompt)]
        assert len(prompts) == 1


async def test_enter_alone_does_nothing_when_there_is_nothing_to_try_again(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("ok")]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.pilot.press("enter", "enter")
        await s.idle()
        assert len(s.entries) == 2


async def test_a_retry_counts_down_and_its_failed_stream_leaves_nothing_on_the_screen(tmp_path: Path) -> None:
    lost = fails(
        Overloaded("the endpoint is overloaded", "", 30.0), text="half a sentence that was cut", after=1
    )
    async with shown(tmp_path, [lost]) as s:
        await s.type("go", "enter")
        await s.until_shown("Retry 1 in", "overloaded")
        assert "half a sentence" not in s.screen_text()
        await s.pilot.press("escape")
        await s.idle()


async def test_a_retry_gives_up_the_address_before_the_reason(tmp_path: Path) -> None:
    where = "https://api.anthropic.com"
    why = "the name can't be resolved"
    for size, shows in (((80, 24), f": {why}"), ((160, 48), f": {where}: {why}")):
        async with shown(tmp_path, [fails(ConnectionLost(f"{where}: {why}"))] * 9, size=size) as s:
            await s.type("go", "enter")
            await s.until_shown("Retry 3 in", shows, "Esc stops")
            await s.pilot.press("escape")
            await s.idle()


async def test_a_shell_command_shows_its_output_and_the_model_sees_it_only_with_one_mark(
    tmp_path: Path,
) -> None:
    async with shown(tmp_path) as s:
        await s.type("!echo seen by all", "enter")
        await s.idle()
        await s.until_shown("! echo seen by all", "│ seen by all")
        assert len(s.runtime.session.context.items) == 1
        await s.type("!!echo kept back", "enter")
        await s.idle()
        await s.until_shown("! echo kept back", "✓ output  not shown to the model", "│ kept back")
        assert len(s.runtime.session.context.items) == 1


async def test_the_cache_is_warm_for_no_longer_than_the_endpoint_accepts(tmp_path: Path) -> None:
    runtime = start(
        tmp_path, [Scripted((Text("One."),), usage=Usage(10, 5, 900, 90))], sets=("model.cache_ttl=1h",)
    )
    runtime.refusals.add(runtime.model_name, CACHE_TTL)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until(lambda: re.search("cache [45]m", s.screen_text()))


async def test_shift_tab_goes_through_the_modes(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        modes = []
        for _ in range(4):
            await s.pilot.press("shift+tab")
            modes.append(s.runtime.gatekeeper.mode)
        assert modes == ["edits", "plan", "ask", "edits"]
        await s.until_shown(" edits ·", "edits: also changes workspace files")


async def test_a_pruned_entry_is_marked_and_a_click_brings_it_back(tmp_path: Path) -> None:
    read = ToolUse("t1", "read", {"path": "long.txt"})
    async with shown(tmp_path, [calls(read), says("done")]) as s:
        (s.runtime.setup.cwd / "long.txt").write_text("a line that is read\n" * 600)
        await s.type("go", "enter")
        await s.idle()
        context: Context = s.runtime.session.context
        (result,) = [entry for entry in context.entries.values() if entry.kind == "result"]
        edit = Edit("clear", result.seq, "t1", "[gone]", 4_100, 12)
        prune = s.runtime.emit(PrunApplied("user", (edit,), messages_removed=1)).event
        assert isinstance(prune, PrunApplied)
        amount = in_tokens(prune.shown_tokens or 0)
        assert (prune.shown_tokens or 0) > 2_000
        await s.until_shown("✂ read", f"pruned ~{amount.removesuffix(' tokens')} · restore")
        await s.until_shown(f"✂ pruned ~{amount} in 1 entry, by you")
        row = next(at for at, line in enumerate(s.screen_text().split("\n")) if "restore" in line)
        column = s.screen_text().split("\n")[row].index("restore")
        await s.pilot.click(offset=(column + 1, row))
        await s.until_shown(f"/restore {result.seq}", "restored")
        assert context.edits_of(result.seq), "what the model was sent stays as it is"
        shown_at = context.again[result.seq]
        assert shown_at in context.pinned
        await s.pilot.click(offset=(column + 1, row))
        await s.until_shown(f"Already shown again in entry {shown_at}")


async def test_a_resumed_session_is_shown_whole_and_can_be_gone_on_with(tmp_path: Path) -> None:
    async with shown(tmp_path, [calls(LIST), fails(ConnectionLost("gone"))], sets=["model.name=demo"]) as s:
        s.runtime.run_limits = s.runtime.run_limits
        await s.type("look around", "enter")
        await s.until(lambda: "Retry" in s.screen_text() or not s.conversation.runs.busy)
        await s.pilot.press("escape")
        await s.idle()
        path = s.runtime.session.path
    assert path is not None
    runtime = start(tmp_path, [says("and on it goes")])
    runtime.open_session(path)
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown("❯ look around", "✓ ls")
        await s.pilot.press("enter")
        await s.idle()
        await s.until_shown("and on it goes")


async def test_another_session_takes_the_place_of_the_one_on_the_screen(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("old answer"), says("new answer")]) as s:
        await s.type("old", "enter")
        await s.idle()
        await s.type("/new", "escape", "enter")
        await s.until(lambda: s.frame.welcome.display)
        assert s.entries == []
        await s.type("new", "enter")
        await s.idle()
        await s.until_shown("new answer")
        assert "old answer" not in s.screen_text()


async def test_esc_twice_on_an_empty_prompt_asks_for_a_rewind(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("escape")
        await s.until_shown("Esc again")
        await s.pilot.press("escape")
        await s.until_shown("Nothing to rewind yet")
        assert s.app.screen is s.frame


async def test_a_prompt_given_on_the_command_line_is_said_at_once(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("hello back")], prompt="hello") as s:
        await s.until_shown("❯ hello", "hello back")
        await s.idle()
        assert kinds(s) == ["Prompt", "Assistant"]


async def test_what_was_typed_before_the_agent_was_there_is_said_when_it_is(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("at last")])
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow() -> Runtime:
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
        return runtime

    from prunecli.tui.app import PrunecliApp

    app = PrunecliApp(slow, runtime.setup.places, runtime.setup.cwd, {})
    async with app.run_test() as pilot:
        s = Shown(app, pilot, runtime)
        await s.type("early", "enter")
        assert app.conversation is None
        gate.set()
        await s.until_shown("❯ early", "at last")
        await s.idle()
        await app.close()


async def test_ctrl_c_twice_quits_and_once_says_so(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("ctrl+c")
        await s.until_shown("Ctrl+C again to quit")
        await s.pilot.press("ctrl+c")
        await s.until(lambda: s.app._exit)
        assert s.app.return_value == 0


async def test_the_hint_of_a_second_ctrl_c_goes_when_something_else_is_typed(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        await s.pilot.press("ctrl+c")
        await s.until_shown("Ctrl+C again to quit")
        await s.type("x")
        await s.until(lambda: "again to quit" not in s.screen_text())


async def test_quitting_while_the_agent_works_leaves_a_valid_session(tmp_path: Path) -> None:
    """The run is interrupted and recorded first."""
    response, _ = hanging()
    async with shown(tmp_path, [calls(LIST), response]) as s:
        await s.type("go", "enter")
        await s.until(lambda: len(s.entries) == 3)
        s.app.leave()
        await s.until(lambda: s.app._exit)
        assert [ended.reason for ended in ends(s)] == ["interrupted"]


async def test_nothing_hostile_reaches_the_screen_as_anything_but_text(tmp_path: Path) -> None:
    """Markup, escape sequences and action links, in every place they can come from."""
    evil = "[red]x[/] [@click=app.quit]y[/] \x1b]0;z\x07 \u202e"
    script = [
        Scripted((Thinking(evil, "s"), Text(evil), ToolUse("t1", "bash", {"command": evil}))),
        fails(Unauthorized(evil, evil)),
    ]
    async with shown(tmp_path, script, size=(120, 40)) as s:
        s.runtime.asker = denying
        await s.type("go", "enter")
        await s.idle()
        s.conversation.say(evil)
        s.frame.masthead.show_session(evil)
        s.frame.masthead.show_branch(evil)
        s.frame.activity.hint(evil)
        await s.pilot.pause()
        text = s.screen_text()
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
        assert text.count("[@click=app.quit]") >= 6
        await s.pilot.click("#transcript", offset=(30, 2))
        assert not s.app._exit


async def denying(_: object) -> Answer:
    return Answer("deny")


async def test_that_there_is_no_key_is_said_in_one_line(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    runtime.notices = [DEMO_NOTICE]
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown(f"! {DEMO_NOTICE}", "prunecli  ", "/ commands", "@ files", "? keys")


async def test_notices_stand_below_the_welcome_until_something_is_said(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("hello back")], size=(50, 15)) as s:
        s.conversation.say("a first notice")
        s.conversation.warn_of("a second one")
        await s.until_shown("/ commands  @ files", "two-minute tour", "a first notice", "! a second one")
        await s.type("hello", "enter")
        await s.until_shown("hello back")
        await s.idle()
        assert not s.frame.welcome.display
        texts = [entry.text for entry in s.entries if isinstance(entry, shown_entries.Notice)]
        assert texts == ["a first notice", "a second one"]


async def test_what_does_not_fit_below_the_welcome_is_shown_in_the_transcript(tmp_path: Path) -> None:
    async with shown(tmp_path) as s:
        s.conversation.say("a line\n" * 30)
        await s.until(lambda: not s.frame.welcome.display)


async def test_the_tour_introduces_itself_and_waits_for_enter(tmp_path: Path) -> None:
    runtime = start(tmp_path, [says("the first step")])
    runtime.introduction, runtime.guide = "Press Enter to start.", Guide(["tour, step by step"])
    async with shown(tmp_path, runtime=runtime) as s:
        await s.until_shown("Press Enter to start.", "Enter: tour, step by step", "/ commands")
        assert not s.entries[1:]
        assert s.runtime.session.context.entries == {}
        await s.pilot.press("enter")
        await s.until_shown("the first step")


async def test_what_the_mouse_selects_is_said_to_be_copied(tmp_path: Path) -> None:
    async with shown(tmp_path, [says("several words to select")]) as s:
        await s.type("go", "enter")
        await s.idle()
        await s.until_shown("several words")
        row = next(y for y, line in enumerate(s.screen_text().split("\n")) if "several words" in line)
        top = s.frame.transcript.region.y
        await s.pilot.mouse_down(s.frame.transcript, offset=(0, row - top))
        await s.pilot.hover(s.frame.transcript, offset=(7, row - top))
        await s.pilot.mouse_up(s.frame.transcript, offset=(7, row - top))
        await s.until_shown("clipboard")
        assert s.app.clipboard.startswith("several")
